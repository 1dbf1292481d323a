"""Disturbances of a run from outside: as rows of the record, in the summary, and in the text of a fault."""

import numpy as np

from hil.ipc.lateness import Late
from hil.messages.schema import EVENT, event_row, triggers_capture
from hil.processes.disturbances import (
    LISTED,
    beside,
    disturbance_lines,
    late_event,
    machine_summary,
    simulated_rig_summary,
    stall_event,
)
from hil.realtime.stalls import Stall

MS = 1_000_000
START_NS = 5 * 10**9
NONE = np.zeros(0, EVENT)


def stall(at_ms, length_ms, real_time=True):
    return stall_event(Stall(START_NS + at_ms * MS, length_ms * MS), START_NS, 1000, real_time=real_time)


def late(at_ms, length_ms, device="roboclaw"):
    return late_event(Late(START_NS + at_ms * MS, length_ms * MS, device), START_NS, 1000)


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


def test_the_summary_lists_stalls_in_order_and_those_of_two_processors_as_one():
    events = np.concatenate([stall(700, 5), stall(102, 30), stall(100, 31), late(300, 9)])
    assert machine_summary(events) == {
        "stalls": [{"at_s": 0.1, "ms": 32.0}, {"at_s": 0.7, "ms": 5.0}],
        "count": 2,
        "longest_ms": 32.0,
    }


def test_the_summary_of_a_quiet_run_has_no_stall_and_no_longest():
    assert machine_summary(NONE) == {"stalls": [], "count": 0, "longest_ms": None}
    assert simulated_rig_summary(NONE) == {"late": [], "count": 0, "longest_ms": None}


def test_the_summary_counts_all_and_lists_the_longest():
    events = np.concatenate([stall(20 * i, 4 + (i == 3)) for i in range(LISTED + 7)])
    found = machine_summary(events)
    assert (found["count"], len(found["stalls"]), found["longest_ms"]) == (LISTED + 7, LISTED, 5.0)


def test_the_summary_of_a_simulated_rig_says_what_was_late():
    found = simulated_rig_summary(np.concatenate([late(500, 4, "daq"), late(100, 14)]))
    assert [item["ms"] for item in found["late"]] == [14.0, 4.0]
    assert found["late"][0]["detail"] == "simulated rig late by 14 ms at 0.100 s (roboclaw)"
    assert (found["count"], found["longest_ms"]) == (2, 14.0)


def test_beside_a_fault_stands_the_longest_stall_that_it_can_come_from():
    events = np.concatenate([stall(1000, 31), stall(900, 5), stall(100, 80), stall(2000, 90)])
    assert beside(events, 1040 * MS) == "; beside it: this machine stood still for 31 ms at 1.000 s"


def test_beside_a_fault_stands_what_the_simulated_rig_was_late_by_too():
    words = beside(np.concatenate([stall(1000, 31), late(1010, 25)]), 1040 * MS)
    assert words.endswith("; beside it: simulated rig late by 25 ms at 1.010 s (roboclaw)")
    assert "31 ms" in words


def test_a_fault_with_nothing_beside_it_is_a_fault_of_the_controller_or_the_devices():
    other = event_row(13, "link_lost", 1000, 1000 * MS, detail="no answer")
    assert beside(np.concatenate([other, stall(100, 80)]), 1000 * MS) == ""


def test_tables_have_no_line_of_it_in_virtual_time():
    assert disturbance_lines({"machine": None, "simulated_rig": None}) == []
    assert disturbance_lines({}) == []


def test_tables_say_how_many_and_the_longest():
    events = np.concatenate([stall(100, 31), late(100, 14)])
    summary = {"machine": machine_summary(events), "simulated_rig": simulated_rig_summary(events)}
    assert disturbance_lines(summary) == [
        ("machine stalls, longest", "1, 31 ms"),
        ("simulated rig late, longest", "1, 14 ms"),
    ]
