"""Deadlines in real time, on a quiet machine: rows 1, 6, 13, 14, 15 and 18 of the fault table.

The stops recorded by the controllers are the proof. Bounds on times include MARGIN_MS, for a machine of two cores.
The same in virtual time, on any machine: tests/protocol.
"""

import os
import signal
import time

import pytest

from hil.app.faults.protocol_cases import press, wait
from hil.messages.fault import Fault

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("stalls")]
MS = 1_000_000
MARGIN_MS = 60
ADDRESSES = {0x80, 0x81, 0x82}
TIMEOUT_MS = 100  # devices.drives.timeout_ms


def stopped_within(wire, since_ns, within_ms, what="stops"):
    """Every controller has recorded a stop by then."""
    found = wire.seen(what, since_ns)
    late_ms = {hex(address): (at_ns - since_ns) / MS for address, at_ns in found.items()}
    assert set(found) == ADDRESSES, late_ms
    assert max(late_ms.values()) < within_ms + MARGIN_MS, late_ms


def test_late_doubled_and_now_and_then_damaged_answers_are_counted_and_change_nothing(wire, trial):
    def act(_):
        wire.inject_fault("roboclaw", "delayed", ms=25.0)
        time.sleep(0.2)
        wire.inject_fault("roboclaw", "duplicate", count=5, every=7)
        time.sleep(0.2)
        return wire.inject_fault("roboclaw", "garbage", count=3, every=11)

    run = trial(act)
    drives = run.healths["drives"]
    assert not {Fault.LINK_LOST, Fault.FRAMES_DAMAGED, Fault.SENSOR_STALE} & set(run.faults)
    assert drives["open"]
    assert drives["retries"] >= 4  # one late answer and three damaged ones


def test_three_damaged_answers_in_ten_are_a_fault_and_everything_stops(wire, injected):
    run = injected("roboclaw", "garbage")
    stopped_within(wire, run.acted_ns, 50)


def test_an_unplugged_bus_stops_by_itself_and_never_runs_again_when_it_comes_back(wire, injected):
    run = injected("roboclaw", "unplugged and plugged in")
    assert run.noticed_ms(Fault.LINK_LOST) < 50 + MARGIN_MS
    stopped_within(wire, run.acted_ns, TIMEOUT_MS, "timeouts")
    assert run.healths["drives"]["open"]  # reopened, to be stopped
    assert wire.seen("starts", run.acted_ns) == {}


def test_a_valve_board_that_dies_stops_the_wheels(wire, injected):
    run = injected("modbus", "off")
    # polled ten times a second, two tries of 60 ms; then the cut
    stopped_within(wire, run.acted_ns, 100 + 2 * 60 + 20)


def test_an_overrun_of_the_daq_stops_the_wheels(wire, injected):
    run = injected("daq", "error -200279")
    stopped_within(wire, run.acted_ns, 20)


def test_samples_that_come_late_stop_the_wheels(wire, trial):
    run = trial(lambda _: wire.inject_fault("daq", "delayed", count=3, ms=80.0))
    assert run.faults[0] in (Fault.SENSOR_DROPOUT, Fault.LINK_LOST)
    stopped_within(wire, run.acted_ns, 10 + 20)


def test_an_emergency_stop_at_the_controllers_is_noticed_within_100_ms_and_outlasts_its_release(wire, injected):
    run = injected("roboclaw", "emergency stop", wait(0.3), press("roboclaw", pressed=False))
    assert run.noticed_ms(Fault.STOP_BY_OPERATOR) < 100 + MARGIN_MS
    assert wire.seen("starts", run.acted_ns) == {}


def test_an_emergency_stop_on_the_line_stops_the_wheels(wire, injected):
    run = injected("daq", "emergency stop line")
    stopped_within(wire, run.acted_ns, 100)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_the_watchdog_stops_the_wheels_of_a_drives_worker_that_is_gone(wire, trial, number):
    """By the stop frames stored for the link, before the controllers' time-outs act."""

    def act(workers):
        os.kill(workers["drives"], number)
        return time.monotonic_ns()

    run = trial(act)
    assert Fault.PROCESS_LOST in run.faults
    stopped_within(wire, run.acted_ns, 20 + 5 + 15)


def test_samples_that_do_not_come_any_more_stop_the_wheels(wire, trial):
    run = trial(lambda _: wire.inject_fault("daq", "off"))
    assert {Fault.SENSOR_DROPOUT, Fault.LINK_LOST} & set(run.faults)
    stopped_within(wire, run.acted_ns, 10 + 20)


@pytest.mark.parametrize("name", ["daq", "valves", "recorder", "watchdog"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_any_other_worker_that_is_gone_stops_the_wheels(wire, trial, name, number):
    def act(workers):
        os.kill(workers[name], number)
        return time.monotonic_ns()

    run = trial(act)
    if name != "recorder":  # it may have no heartbeat for 2 s, and the trial is over before
        assert run.faults
        stopped_within(wire, run.acted_ns, 50 + 20)
    assert all(address in wire.seen("stops", run.acted_ns) for address in ADDRESSES)
