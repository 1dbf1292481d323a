"""Disturbances of a run: as rows of the record, and in the text of a fault."""

import numpy as np
import pytest

from hil.ipc.run_memory import LateAction
from hil.messages.link_messages import event_row, triggers_capture
from hil.processes.disturbances import INTERRUPTED, LONG, disturbances_near, late_event, long_tick_event, stall_event
from hil.realtime.clock import LongTick, Stall

MS = 1_000_000
START_NS = 5 * 10**9


def stall(at_ms, length_ms, real_time=True):
    return stall_event(Stall(START_NS + at_ms * MS, length_ms * MS), START_NS, 1000, real_time=real_time)


def late(at_ms, length_ms, device="roboclaw"):
    return late_event(LateAction(START_NS + at_ms * MS, length_ms * MS, device), START_NS, 1000)


def long_tick(number=2104, ms=2.4, processor_ms=0.3, waits=0, interruptions=1, faults=0):
    tick = LongTick(round(ms * MS), number, round(processor_ms * MS), faults, waits, interruptions)
    return long_tick_event(tick, 1000)


def test_a_stall_is_an_event_that_is_no_fault_with_its_length_and_its_tick():
    [row] = stall(2104, 31)
    assert (row["id"], row["tick"], row["t_ns"], row["value"]) == (0, 2104, 2104 * MS, 31.0)
    assert row["detail"] == b"this machine stood still for 31 ms at 2.104 s"
    assert not triggers_capture(row)


def test_without_priority_a_stall_does_not_say_that_the_machine_stood_still():
    [row] = stall(2104, 31, real_time=False)
    assert b"stood still" not in row["detail"]
    assert b"without real-time rights" in row["detail"]


def test_a_stall_that_began_before_the_run_begins_with_it():
    [row] = stall(-10, 31)
    assert (row["tick"], row["t_ns"]) == (0, 0)


def test_a_simulated_rig_names_the_device_that_was_late():
    [row] = late(2104, 14)
    assert row["detail"] == b"simulated rig late by 14 ms at 2.104 s (roboclaw)"


def test_beside_a_fault_stands_the_longest_stall_that_it_can_come_from():
    events = np.concatenate([stall(1000, 31), stall(900, 5), stall(100, 80), stall(2000, 90)])
    assert disturbances_near(events, 1040 * MS) == "; at that time: this machine stood still for 31 ms at 1.000 s"


def test_beside_a_fault_stands_what_the_simulated_rig_was_late_by_too():
    words = disturbances_near(np.concatenate([stall(1000, 31), late(1010, 25)]), 1040 * MS)
    assert words.endswith("; at that time: simulated rig late by 25 ms at 1.010 s (roboclaw)")
    assert "31 ms" in words


def test_a_fault_with_nothing_beside_it_is_a_fault_of_the_controller_or_the_devices():
    other = event_row(13, "link_lost", 1000, 1000 * MS, detail="no answer")
    assert disturbances_near(np.concatenate([other, stall(100, 80)]), 1000 * MS) == ""


@pytest.mark.parametrize(
    ("used", "name"),
    [
        ({"processor_ms": 0.3}, INTERRUPTED),
        ({"processor_ms": 0.3, "interruptions": 0}, INTERRUPTED),  # by the host of a virtual machine, or an interrupt
        ({"processor_ms": 2.3}, LONG),  # it computed for so long
        ({"processor_ms": 1.1}, LONG),  # it would have been late without the interruption, too
        ({"processor_ms": 0.3, "waits": 1}, LONG),  # it waited for something
    ],
)
def test_a_tick_is_interrupted_if_it_would_have_been_in_time_and_did_not_wait(used, name):
    assert long_tick(**used)["name"] == [name.encode()]


def test_the_event_is_no_fault_and_says_what_the_tick_used():
    [row] = long_tick(faults=12)
    assert (row["id"], row["tick"], row["t_ns"], row["value"], row["limit"]) == (0, 2104, 2104 * MS, 2.4, 1.0)
    assert row["detail"].decode() == (
        "the tick at 2.104 s took 2.4 ms: 0.3 ms on the processor; interruptions: 1, waits: 0, page faults: 12"
    )
    assert not triggers_capture(row)


def test_the_words_of_the_longest_tick_fit_into_an_event():
    [row] = long_tick(
        number=3_600_000, ms=9999.9, processor_ms=9999.9, waits=99_999, interruptions=99_999, faults=999_999
    )
    assert row["detail"].endswith(b"page faults: 999999")


def test_an_interrupted_tick_stands_beside_a_fault_and_one_that_computed_too_long_does_not():
    assert "took 25.0 ms" in disturbances_near(long_tick(1000, 25.0, 0.2), 1030 * MS)
    assert disturbances_near(long_tick(1000, 25.0, 24.0), 1030 * MS) == ""
