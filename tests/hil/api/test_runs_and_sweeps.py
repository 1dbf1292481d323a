"""`hil.runs` and `hil.sweep`: tables of summaries, of what was recorded and of what is run."""

from __future__ import annotations

import json
import subprocess
import sys
from math import isnan

import numpy as np
import pytest

import hil
from hil.api import running
from hil.campaign.sweep import sweep_row
from hil.recording.run_folder import FolderError

JOG = {"experiment": "jog", "jog.seconds": 0.3, "telemetry.endpoint": ""}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, saved):
    """A folder with 300 summaries, two of them deeper, and one run that was recorded."""
    folder = tmp_path_factory.mktemp("many")
    summary = {"experiment": "impact", "accepted": True, "aborted": False, "reasons": [], "load_point_m": [0.1, None]}
    for number in range(300):
        place = folder / (f"campaign/trial_{number:04}" if number < 2 else f"run_{number:04}")
        place.mkdir(parents=True)
        one = summary | {"angle_deg": 10.0 + number % 80, "seed": number, "peak_force_N": 80.0 + number}
        one |= {"accepted": False, "reasons": ["fault noise"]} if number % 3 == 0 else {}
        (place / "summary.json").write_text(json.dumps(one), encoding="utf-8")
    hil.open(saved).save(folder / "jog")
    (folder / "damaged").mkdir()
    (folder / "damaged" / "summary.json").write_text("{", encoding="utf-8")
    return folder


def test_all_runs_that_can_be_read_are_in_the_table_also_deeper_ones(folder):
    runs = hil.runs(folder)
    assert len(runs) == 301
    frame = runs.to_dataframe()
    assert frame.loc["campaign/trial_0001", "peak_force_N"] == 81.0
    assert frame.attrs["units"]["peak_force_N"] == "N"
    assert isnan(frame.loc["jog", "angle_deg"])
    assert repr(runs) == f"<Runs of {folder}: 301 runs, 201 accepted>"


def test_a_query_chooses_runs_and_goes_on_being_runs(folder):
    steep = hil.runs(folder).query("accepted and angle_deg > 60")
    assert 0 < len(steep) < 201
    assert {row["angle_deg"] > 60 and row["accepted"] for row in steep.rows} == {True}
    assert len(steep.query("seed < 100")) < len(steep)
    (jog,) = hil.runs(folder).query("experiment == 'jog'")
    assert jog.summary["experiment"] == "jog"


def test_a_query_of_a_value_that_no_run_has_names_those_like_it(folder):
    with pytest.raises(ValueError, match="no run has a value 'angle': did you mean angle_deg"):
        hil.runs(folder).query("angle > 3")


def test_a_note_is_written_from_python_and_its_tags_choose_runs(folder):
    (jog,) = hil.runs(folder).query("experiment == 'jog'")
    assert jog.annotate("smooth", add=["good"]) == ("smooth", ("good",)) == jog.annotate()
    (found,) = hil.runs(folder).query(tags=["good"])
    assert found.folder == jog.folder
    assert jog.annotate("", remove=["good"]) == ("", ())


def test_what_is_no_folder_is_refused(tmp_path):
    with pytest.raises(FolderError, match="is no folder"):
        hil.runs(tmp_path / "runs")


@pytest.mark.slow
def test_a_sweep_runs_the_product_of_the_values_in_order():
    over = {"jog.speed_mps": np.array([0.01, 0.02]), "seed": range(1, 3)}
    swept = hil.sweep(hil.load("sim_impact", JOG), over, workers=1)
    frame = swept.to_dataframe()
    assert frame[["jog.speed_mps", "seed"]].to_numpy().tolist() == [[0.01, 1], [0.01, 2], [0.02, 1], [0.02, 2]]
    assert frame.index.tolist() == [1, 2, 3, 4]
    assert frame["accepted"].all()
    assert repr(swept) == "<Sweep of sim_impact: 4 runs over jog.speed_mps, seed, 4 accepted>"


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ({"trial.angle_deg": [60, 500]}, "trial.angle_deg: found 500; allowed: a number 10 to 90"),
        ({"trial.angle_deg": 60}, "trial.angle_deg: found 60; allowed: a list or range of values"),
        ({"trial.angle_deg": "50,60"}, "trial.angle_deg: found '50,60'; allowed: a list or range of values"),
        ({"trial.angle_deg": []}, "trial.angle_deg: found no values; allowed: a list or range of values"),
        ({}, "over: found no key"),
        ({"seed": range(1001), "jog.speed_mps": range(1000)}, "over: found 1001000 runs; allowed: at most 1000000"),
    ],
)
def test_a_sweep_that_cannot_run_is_refused_before_its_first_run(over, said):
    with pytest.raises(hil.ConfigError) as caught:
        hil.sweep(hil.load("sim_impact", JOG), over, workers=1)
    assert str(caught.value.problems[0]).startswith(said)


@pytest.mark.slow
def test_a_sweep_that_is_interrupted_keeps_what_is_done_and_goes_on(monkeypatch, capsys):
    made = []

    def interrupted_at_the_third(run, summary):
        made.append(run.number)
        if len(made) == 3:
            raise KeyboardInterrupt
        return sweep_row(run, summary)

    monkeypatch.setattr(running, "sweep_row", interrupted_at_the_third)
    over = {"jog.speed_mps": [0.01, 0.02], "seed": [1, 2]}
    swept = hil.sweep(hil.load("sim_impact", JOG), over, workers=1)
    assert [row["number"] for row in swept.rows] == [1, 2]
    assert repr(swept).endswith("2 runs over jog.speed_mps, seed, 2 accepted, 2 not done>")
    assert "2 of 4 runs are done" in capsys.readouterr().err
    assert swept.resume(workers=1) is swept
    assert made == [1, 2, 3, 3, 4]
    assert [row["number"] for row in swept.rows] == [1, 2, 3, 4]
    assert swept.resume() is swept  # nothing is left
    assert swept.rows == hil.sweep(hil.load("sim_impact", JOG), over, workers=1).rows


@pytest.mark.slow
def test_a_sweep_shows_how_far_it_is_and_the_time_left(monkeypatch):
    lines, now = [], iter(range(0, 100, 3))
    monkeypatch.setattr("hil.campaign.progress.time.monotonic", lambda: float(next(now)))
    hil.sweep(hil.load("sim_impact", JOG), {"seed": [1, 2, 3]}, workers=1, progress=lines.append)
    assert lines[-3:] == ["1 of 3 runs", "2 of 3 runs, 3 s left", "3 of 3 runs"]


@pytest.mark.slow
def test_a_script_without_a_guard_may_sweep_in_processes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        f"import hil\nprint('begun')\n"
        f"config = hil.load('sim_impact', {JOG!r})\n"
        f"print(len(hil.sweep(config, {{'seed': [1, 2]}}, workers=2)))\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout.split() == ["begun", "2"], done.stderr
