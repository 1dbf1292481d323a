"""The order in which the watchdog stops the devices of a killed worker, with a clock and ports of the test."""

import os
import signal
import subprocess
import sys

import pytest

from drivers.host import COMPUTER
from hil.messages.fault import WORKER_SILENT_NS
from hil.processes.watchdog import TRIED_NS, Watchdog

NOW_NS = 9_000_000_000
MS = 1_000_000
PAUSE_S = 0.011
LATER_NS = 50 * MS


@pytest.fixture
def ports(terminal):
    return [terminal(name) for name in ("bus_1", "bus_2")]


@pytest.fixture
def worker():
    """A process that hangs."""
    process = subprocess.Popen([sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"], stdout=-1)
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture
def dog(shared, worker, ports):
    stops = [port.stop(b"halt", b"halt", device="drives", pause_s=PAUSE_S) for port in ports]
    return Watchdog(shared, 111, {"drives": worker.pid}, {"drives": stops})


def go_silent(shared):
    shared.heartbeat.beat("drives", NOW_NS - WORKER_SILENT_NS - 1)


def notes(shared):
    return [row["name"].decode() for row in shared.watchdog_events.reader("test").read(20)]


def test_the_stop_leaves_in_the_look_that_finds_the_silence_on_every_bus_while_the_worker_has_the_ports(
    dog, shared, worker, ports
):
    held = [COMPUTER.open_serial(str(port.path), 115200) for port in ports]
    go_silent(shared)
    dog.look(NOW_NS)
    assert [port.come() for port in ports] == [b"halt", b"halt"]
    assert worker.wait() == -signal.SIGKILL
    assert dog.stopping  # the second copy is due
    for port in held:
        port.close()


def test_the_second_copy_comes_after_the_pause_and_not_before(dog, shared, ports):
    go_silent(shared)
    dog.look(NOW_NS)
    ports[0].come()
    dog.look(NOW_NS + 10 * MS)
    assert ports[0].come() == b""
    dog.look(NOW_NS + 12 * MS)
    assert ports[0].come() == b"halt"


def test_once_the_worker_is_gone_the_stop_is_written_again_and_then_no_more(dog, shared, worker, ports):
    go_silent(shared)
    dog.look(NOW_NS)
    worker.wait()
    came = [ports[0].come()]
    for i in range(1, 20):
        dog.look(NOW_NS + i * LATER_NS)
        came.append(ports[0].come())
    assert [data for data in came if data] == [b"halt"] * 4
    assert came[-1] == b""
    assert not dog.stopping
    assert notes(shared).count("stopped by the watchdog") == 2  # one for each port


def test_a_stopped_worker_is_killed_before_its_ports_are_written_to(dog, shared, worker, ports, monkeypatch):
    os.kill(worker.pid, signal.SIGSTOP)
    done = []
    monkeypatch.setattr("hil.processes.watchdog._kill", lambda pid: done.append((pid, ports[0].come())))
    go_silent(shared)
    dog.look(NOW_NS)
    assert done == [(worker.pid, b"")]
    assert ports[0].come() == b"halt"


def test_a_port_that_is_gone_is_given_up_and_noted_and_its_neighbour_is_stopped(dog, shared, ports):
    ports[0].disconnect()
    go_silent(shared)
    dog.look(NOW_NS)
    assert ports[1].come() == b"halt"
    for i in range(1, 6):
        dog.look(NOW_NS + i * TRIED_NS // 4)
    assert f"unstopped {ports[0].path}"[:32] in [name[:32] for name in notes(shared)]
