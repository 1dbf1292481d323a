"""Serial ports in virtual time behave like pseudo-terminals for a driver."""

import pytest

from drivers.host import SLICE_S
from drivers.interfaces import LinkLostError, StopFrames
from drivers.serial.link import SerialLink, StopPort
from drivers.sim.protocol.line import Line, LineFault
from drivers.sim.protocol.plant_ports import NEVER_NS
from drivers.sim.virtual.host import VirtualHost
from drivers.sim.virtual.schedule import VirtualTime
from drivers.sim.virtual.serial import VirtualLines

MS = 1_000_000
BAUD, TURNAROUND_NS, TIMEOUT_S = 9600, 200_000, 0.03
BYTE_NS = 10 * 1_000_000_000 // BAUD


class Echo:
    """Echoes what it receives, and records when."""

    def __init__(self):
        self.received, self.woken_ns, self.every_ns = [], [], NEVER_NS

    def receive(self, data, began_ns, ended_ns):
        self.received.append((data, began_ns, ended_ns))
        return data

    def wake(self, now_ns):
        self.woken_ns.append(now_ns)
        return now_ns + self.every_ns


class Bench:
    def __init__(self, folder):
        self.time = VirtualTime()
        self.host = VirtualHost(self.time)
        self.device = Echo()
        self.line = Line(folder / "port", self.device, BAUD, TURNAROUND_NS, self.host.terminal)
        VirtualLines(self.time, {"port": self.line}, self.host.ports)
        self.port = str(folder / "port")
        self.link = SerialLink("thing", self.port, BAUD, timeout_s=TIMEOUT_S, host=self.host)

    def ask(self, request):
        return self.link.ask(request, lambda answer: len(request) - len(answer), bytes)


@pytest.fixture
def bench(tmp_path):
    bench = Bench(tmp_path)
    yield bench
    bench.time.close()


def test_request_and_answer_take_their_line_time_to_the_nanosecond(bench):
    bench.link.open()
    began_ns = bench.time.now_ns
    assert bench.ask(b"abcd") == b"abcd"
    assert bench.device.received == [(b"abcd", began_ns, began_ns + 4 * BYTE_NS)]
    assert bench.time.now_ns == began_ns + 8 * BYTE_NS + TURNAROUND_NS
    assert bench.link.sent_ns == began_ns + bench.link.line_ns(4)


def test_a_device_that_is_silent_costs_the_time_out_twice(bench):
    bench.link.open()
    bench.line.inject_fault(LineFault("off"))
    began_ns = bench.time.now_ns
    with pytest.raises(LinkLostError, match="no answer within 30 ms, twice"):
        bench.ask(b"abcd")
    assert 2 * TIMEOUT_S * 1e9 < bench.time.now_ns - began_ns <= 2 * (TIMEOUT_S + 0.004) * 1e9


def test_a_port_that_hangs_up_ends_the_wait_for_an_answer_and_is_there_again_when_plugged_in(bench):
    bench.link.open()
    bench.time.call_at(bench.time.now_ns + MS, lambda: bench.line.inject_fault(LineFault("disconnect")))
    began_ns = bench.time.now_ns
    with pytest.raises(LinkLostError, match="is gone"):
        bench.ask(b"abcd")
    assert MS <= bench.time.now_ns - began_ns <= MS + round(SLICE_S * 1e9)
    with pytest.raises(LinkLostError, match="there is no such port"):
        bench.link.open()
    bench.line.inject_fault(LineFault("reconnect"))
    bench.link.open()
    assert bench.ask(b"efgh") == b"efgh"


def test_a_port_has_one_owner_and_is_free_when_that_is_gone(bench):
    worker = bench.time.start("worker", lambda: (bench.link.open(), bench.host.sleep(100.0)))
    bench.host.sleep(0.001)
    with pytest.raises(OSError, match="busy"):
        bench.host.open_serial(bench.port, BAUD)
    bench.time.kill(worker)
    bench.host.release(worker)
    bench.host.open_serial(bench.port, BAUD).write(b"mine")
    bench.host.sleep(0.1)
    assert [data for data, _, _ in bench.device.received] == [b"mine"]


def test_a_stop_is_written_beside_the_owner_of_the_port(bench):
    bench.time.start("worker", lambda: (bench.link.open(), bench.host.sleep(100.0)))
    bench.host.sleep(0.001)
    stop = StopPort(StopFrames("thing", bench.port, BAUD, (b"halt",), 0.01), bench.host)
    stop.begin(bench.host.now_ns())
    assert stop.send(bench.host.now_ns())
    bench.host.sleep(0.1)
    assert [data for data, _, _ in bench.device.received] == [b"halt"]


def test_a_stop_goes_to_the_port_that_is_plugged_in_again(bench):
    stop = StopPort(StopFrames("thing", bench.port, BAUD, (b"halt",), 0.01), bench.host)
    bench.line.inject_fault(LineFault("disconnect"))
    stop.look()
    stop.begin(bench.host.now_ns())
    with pytest.raises(LinkLostError, match="there is no such port"):
        stop.send(bench.host.now_ns())
    bench.line.inject_fault(LineFault("reconnect"))
    assert stop.send(bench.host.now_ns())
    bench.host.sleep(0.1)
    assert [data for data, _, _ in bench.device.received] == [b"halt"]


@pytest.mark.parametrize("every_ns", [2 * MS, 35 * MS])
def test_a_device_is_woken_when_it_asked_to_be_though_its_host_is_gone(bench, every_ns):
    bench.device.every_ns = every_ns
    bench.link.open()
    bench.ask(b"a")
    bench.link.close()
    bench.device.woken_ns.clear()
    bench.host.sleep(0.1)
    gaps_ns = {after - before for before, after in zip(bench.device.woken_ns, bench.device.woken_ns[1:], strict=False)}
    assert gaps_ns == {every_ns}


def test_a_device_that_has_no_time_outs_is_left_alone(bench):
    bench.link.open()
    bench.ask(b"a")
    bench.device.woken_ns.clear()
    bench.host.sleep(1.0)
    assert bench.device.woken_ns == []
