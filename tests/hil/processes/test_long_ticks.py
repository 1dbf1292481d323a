"""Ticks that took longer than a period: as rows of the record, in the summary, beside a fault, in a table."""

import numpy as np
import pytest

from hil.messages.schema import EVENT, triggers_capture
from hil.processes.disturbances import beside
from hil.processes.long_ticks import INTERRUPTED, LONG, long_tick_event, long_tick_lines, long_ticks_summary
from hil.realtime.long_ticks import LongTick

MS = 1_000_000


def event(number=2104, ms=2.4, processor_ms=0.3, waits=0, interruptions=1, faults=0):
    tick = LongTick(round(ms * MS), number, round(processor_ms * MS), faults, waits, interruptions)
    return long_tick_event(tick, 1000)


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
    assert event(**used)["name"] == [name.encode()]


def test_the_event_is_no_fault_and_says_what_the_tick_used():
    [row] = event(faults=12)
    assert (row["id"], row["tick"], row["t_ns"], row["value"], row["limit"]) == (0, 2104, 2104 * MS, 2.4, 1.0)
    assert row["detail"].decode() == (
        "the tick at 2.104 s took 2.4 ms: 0.3 ms on the processor; interruptions: 1, waits: 0, page faults: 12"
    )
    assert not triggers_capture(row)


def test_the_words_of_the_longest_tick_fit_into_an_event():
    [row] = event(number=3_600_000, ms=9999.9, processor_ms=9999.9, waits=99_999, interruptions=99_999, faults=999_999)
    assert row["detail"].endswith(b"page faults: 999999")


def test_the_summary_counts_them_and_has_the_longest():
    events = np.concatenate([event(5, 2.0, 1.9), event(9, 7.5, 0.2), event(20, 3.0, 0.2)])
    found = long_ticks_summary(events)
    assert (found["count"], found["interrupted"], found["longest_ms"]) == (3, 2, 7.5)
    assert found["longest"].startswith("the tick at 0.009 s took 7.5 ms")
    assert long_tick_lines({"long_ticks": found})[0] == ("ticks over a period, of these interrupted", "3, 2")


def test_a_run_without_one_has_no_line_in_its_table():
    none = long_ticks_summary(np.zeros(0, EVENT))
    assert none == {"count": 0, "interrupted": 0, "longest_ms": None, "longest": ""}
    assert long_tick_lines({"long_ticks": none}) == long_tick_lines({"long_ticks": None}) == long_tick_lines({}) == []


def test_an_interrupted_tick_stands_beside_a_fault_and_one_that_computed_too_long_does_not():
    assert "took 25.0 ms" in beside(event(1000, 25.0, 0.2), 1030 * MS)
    assert beside(event(1000, 25.0, 24.0), 1030 * MS) == ""
