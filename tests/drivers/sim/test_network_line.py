"""A simulated line on the network, over UDP ports of this computer and in virtual time: each message is a datagram."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from drivers.host import COMPUTER
from drivers.sim.protocol import udp
from drivers.sim.protocol.line import Line, LineFault
from drivers.sim.protocol.udp import UdpTerminal
from drivers.sim.virtual.host import VirtualHost
from drivers.sim.virtual.schedule import VirtualTime
from drivers.sim.virtual.serial import VirtualLines

NEVER_NS = 2**62
DELAY_MS = 20.0


class Echo:
    """Answers each message with itself."""

    def __init__(self):
        self.received = []

    def receive(self, data, began_ns, ended_ns):
        self.received.append((began_ns, ended_ns, data))
        return data

    def wake(self, now_ns):
        return NEVER_NS


class OverUdp:
    """Real UDP ports, and a clock of our own."""

    def __init__(self):
        self.device, self.now_ns = Echo(), 10**9
        self.line = Line(Path("echo"), self.device, 9600, 0, UdpTerminal, network=True)
        self.port = COMPUTER.open_datagrams(self.line.endpoint)

    def come(self, later_ms=0.0):
        """Datagrams that have come so much later [ms]."""
        self.now_ns += round(later_ms * 1e6)
        self.line.serve(self.now_ns)
        return self.taken()

    def sent(self):
        self.line.serve(self.now_ns)

    def taken(self):
        found = []
        while (data := self.port.receive(wait=False)) is not None:
            found.append(data)
        return found

    def close(self):
        self.port.close()
        self.line.close()


class InVirtualTime(OverUdp):
    """The same in virtual time."""

    def __init__(self):
        self.device, self.time = Echo(), VirtualTime()
        self.host = VirtualHost(self.time)
        self.line = Line(Path("echo"), self.device, 9600, 0, self.host.network_terminal, network=True)
        VirtualLines(self.time, {"echo": self.line}, self.host.ports)
        self.port = self.host.open_datagrams(self.line.endpoint)

    def come(self, later_ms=0.0):
        self.host.sleep(max(later_ms * 1e-3, 1e-6))
        return self.taken()

    def sent(self):
        """The line is served as soon as this actor waits."""

    def close(self):
        self.time.close()


@pytest.fixture(params=[OverUdp, InVirtualTime])
def bench(request):
    bench = request.param()
    yield bench
    bench.close()


@pytest.fixture
def network():
    """A line that is closed once nobody serves it any more."""
    line = Line(Path("echo"), Echo(), 9600, 0, UdpTerminal, network=True)
    yield line
    line.close()


def send(bench, *messages):
    for message in messages:
        bench.port.send(message)
    bench.sent()


def test_datagrams_are_neither_merged_nor_divided_and_take_no_line_time(bench):
    long = bytes(range(256)) * 200  # more than a line reads at once from a terminal
    send(bench, b"first", long, b"last")
    assert bench.come() == [b"first", long, b"last"]
    assert [data for _, _, data in bench.device.received] == [b"first", long, b"last"]
    assert all(began_ns == ended_ns for began_ns, ended_ns, _ in bench.device.received)


@pytest.mark.parametrize(
    ("fault", "come"),
    [
        (LineFault("intermittent"), [b"second"]),
        (LineFault("garbage"), [b"fibst", b"second"]),
        (LineFault("duplicate"), [b"first", b"first", b"second"]),
    ],
)
def test_a_fault_of_the_line_acts_on_one_datagram(bench, fault, come):
    bench.line.inject_fault(fault)
    send(bench, b"first", b"second")
    assert bench.come() == come


@pytest.mark.parametrize("kind", ["delayed", "slow"])
def test_a_delayed_datagram_comes_as_a_whole_so_much_later(bench, kind):
    bench.line.inject_fault(LineFault(kind, ms=DELAY_MS))
    send(bench, b"first")
    assert bench.come(DELAY_MS - 1) == []
    assert bench.come(1.1) == [b"first"]


def test_a_device_that_is_off_receives_nothing_and_answers_again_when_it_is_on(bench):
    bench.line.inject_fault(LineFault("off"))
    send(bench, b"first")
    assert bench.come() == []
    assert bench.device.received == []
    bench.line.inject_fault(LineFault("reconnect"))
    send(bench, b"second")
    assert bench.come() == [b"second"]


def test_a_line_that_is_unplugged_loses_datagrams_without_an_error_and_keeps_its_address(bench):
    address = bench.line.endpoint
    bench.line.inject_fault(LineFault("disconnect"))
    send(bench, b"first")
    assert bench.come() == []
    bench.line.inject_fault(LineFault("reconnect"))
    assert bench.line.endpoint == address
    send(bench, b"second")
    assert bench.come() == [b"second"]


def test_it_answers_whoever_has_written_last(bench):
    host = getattr(bench, "host", COMPUTER)
    other = host.open_datagrams(bench.line.endpoint)
    send(bench, b"mine")
    assert bench.come() == [b"mine"]
    other.send(b"theirs")
    assert bench.come() == []
    assert other.receive(wait=False) == b"theirs"
    other.close()


def test_a_datagram_of_another_user_is_dropped(monkeypatch):
    bench = OverUdp()
    monkeypatch.setattr(udp, "is_own", lambda host, port, listed: False)
    send(bench, b"from somebody else")
    assert bench.come() == []
    assert bench.device.received == []
    bench.close()


def test_a_port_that_waits_has_the_datagram_when_it_comes():
    bench = InVirtualTime()
    bench.line.inject_fault(LineFault("delayed", ms=3.0))
    send(bench, b"first")
    began_ns = bench.host.now_ns()
    assert bench.port.receive(wait=True) == b"first"
    assert bench.host.now_ns() - began_ns == 3_000_000
    assert bench.port.receive(wait=True) is None
    bench.close()


def test_ports_of_a_dead_process_are_closed_in_virtual_time():
    bench = InVirtualTime()
    bench.host.release(bench.time.current)
    with pytest.raises(OSError, match="Bad file"):
        bench.port.send(b"from a dead process")
    bench.close()


def test_a_port_drops_datagrams_of_another_computer_and_takes_those_from_another_port():
    device, stranger = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    answering = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    device.bind(("127.0.0.1", 0))
    stranger.bind(("127.0.0.2", 0))
    answering.bind(("127.0.0.1", 0))
    port = COMPUTER.open_datagrams(f"127.0.0.1:{device.getsockname()[1]}")
    port.send(b"hello")
    _, mine = device.recvfrom(100)
    stranger.sendto(b"forged", ("127.0.0.1", mine[1]))
    answering.sendto(b"an answer", ("127.0.0.1", mine[1]))
    assert port.receive(wait=True) == b"an answer"
    assert port.receive(wait=False) is None
    port.close()
    for opened in (device, stranger, answering):
        opened.close()


@pytest.mark.parametrize("address", ["", "127.0.0.1", "127.0.0.1:", ":1510", "127.0.0.1:port"])
def test_an_address_without_host_or_port_is_refused(address):
    with pytest.raises(OSError, match="HOST:PORT"):
        COMPUTER.open_datagrams(address)


def test_lines_on_the_network_are_served_in_real_time(network, serve):
    serve([network])
    port = COMPUTER.open_datagrams(network.endpoint)
    port.send(b"hello")
    answer = None
    while answer is None:  # pytest's time-out ends a wait that is too long
        answer = port.receive(wait=True)
    assert answer == b"hello"
    port.close()
