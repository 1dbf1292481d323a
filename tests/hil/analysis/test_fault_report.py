"""A fault report shows what the record holds of a fault: its tick, the ticks around it, and what changed."""

from __future__ import annotations

import json
import shutil

import h5py
import numpy as np
import pytest

from hil.analysis.fault_report import TICKS_BEFORE_FAULT, FaultWindow, cut_off, read_reports
from hil.cli import run
from hil.ipc.run_memory import LateAction
from hil.messages.fault import Fault
from hil.messages.link_messages import event_row
from hil.processes.disturbances import late_event, stall_event
from hil.realtime.clock import Stall
from hil.recording import read_trial
from hil.recording.sinks import LATCHED_BEFORE
from hil.runtime.loop import TICKS_AFTER_FAULT

MS = 1_000_000
SILENT_FROM_MS = 400  # RUN_UP_NS of conftest


def only(reports):
    [report] = reports
    return report


def changes(report):
    return {change.quantity: change.values for change in report.changes}


def with_events(*rows):
    return lambda edit: edit.rows("events", np.concatenate([edit["events"][()], *rows]))


def test_a_report_names_the_tick_the_value_and_the_limit_of_the_record(recorded):
    report = only(read_reports(recorded("silent")))
    [event] = [row for row in read_trial(recorded("silent"), trusted=True).events if row["id"] > 0]
    assert (report.row.number, report.tick) == (Fault.SENSOR_DROPOUT, event["tick"])
    assert (report.value, report.limit) == (event["value"], 10.0)
    assert report.detail == event["detail"].decode()
    assert report.safe_tick == report.tick  # Safe within the tick that notices it


def test_the_reaction_of_the_report_is_within_the_bound_of_the_table(recorded):
    report = only(read_reports(recorded("silent")))
    assert report.bound_ms == 11.0
    assert report.safe_tick - SILENT_FROM_MS <= report.bound_ms


def test_the_window_has_the_ticks_before_the_fault_and_1000_after_it(recorded):
    report = only(read_reports(recorded("silent")))
    begins = max(report.tick - TICKS_BEFORE_FAULT, 1)
    assert report.before == FaultWindow(begins, report.tick - 1, report.tick - begins, 0)
    assert report.after == FaultWindow(report.tick + 1, report.tick + TICKS_AFTER_FAULT, TICKS_AFTER_FAULT, 0)
    assert report.shown == (begins - report.tick, -1, 0, 10, 100, TICKS_AFTER_FAULT)


def test_a_run_that_was_longer_shows_500_ticks_before_the_fault(edited):
    fault = event_row(Fault.VALVE_STUCK, "valve_stuck", 700, 700 * MS, 1.0, 2.0, 700)
    report = only(read_reports(edited("good", with_events(fault))))
    assert report.before == FaultWindow(700 - TICKS_BEFORE_FAULT, 699, TICKS_BEFORE_FAULT, 0)
    assert report.safe_tick is None  # this record was never in Safe


def test_ticks_that_the_clock_skipped_are_counted_as_missing(recorded):
    report = only(read_reports(recorded("late")))
    numbers = read_trial(recorded("late"), trusted=True).tick["tick"]
    around = (numbers >= report.before.first) & (numbers <= report.after.last)
    assert report.row.number == Fault.LOOP_LATE
    assert report.before.missing + report.after.missing > 0
    assert report.before.found + 1 + report.after.found == around.sum()


def test_what_changed_is_shown_before_at_and_after_the_fault(recorded):
    report = only(read_reports(recorded("silent")))
    changed = changes(report)
    assert changed["state"][1:3] == ("run up", "aborted")
    assert changed["Safe"][1:] == ("no", "yes", "yes", "yes", "yes")
    assert changed["drives cut"][1:3] == ("no", "yes")
    assert [int(age) for age in changed["age of the force samples [ms]"][2:]] == [10, 20, 110, 1010]
    before, at = (float(changed["set speed of the wheels [rad/s]"][place]) for place in (1, 2))
    assert before > at == 0.0
    assert float(changed["speed of rear_left [rad/s]"][-1]) == 0.0
    assert "valves on" in report.unchanged
    assert not set(report.unchanged) & set(changed)


@pytest.mark.slow
def test_disturbances_and_the_other_events_of_the_window_stand_beside_it(edited, recorded):
    tick = only(read_reports(recorded("silent"))).tick
    stall = stall_event(Stall((tick - 20) * MS, 9 * MS), 0, 1000, real_time=True)
    late = late_event(LateAction((tick - 5) * MS, 4 * MS, "daq"), 0, 1000)
    far = event_row(0, "stopped by the watchdog", tick + 3000, (tick + 3000) * MS)
    report = only(read_reports(edited("silent", with_events(stall, late, far))))
    assert [text.partition(" for ")[0] for text in report.beside] == [
        "this machine stood still", f"simulated rig late by 4 ms at {(tick - 5) * 1e-3:.3f} s (daq)",
    ]  # fmt: skip
    assert [text.partition(":")[0] for _, text in report.events][-2:] == ["machine stall", "simulated rig late"]
    assert not any("watchdog" in text for _, text in report.events)


@pytest.mark.slow
@pytest.mark.parametrize(("before_ms", "beside"), [(900, True), (1100, False)])
def test_a_stall_is_beside_a_fault_that_is_noticed_late_as_long_as_it_can_be_the_cause(edited, before_ms, beside):
    """Old answers of the valves are noticed after limits.valves_age_ms, 1000 ms."""
    at_ms = 1500
    stale = event_row(Fault.SENSOR_STALE, "sensor_stale", at_ms, at_ms * MS, 1001.0, 1000.0, at_ms)
    stall = stall_event(Stall((at_ms - before_ms) * MS, 9 * MS), 0, 1000, real_time=True)
    assert bool(only(read_reports(edited("good", with_events(stall, stale)))).beside) is beside


@pytest.mark.slow
def test_the_time_until_the_chambers_are_empty_is_that_of_the_record(edited):
    def pressed(edit):
        edit.cells("tick", "pressure_Pa", edit["tick"]["tick"] < 600, lambda values: values + 100e3)

    report = only(read_reports(edited("silent", pressed)))
    assert report.empty_ms == 600 - report.safe_tick


def test_chambers_that_were_empty_before_have_no_such_time(recorded):
    assert only(read_reports(recorded("silent"))).empty_ms is None


@pytest.mark.slow
def test_a_fault_of_an_earlier_run_is_reported_as_such(edited):
    carried = event_row(0, LATCHED_BEFORE, 0, 0, Fault.LINK_LOST, detail="drives: no answer")
    report = only(read_reports(edited("good", with_events(carried))))
    assert (report.row.number, report.event, report.detail) == (13, "latched before", "drives: no answer")
    assert report.before.found == 0


def test_faults_are_reported_in_order_and_a_good_run_has_none(recorded):
    assert read_reports(recorded("good")) == []
    assert [report.row.number for report in read_reports(recorded("stopped"))] == [Fault.STOP_BY_OPERATOR]


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["states", "config"])
def test_a_record_that_does_not_say_what_it_is_ends_in_a_sentence(edited, capsys, lost):
    def forget(edit):
        del edit.file["meta"][lost]

    assert run(["explain", "--run", str(edited("silent", forget))]) == 2
    assert "not of this version" in capsys.readouterr().err


def test_explain_prints_the_report_of_a_run(recorded, capsys):
    assert run(["explain", "--run", str(recorded("silent"))]) == 0
    said = capsys.readouterr().out
    report = only(read_reports(recorded("silent")))
    for text in ("fault 1: sensor drop-out", report.detail, report.row.operator, f"{report.before.found} (", "run up"):
        assert text in said


def test_explain_says_so_if_the_fault_did_not_occur(recorded, capsys):
    assert run(["explain", "valve stuck", "--run", str(recorded("silent"))]) == 0
    assert capsys.readouterr().out.endswith(": no fault 17 (valve stuck); its faults: 1 sensor drop-out\n")


@pytest.mark.slow
def test_the_report_as_json_has_the_row_of_the_table_and_only_finite_numbers(recorded, capsys):
    assert run(["explain", "18", "--run", str(recorded("stopped")), "--json"]) == 0
    [fault] = json.loads(capsys.readouterr().out)["faults"]
    assert fault["fault"]["number"] == 18
    assert fault["fault"]["bound_ms"] == 1.0
    assert fault["value"] is None
    assert {"tick", "before", "after", "shown", "changes", "beside", "events"} < set(fault)


def test_a_run_that_was_cut_off_is_said_to_be_so_with_its_last_tick_and_what_to_do(recorded, tmp_path, capsys):
    folder = tmp_path / "cut"
    folder.mkdir()
    shutil.copy(recorded("good") / "trial.h5", folder)
    last = read_trial(folder, trusted=True).tick[-1]
    assert run(["explain", "--run", str(folder)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "This run was cut off: its program or its computer stopped in the middle of it." in said
    assert f"Its record ends with tick {last['tick']}, at" in said
    assert f"`hil recover {folder}` makes them" in said
    with h5py.File(folder / "trial.h5") as held:  # as a recorder holds it
        assert held
        assert cut_off(folder) == "This run still goes on: its record is not whole yet."
    assert cut_off(recorded("good")) == ""


def test_events_of_the_simulated_rig_s_own_truth_are_not_among_those_around_a_fault(edited):
    fault = event_row(Fault.VALVE_STUCK, "valve_stuck", 700, 700 * MS, 1.0, 2.0, 700)
    known, other = event_row(0, "truth: slips", 690, 690 * MS), event_row(0, "note", 695, 695 * MS)
    report = only(read_reports(edited("good", with_events(known, other, fault))))
    names = [words for _, words in report.events]
    assert "note" in names
    assert not any(words.startswith("truth") for words in names)
