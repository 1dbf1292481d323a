"""Disturbances in the summary of a run and in its table."""

import numpy as np

from hil.experiments.summary_table import (
    EVERY_RUN,
    LISTED,
    long_ticks_summary,
    machine_summary,
    result_rows,
    simulated_rig_summary,
)
from hil.ipc.run_memory import LateAction
from hil.messages.link_messages import EVENT
from hil.processes.disturbances import late_event, long_tick_event, stall_event
from hil.realtime.clock import LongTick, Stall

MS = 1_000_000
START_NS = 5 * 10**9
NONE = np.zeros(0, EVENT)


def stall(at_ms, length_ms, real_time=True):
    return stall_event(Stall(START_NS + at_ms * MS, length_ms * MS), START_NS, 1000, real_time=real_time)


def late(at_ms, length_ms, device="roboclaw"):
    return late_event(LateAction(START_NS + at_ms * MS, length_ms * MS, device), START_NS, 1000)


def long_tick(number=2104, ms=2.4, processor_ms=0.3, waits=0, interruptions=1, faults=0):
    tick = LongTick(round(ms * MS), number, round(processor_ms * MS), faults, waits, interruptions)
    return long_tick_event(tick, 1000)


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


def test_tables_have_no_line_of_it_in_virtual_time():
    assert result_rows(EVERY_RUN, {"machine": None, "simulated_rig": None}) == result_rows(EVERY_RUN, {}) == []


def test_tables_say_how_many_and_the_longest():
    events = np.concatenate([stall(100, 31), late(100, 14)])
    summary = {"machine": machine_summary(events), "simulated_rig": simulated_rig_summary(events)}
    assert result_rows(EVERY_RUN, summary) == [
        ("machine stalls, longest", "1, 31 ms"),
        ("simulated rig late, longest", "1, 14 ms"),
    ]


def test_the_summary_counts_them_and_has_the_longest():
    events = np.concatenate([long_tick(5, 2.0, 1.9), long_tick(9, 7.5, 0.2), long_tick(20, 3.0, 0.2)])
    found = long_ticks_summary(events)
    assert (found["count"], found["interrupted"], found["longest_ms"]) == (3, 2, 7.5)
    assert found["longest"].startswith("the tick at 0.009 s took 7.5 ms")
    assert result_rows(EVERY_RUN, {"loop": {"long_ticks": found}})[0] == (
        "ticks over a period, of these interrupted",
        "3, 2",
    )


def test_a_run_without_one_has_no_line_in_its_table():
    none = long_ticks_summary(np.zeros(0, EVENT))
    assert none == {"count": 0, "interrupted": 0, "longest_ms": None, "longest": ""}
    assert [result_rows(EVERY_RUN, {"loop": {"long_ticks": one}}) for one in (none, None)] == [[], []]
