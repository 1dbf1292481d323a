"""`hil sensitivity` and `hil optimise`: tables of 80 columns, files, exit status, and what is refused at once."""

from __future__ import annotations

import json

import pytest

from hil.cli import run

JOG = ["--set", "experiment=jog", "--set", "jog.seconds=0.3", "--workers", "1"]
SPEED = "speed_reached_mps.front_left"


def test_all_problems_of_a_command_are_said_at_once_and_nothing_is_written(tmp_path, capfd):
    options = ["--of", "trial.angl_deg", "--of", "seed=x", "--result", "peak_force", "--share", "3"]
    assert run(["sensitivity", "sim_impact", *options, "--out", str(tmp_path / "s")]) == 2
    said = capfd.readouterr().err
    for part in ("did you mean angle_deg?", "--of seed=x: found", "did you mean peak_force_N", "share: found 3"):
        assert part in said
    options = ["--over", "trial.angle_deg=40", "--over", "trial.speed_mps=0.001:0.1", "--least", "peak_force_N"]
    assert run(["optimise", "sim_impact", *options, "--out", str(tmp_path / "s")]) == 2
    said = capfd.readouterr().err
    assert "--over trial.angle_deg=40: found no key with numbers" in said
    assert "trial.speed_mps: found 0.001; allowed: a number 0.005 to 2" in said
    assert not (tmp_path / "s").exists()


@pytest.mark.slow
def test_a_sensitivity_is_a_table_of_80_columns_and_a_folder_of_files(tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    asked = ["--of", "jog.speed_mps", "--of", "rover.added_mass_kg", "--result", SPEED, "--repeats", "2"]
    assert run(["sensitivity", "sim_impact", *JOG, *asked, "--out", str(tmp_path / "s")]) == 0
    shown = capfd.readouterr().out
    assert max(len(line) for line in shown.splitlines() if not line.startswith("folder: ")) <= 80
    assert "10 runs: 0 not accepted" in shown
    files = {"evaluations.csv", "sensitivity.csv", "sensitivity.json", "sensitivity.png"}
    assert {file.name for file in (tmp_path / "s").iterdir()} == files
    (speed, _) = json.loads((tmp_path / "s" / "sensitivity.json").read_text())["sensitivities"]
    assert speed["elasticity"] == pytest.approx(1.0, abs=0.02)  # the jog reaches the speed that is set


@pytest.mark.soak
def test_an_optimum_is_a_table_and_without_one_the_exit_status_is_1(tmp_path, capfd):
    asked = ["--over", "jog.speed_mps=0.01:0.03", "--most", SPEED, "--evaluations", "24", "--repeats", "1"]
    where = ["--where", f"{SPEED} < 0.02"]
    assert run(["optimise", "sim_impact", *JOG, *asked, *where, "--out", str(tmp_path / "a")]) == 0
    shown = capfd.readouterr().out
    assert f"most {SPEED}: 0.01" in shown
    assert "outside the condition" in shown
    assert {file.name for file in (tmp_path / "a").iterdir()} == {"evaluations.csv", "optimum.json"}
    assert run(["optimise", "sim_impact", *JOG, *asked, "--where", f"{SPEED} > 9", "--out", str(tmp_path / "b")]) == 1
    assert "no best: no run fulfils what is asked" in capfd.readouterr().err
