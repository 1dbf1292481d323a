"""`hil energy` from the command line to its files, and the curve behind it."""

import csv
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.axes import Axes

import hil
from hil.analysis.energy import (
    MassSet,
    draw_energy,
    energy_curve,
    masses_table,
    peak_in_words,
    peak_over_masses,
    save_energy,
)
from hil.cli import run
from hil.cli.energy import angles_from
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.figure_form import FigureForm

ROOT = Path(hil.__path__[0]).parent


@pytest.mark.slow
def test_the_curve_has_one_interior_maximum_and_the_peak_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["energy", "rig_configs/sim_impact.yaml", "--angles", "10:90:5", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)  # nothing else on stdout
    assert set(result) == {"angles_deg", "energy_J", "peak_angle_deg"}
    assert result["angles_deg"] == [10.0 + 5.0 * i for i in range(17)]
    energy = result["energy_J"]
    rises = [b > a for a, b in itertools.pairwise(energy)]
    turns = [i for i, (a, b) in enumerate(itertools.pairwise(rises)) if a != b]
    assert rises[0]
    assert len(turns) == 1
    assert result["peak_angle_deg"] == pytest.approx(result["angles_deg"][energy.index(max(energy))], abs=5.0)


@pytest.mark.slow
def test_the_run_folder_holds_result_figure_and_masses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "deep" / "energy"
    assert run(["energy", "sim_impact", "--angles", "40:80:10", "--out", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "as configured" in printed
    assert str(folder) in printed
    assert {file.name for file in folder.iterdir()} == {"energy.json", "energy.png", "energy_masses.csv"}
    assert json.loads((folder / "energy.json").read_text())["angles_deg"] == [40.0, 50.0, 60.0, 70.0, 80.0]
    with (folder / "energy_masses.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["masses"] == "as configured"
    assert all(50.0 < float(row["peak_angle_deg"]) < 66.0 for row in rows)
    assert (folder / "energy.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_without_out_the_folder_is_named_by_time_config_and_angles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # also twice within a second
        assert run(["energy", "sim_impact", "--angles", "50:70:10", "--json"]) == 0
    names = sorted(folder.name for folder in Path("runs").iterdir())
    assert len(names) == 2
    assert all("Z_sim_impact_50-70" in name for name in names)


@pytest.mark.parametrize(
    ("text", "angles"),
    [
        ("10:20:5", [10.0, 15.0, 20.0]),
        ("10:20:4", [10.0, 14.0, 18.0, 20.0]),
        ("0.1:0.3:0.1", [0.1, 0.2, 0.3]),
        ("60:60:1", [60.0]),
    ],
)
def test_the_last_angle_is_included(text: str, angles: list[float]) -> None:
    assert angles_from(text) == angles


@pytest.mark.parametrize(
    "text",
    [
        "",
        "60",
        "10:90",
        "90:10:5",
        "10:90:0",
        "10:90:-5",
        "10:91:5",
        "10:nan:5",
        "a:b:c",
        "10:90:inf",
        "inf:inf:5",
        "10:inf:5",
        "nan:90:5",
        "10:90:nan",
    ],
)
def test_wrong_angles_are_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["energy", "sim_impact", "--angles", text, "--out", str(tmp_path / "x")]) == 2
    assert "--angles" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("text", ["10:50:5", "10:90:1000", "70:90:5", "45:45:1"])
def test_an_end_of_the_range_is_no_peak(text: str) -> None:
    curve = energy_curve(Rig(load_config("sim_impact")), angles_from(text))
    assert curve["peak_angle_deg"] is None
    assert peak_in_words(curve).startswith("no peak inside this range")


@pytest.mark.slow
def test_a_range_without_a_peak_is_saved_and_shown_without_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["energy", "sim_impact", "--angles", "10:50:20", "--out", str(tmp_path / "a")]) == 0
    printed = capsys.readouterr().out
    assert "no peak inside this range" in printed
    assert "peak at" not in printed
    assert json.loads((tmp_path / "a/energy.json").read_text())["peak_angle_deg"] is None


def test_the_figure_marks_no_peak_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    marked: list[float] = []
    monkeypatch.setattr(Axes, "axvline", lambda _axes, x, **_: marked.append(x))
    rig = Rig(load_config("sim_impact"))
    for grid in ([10.0, 30.0, 50.0], [40.0, 60.0, 80.0]):
        draw_energy(energy_curve(rig, grid), FigureForm())
    assert len(marked) == 1
    assert 50.0 < marked[0] < 66.0


def test_masses_without_a_peak_are_shown_without_one(tmp_path: Path) -> None:
    rig = Rig(load_config("sim_impact"))
    rows = [MassSet("as configured", 142.7, None, None)]
    save_energy(tmp_path, energy_curve(rig, [10.0, 50.0]), rows)
    with (tmp_path / "energy_masses.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["peak_angle_deg"] == ""
    assert list(masses_table(rows).columns[2].cells) == ["none"]


def test_the_peak_does_not_depend_on_the_grid() -> None:
    rig = Rig(load_config("sim_impact"))
    peaks = [energy_curve(rig, grid)["peak_angle_deg"] for grid in ([20, 50, 90], range(10, 91, 5), range(50, 66))]
    assert peaks == pytest.approx([peaks[0]] * 3, abs=1e-2)


def test_the_energy_grows_with_the_square_of_the_speed() -> None:
    slow, fast = (
        energy_curve(Rig(load_config("sim_impact", [f"trial.speed_mps={speed}"])), [30.0, 60.0, 90.0])["energy_J"]
        for speed in (0.05, 0.1)
    )
    assert fast == pytest.approx([4.0 * energy for energy in slow])


def test_heavier_bodies_lower_the_peak_angle() -> None:
    rows = {row.masses: row for row in peak_over_masses(Rig(load_config("sim_impact")))}
    bodies = [rows[f"body {mass} kg"].peak_angle_deg for mass in (40, 60, 80)]
    assert bodies == sorted(bodies, reverse=True)
    assert rows["as configured"].total_kg == pytest.approx(142.7)
    assert rows["no added weights"].total_kg == pytest.approx(120.0)


@pytest.mark.slow
def test_the_program_itself_prints_clean_json(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hil.cli", "energy", "sim_impact", "--angles", "55:65:5", "--json", "--out", "e"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) == {"angles_deg", "energy_J", "peak_angle_deg"}
