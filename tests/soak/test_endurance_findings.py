"""What a run of `make soak PART=endurance` has shown is judged by its record."""

import importlib
import itertools
import json
import mmap
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hil.config import load_config
from hil.messages.fault import Fault
from hil.messages.link_messages import TIMING, event_row
from hil.messages.signals import tick_dtype
from hil.processes.disturbances import long_tick_event, stall_event
from hil.realtime.clock import LongTick, Stall
from hil.recording import open_writer

MS = 1_000_000
DONE = {"accepted": True, "reasons": [], "loop": {"rate_hz": 1000, "ticks": 0, "late": 0, "skipped": 0}}


@pytest.fixture
def findings(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    return importlib.import_module("endurance_findings")


@pytest.fixture
def judged(findings, tmp_path):
    """Judges a run with these ticks, each with the time of its work [ms], and events."""
    config = load_config("sim_wire")

    def judge(ticks, events=(), injected=None, summary=DONE, **fields):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        with open_writer(folder, config, {"config": ""}) as record:
            for number, work_ms in ticks.items():
                row, timing = np.zeros(1, tick_dtype(config.layout)), np.zeros(1, TIMING)
                row["tick"] = timing["tick"] = number
                row["t_ns"], timing["work_ns"] = number * MS, round(work_ms * MS)
                row["drives_t_ns"] = row["t_ns"]
                for name, value in fields.items():
                    row[name] = value(number)
                record.timing(timing)
                record.tick(row)
            for event in events:
                record.event(event)
        found = findings.Found()
        found.take(folder, summary, injected and findings.Injected(*injected))
        return found

    return judge


def noted(fault, at_ms):
    return event_row(fault, fault.name.lower(), at_ms, at_ms * MS, detail="words")


def test_periods_skipped_before_the_first_tick_and_between_two_are_counted_with_their_cause(judged):
    found = judged({5: 0.2, 6: 0.2, 8: 0.2})
    assert (found.woken_late, found.beside_stalls, found.unexplained) == (4 + 1, 0, [])


def test_periods_skipped_after_work_that_took_too_long_are_not_explained(judged):
    found = judged({1: 0.2, 2: 3.1, 6: 0.2})
    assert [line.partition(": ")[2] for line in found.unexplained] == ["3 after a tick of 3.1 ms"]
    assert not found.ok


def test_periods_skipped_beside_a_stall_are_its_doing(judged):
    stall = stall_event(Stall(2 * MS, 4 * MS), 0, 1000, real_time=True)
    found = judged({1: 0.2, 2: 3.1, 6: 0.2}, [stall])
    assert (found.beside_stalls, found.unexplained) == (3, [])


def test_a_stall_that_was_over_before_explains_no_skipped_period(judged):
    stall = stall_event(Stall(2 * MS, 4 * MS), 0, 1000, real_time=True)
    assert judged({7: 0.2, 8: 3.1, 12: 0.2}, [stall]).unexplained


def long_tick(number, ms, processor_ms):
    return long_tick_event(LongTick(round(ms * MS), number, round(processor_ms * MS), 0, 0, 1), 1000)


def test_periods_skipped_after_a_tick_from_which_the_processor_was_taken_are_counted_with_its_figures(judged):
    found = judged({1: 0.2, 2: 3.1, 6: 0.2}, [long_tick(2, 3.1, 0.3)])
    assert (found.interrupted, found.beside_stalls, found.unexplained) == (3, 0, [])
    assert "took 3.1 ms: 0.3 ms on the processor; interruptions: 1" in found.interruptions[0]


@pytest.mark.slow
@pytest.mark.parametrize("beside", [(), (1,)])
def test_periods_skipped_after_a_tick_that_computed_too_long_are_not_explained_but_have_its_figures(judged, beside):
    """An interruption of the tick before is no cause."""
    found = judged({1: 1.4, 2: 3.1, 6: 0.2}, [*(long_tick(one, 1.4, 0.2) for one in beside), long_tick(2, 3.1, 3.0)])
    assert (found.interrupted, found.beside_stalls) == (0, 0)
    assert "3.0 ms on the processor" in found.unexplained[0]


@pytest.mark.parametrize("process", ["loop", "daq", "drives", "valves", "watchdog", "recorder"])
@pytest.mark.parametrize(
    ("last", "grown"),
    [
        ((58.0, 16, 9), []),
        ((75.2, 16, 9), ["50 to 75.2 MB, 16 to 16 descriptors, 9 to 9 threads"]),
        ((50.0, 17, 9), ["50 to 50 MB, 16 to 17 descriptors, 9 to 9 threads"]),
        ((50.0, 16, 10), ["50 to 50 MB, 16 to 16 descriptors, 9 to 10 threads"]),
    ],
)
def test_every_process_is_judged_by_what_it_has_grown_by_since_it_was_first_noted(
    findings, monkeypatch, process, last, grown
):
    others = {"loop": 1, "daq": 2, "drives": 3, "valves": 4, "watchdog": 5, "recorder": 6}
    growth, states = findings.Growth(), dict.fromkeys(others.values(), (50.5, 16, 9))
    states[others[process]] = (50.0, 16, 9)
    monkeypatch.setattr(findings, "_state_of", lambda number: states[number])
    growth.note(others)
    states[others[process]] = (99.0, 99, 99)  # in between it may have been anything
    growth.note(others)
    states[others[process]] = last
    growth.note(others)
    found = findings.Found(growth=list(growth.rows()), injected={"one": [True]})
    assert found.grown == [f"{process} has grown: {words}" for words in grown]
    assert found.ok is not bool(grown)


@pytest.mark.parametrize(("leak_MB", "grown"), [(0.0, False), (0.2, True)])
def test_memory_that_comes_and_goes_is_no_growth_and_what_stays_of_each_run_is(findings, monkeypatch, leak_MB, grown):
    growth, used = findings.Growth(), itertools.cycle((120.0, 130.0, 121.0, 135.0))
    for run in range(100):
        state = (next(used) + leak_MB * run, 16, 9)
        monkeypatch.setattr(findings, "_state_of", lambda _, state=state: state)
        growth.note({"loop": 1})
    assert [row["grown"] for row in growth.rows()] == [grown]


@pytest.mark.parametrize(
    ("error", "opened", "judged_as"),
    [
        ("data acquisition: not there; at that time: simulated rig late by 30 ms (daq)", False, (1, 0, 0)),
        ("drives: its process ended with status -9 (watchdog, after 21 ms: silent, killed)", True, (0, 1, 1)),
        ("drives: its process ended with status -9 (watchdog, after 21 ms, allowed 20: silent, killed; "
         "at that time: this machine stood still for 31 ms at 7.104 s)", True, (0, 1, 0)),
        ("drives: its process ended with status -9 (watchdog, after 31.0 ms, allowed 20: silent, killed; "
         "this machine kept the watchdog waiting for 31 ms)", True, (0, 1, 0)),
        ("drives: no process holds its devices now; start the command again", True, (0, 1, 0)),
    ],
)  # fmt: skip
def test_a_rig_not_opened_and_one_not_ready_for_another_run_are_told_apart_and_a_killed_worker_needs_a_cause(
    findings, error, opened, judged_as
):
    found = findings.Found()
    found.take_end(error, opened=opened)
    assert (len(found.not_opened), len(found.ended_between), len(found.invented)) == judged_as


def test_a_fault_that_nobody_injected_needs_a_cause_beside_it(judged):
    assert judged({1: 0.2}, [noted(Fault.SENSOR_STALE, 1)]).invented


def test_skipped_periods_are_the_cause_of_a_late_loop_and_are_judged_themselves(judged):
    found = judged({1: 0.2, 9: 0.2}, [noted(Fault.LOOP_LATE, 9)])
    assert (found.woken_late, found.beside, found.invented) == (7, 1, [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "reasons", "judged_as"),
    [
        (Fault.LINK_LOST, [], {"drives silent": [True]}),
        (Fault.SENSOR_STALE, [], {}),  # another fault came first
        (Fault.LOOP_LATE, [], {}),  # one that could tell of it, but before it was injected
        (None, [], {"drives silent": [False]}),
        (None, ["not armed: disk space is 199 MB free, allowed: at least 200 MB"], {}),
    ],
)
def test_an_injected_fault_is_found_or_not_or_could_not_show(judged, fault, reasons, judged_as):
    events = [] if fault is None else [noted(fault, 4 if fault is Fault.LOOP_LATE else 5)]
    injected = ("drives silent", {Fault.LINK_LOST, Fault.LOOP_LATE}, 5 * MS)
    found = judged({1: 0.2}, events, injected, {**DONE, "reasons": reasons})
    assert json.loads(json.dumps(found.injected)) == judged_as


@pytest.mark.slow
@pytest.mark.parametrize(
    ("accepted", "passes", "held"), [(True, True, True), (False, True, False), (True, False, False)]
)
def test_a_run_that_may_go_through_counts_only_if_it_is_accepted(judged, accepted, passes, held):
    summary = {**DONE, "accepted": accepted, "reasons": [] if accepted else ["slow"]}
    found = judged({1: 0.2}, (), ("computer slowed", {Fault.LOOP_LATE}, 0, passes), summary)
    assert found.injected == {"computer slowed": [held]}


@pytest.mark.slow
def test_periods_that_an_injected_stall_skips_are_not_searched_for_another_cause(judged):
    ticks, stalled = {1: 0.2, 2: 3.1, 6: 0.2}, ("computer stalled", {Fault.LOOP_LATE}, 4 * MS)
    assert judged(ticks, (), stalled).unexplained == []
    assert judged(ticks, (), ("drives silent", {Fault.LINK_LOST}, 4 * MS)).unexplained
    assert judged(ticks, (), ("computer stalled", {Fault.LOOP_LATE}, 7 * MS)).unexplained


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"cut": lambda tick: tick > 2}, []),
        ({"cut": lambda tick: 2 < tick < 500}, ["powered in tick 500, after Safe"]),
        ({"cut": lambda tick: tick > 2, "safe": lambda tick: 2 < tick < 500}, ["powered in tick 500, after Safe"]),
        ({"cut": lambda tick: tick > 2, "wheel_speed_radps": lambda _: 0.2},
         ["a wheel turns at 0.200 rad/s at the end, after Safe"]),
        ({"cut": lambda tick: tick > 2, "wheel_speed_radps": lambda _: 0.2, "drives_t_ns": lambda _: 3 * MS}, []),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_what_moves_after_safe_is_found(judged, fields, wrong):
    found = judged(dict.fromkeys(range(1, 700), 0.2), (), **{"safe": lambda tick: tick > 2, **fields})
    assert [line.partition(": ")[2] for line in found.not_stopped] == wrong
    assert judged(dict.fromkeys(range(1, 700), 0.2), (), wheel_speed_radps=lambda _: 0.2).not_stopped == []


def test_a_run_that_is_not_accepted_needs_a_reason(judged):
    assert judged({1: 0.2}, summary={**DONE, "accepted": False}).no_reason
    assert not judged({1: 0.2}, summary={**DONE, "accepted": False, "reasons": ["why"]}).no_reason


def test_own_memory_grows_by_what_is_touched(findings):
    # A separate mapping: a block of the allocator can be memory that this process already had.
    with mmap.mmap(-1, 32 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as held:
        before_MB = findings.own_memory_MB(os.getpid())
        held[:] = b"x" * len(held)
        assert findings.own_memory_MB(os.getpid()) > before_MB + 30


def test_own_memory_of_a_process_that_is_gone_is_an_error(findings):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with pytest.raises(OSError, match="o such"):
        findings.own_memory_MB(gone.pid)
