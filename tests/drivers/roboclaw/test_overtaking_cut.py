"""A cut that comes while the answer to another request is awaited: it does not wait for it."""

import itertools

import pytest
from basicmicro import Basicmicro

from drivers.host import COMPUTER
from drivers.roboclaw import protocol
from drivers.roboclaw.protocol import CommandCode

from .conftest import cut, run

STOPS = b"".join(protocol.request(address, CommandCode.DUTY, 0, 0) for address in (0x80, 0x81, 0x82))
BYTE_NS, TURNAROUND_NS = 10 * 10**9 // 115200, 100_000


@pytest.fixture
def commanded(line_time, monkeypatch):
    """Makes something happen in the middle of a wait, as a wake-up of the worker does; returns when it did [ns]."""
    pending, times = [], []

    def rest(seconds):
        line_time.sleep(seconds / 2)
        if pending:
            times.append(line_time.now_ns)
            pending.pop()()
        else:
            line_time.sleep(seconds / 2)

    monkeypatch.setattr(COMPUTER, "rest", rest)

    def at_next_wait(happen):
        pending.append(happen)
        return times

    return at_next_wait


def test_a_cut_is_on_the_line_before_the_awaited_answer(rig, running, until, commanded):
    drives, recorder = rig.drives(), rig.recorders[0]
    running(drives)
    overtaken = set()
    for t_ns in range(10, 50, 2):
        for _ in range(t_ns // 2):  # into another transaction each time
            drives.step()
        before = len(recorder.received)
        times = commanded(lambda t_ns=t_ns: drives.write(cut(t_ns)))
        assert until(drives, lambda sample, t_ns=t_ns: sample.acknowledged_ns >= t_ns).stopped_ns > times[-1]
        place = next(i for i in itertools.count(before) if recorder.received[i][2] == STOPS)
        (_, ended_ns, request), (began_ns, _, _) = recorder.received[place - 1 : place + 1]
        assert began_ns <= max(times[-1], ended_ns) + 10_000
        if began_ns < ended_ns + TURNAROUND_NS + recorder.answered[place - 1] * BYTE_NS:
            overtaken.add(request[1])
        assert rig.wheels.commanded == [None] * 6
        drives.write(run(t_ns + 1))
        until(drives, lambda sample, t_ns=t_ns: sample.acknowledged_ns == t_ns + 1)
    assert {CommandCode.RUN, CommandCode.SPEED_M1, CommandCode.SPEED_M2} <= overtaken
    assert drives.health().errors == 0


@pytest.mark.parametrize("kind", ["intermittent", "garbage", "delayed"])
def test_a_request_that_a_cut_has_overtaken_is_not_repeated(rig, running, until, wait_for, commanded, kind):
    """It may be a set-point: after the cut it would start the wheels again."""
    drives = rig.drives(answer_timeout_s=0.015)
    running(drives)
    wait_for(lambda: drives.step() or drives._to_set)
    rig.inject_fault(kind, ms=40.0)
    before = len(rig.recorders[0].received)
    commanded(lambda: drives.write(cut(10)))
    until(drives, lambda sample: sample.acknowledged_ns >= 10)
    first, *others = [data for _, _, data in rig.recorders[0].received[before:]]
    assert first[1] == CommandCode.RUN
    assert STOPS in others
    assert not [data for data in others if data[1] == CommandCode.RUN]
    assert rig.wheels.commanded == [None] * 6


def test_on_three_buses_all_are_stopped_while_one_is_awaited(three, running, until, commanded):
    drives = three.drives()
    running(drives)
    times = commanded(lambda: drives.write(cut(10)))
    until(drives, lambda sample: sample.acknowledged_ns >= 10)
    line_ns = (len(protocol.request(0x80, CommandCode.RUN, 0, 0)) + len(STOPS) // 3) * BYTE_NS
    assert all(bus.stops[-1][1] <= times[0] + line_ns + 50_000 for bus in three.buses)


def test_the_makers_client_has_its_answer_though_a_stop_was_written_behind_its_request(rig, serve, monkeypatch):
    """What the cut relies on: a controller carries out what follows a request, and its answers keep their order."""
    serve(rig.lines)
    maker = Basicmicro(str(rig.lines[0].path), 115200, timeout=20.0, retries=1)
    assert maker.Open()
    rig.wheels.angle[2] = 1.0
    assert maker.SpeedM1M2(0x81, 1000, 1000)
    port, written = maker._port, maker._port.write
    monkeypatch.setattr(port, "write", lambda data: written(data + STOPS))
    ok, counts, _ = maker.ReadEncM1(0x81)
    assert (ok, counts) == (1, int(8192 / (2 * 3.141592653589793)))
    assert port.read(3) == protocol.ACKNOWLEDGED * 3
    assert rig.wheels.commanded == [None] * 6
    maker.close()
