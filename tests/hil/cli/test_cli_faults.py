"""`hil faults`: the table of injected faults, its exit status, and what it refuses."""

from __future__ import annotations

import json

import pytest

from hil.app.faults import table
from hil.app.faults.case import LOCKSTEP, PROCESSES, Case, ExpectedOutcome, FaultResult, InjectionOutcome
from hil.cli import run
from hil.config import load_config


@pytest.mark.parametrize("config", ["mars_dome", "bumper"])
def test_a_real_rig_is_refused(capsys, config):
    assert run(["faults", config]) == 2
    assert "rig: found real; allowed: simulated or simulated_wire" in capsys.readouterr().err


def test_a_fault_that_is_none_is_refused_with_all_that_there_are(capsys):
    assert run(["faults", "sim_impact", "--only", "99"]) == 2
    assert "'99', allowed: the number or the name of one of 1 sensor drop-out, 2 " in capsys.readouterr().err


@pytest.mark.slow
def test_chosen_rows_are_injected_and_written_as_json(capsys, tmp_path):
    file = tmp_path / "faults.json"
    assert run(["faults", "sim_impact", "--only", "9", "--json", str(file)]) == 0
    rows = json.loads(file.read_text())
    assert {row["id"] for row in rows} == {9}
    assert all(row["ok"] and row["detected_ms"] <= row["bound_ms"] for row in rows)
    assert f"{len(rows)} faults injected: {len(rows)} ok, 0 wrong" in capsys.readouterr().out


def test_a_result_that_is_wrong_ends_with_status_1(capsys, monkeypatch):
    config, bounds = load_config("sim_impact"), ExpectedOutcome(frozenset({1}), 11.0, 11.0)
    outcomes = [
        InjectionOutcome(40.0, 40.0, ("noticed after 40.0 ms, allowed: 11.0",)),
        InjectionOutcome(disturbed="the trial ended by itself before the signal", injected=False),
    ]
    wrong, not_made = (
        FaultResult(case, outcome)
        for case, outcome in zip(
            (
                Case(1, "off", "daq", "run_up", LOCKSTEP, config, lambda _: outcomes[0], expected=bounds),
                Case(12, "killed", "loop process", "run_up", PROCESSES, config, lambda _: outcomes[1]),
            ),
            outcomes,
            strict=True,
        )
    )
    assert not_made.row()["ok"] is None
    left_out = [table.RowLeftOut(22, "no tmpfs can be mounted")]
    monkeypatch.setattr(table, "inject_all", lambda *_: ([wrong, not_made], left_out))
    assert run(["faults", "sim_impact"]) == 1
    said = capsys.readouterr().out
    assert "WRONG: noticed after 40.0 ms" in said
    assert "not injected: the trial ended by itself" in said
    assert "1 faults injected: 0 ok, 1 wrong; 1 not injected, 1 rows left out" in said
    assert "left out: 22: no tmpfs can be mounted" in said


def test_a_fault_is_a_row_at_80_columns_and_drivers_whose_lines_were_not_broken_are_named(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(table, "installed_names", lambda _: ["modbus", "roboclaw", "unused"])  # as of packages
    done = FaultResult(
        Case(13, "unplugged and plugged in", "roboclaw_servos", "run_up", LOCKSTEP, load_config("sim_walk_wire"), str),
        InjectionOutcome(1.0, 98.6),
    )
    monkeypatch.setattr(table, "inject_all", lambda *_: ([done], []))
    assert run(["faults", "sim_wire"]) == 0
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert max(len(line) for line in lines if line[0] in "┏┃┡│└") <= 80
    assert sum(line.startswith("│") for line in lines) <= 4  # a row, not a list of its cells
    assert "shipped drivers, not of modbus, roboclaw:" in " ".join(said.split())
