"""Fault 18 and 19 in the resident process: an operator's E-stop, and an operator who is gone."""

from __future__ import annotations

import re

import pytest

from hil.analysis.replay import replay
from hil.messages.operator_input import (
    Arm,
    ClearFault,
    EStop,
    Jog,
    Stop,
)
from hil.recording import read_trial
from hil.recording.run_folder import summary_of

from .conftest import CONSOLE_LOST, DRIVE, STOP_BY_OPERATOR, drives, first_of, moved, names, wrong

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs


def test_an_e_stop_makes_the_rig_safe_in_the_tick_that_reads_it_and_holds_until_it_is_cleared(rig):
    folder = drives(rig)
    rig.ask(EStop("smoke"))
    status = rig.until(state="idle")
    assert (status["safe"], [fault["number"] for fault in status["faults"]]) == (True, [STOP_BY_OPERATOR])
    rig.ask(Arm(), Jog(("all",), 0.02, 1.0))
    rig.host.sleep(0.2)
    assert rig.status["runs"] == 1
    rig.ask(ClearFault(STOP_BY_OPERATOR))
    rig.until(safe=False, faults=[])
    second = drives(rig)
    rig.ask(Stop())
    rig.until(state="idle", runs=2)
    rig.end()
    assert len([line for line in rig.said if "refused: latched: 18 stop by operator" in line]) == 2
    ticks, stop = read_trial(folder, trusted=True).tick, first_of(folder, "operator e_stop")
    assert ticks["safe"].tolist() == (ticks["tick"] >= stop["tick"]).tolist()
    assert ticks["cut"][ticks["tick"] >= stop["tick"]].all()
    assert "cleared before" in names(second)
    assert wrong(folder) == wrong(second) == []


def test_an_e_stop_between_two_runs_keeps_the_next_one_from_beginning(rig):
    rig.ask(EStop("button"))
    rig.until(safe=True)
    rig.ask(Arm())
    rig.host.sleep(0.2)
    rig.end()
    assert list(rig.folder.iterdir()) == []


def test_a_run_whose_console_is_lost_goes_safe_half_a_second_after_the_last_heartbeat(rig):
    folder = drives(rig)
    rig.lose_lease()
    lost_ns = rig.last_beat_ns
    rig.until(running=True, safe=True)
    assert 500e6 < rig.host.now_ns() - lost_ns < 700e6  # virtual time; the status follows every 50 ms
    status = rig.until(state="idle")
    assert [fault["number"] for fault in status["faults"]] == [CONSOLE_LOST]
    rig.ask(ClearFault(CONSOLE_LOST))
    rig.until(faults=[])
    rig.end()
    fault = first_of(folder, "console_lost")
    assert fault["value"] == pytest.approx(500.0, abs=2.0)
    ticks = read_trial(folder, trusted=True).tick
    assert ticks["cut"][ticks["tick"] >= fault["tick"]].all()
    assert replay(folder).differences == []
    assert wrong(folder) == []


def test_a_run_that_is_to_finish_without_its_console_does_and_its_record_says_so(operated):
    drive = [*DRIVE, "operator.console_lost=finish", "drive.steps=[{for_s: 1.5, speed_mps: 0.03}]"]
    rig = operated("sim_impact", *drive)
    rig.until(state="idle")
    rig.take_lease()
    folder = drives(rig)
    rig.release_lease()
    status = rig.until(state="idle", runs=1)
    assert (status["safe"], status["faults"]) == (False, [])
    rig.end()
    assert names(folder).count("console_lost") == 1
    assert not summary_of(folder)["aborted"]
    assert replay(folder).differences == []
    assert wrong(folder) == []


def test_an_armed_rig_whose_console_is_lost_never_starts_and_no_fault_is_latched(rig):
    rig.ask(Arm())
    rig.until(state="armed")
    rig.lose_lease()
    assert rig.until(state="idle", runs=1)["faults"] == []
    rig.end()
    folder = rig.folder / "run_1"
    assert not moved(folder)
    assert "operator console_lost" in names(folder)
    assert "operator stop" not in names(folder)
    (reason,) = summary_of(folder)["reasons"]
    assert re.fullmatch(r"ended before the start: console: no heartbeat of \S+ for \d+ ms, allowed: 500 ms", reason)
    assert replay(folder).differences == []
    assert wrong(folder) == []
