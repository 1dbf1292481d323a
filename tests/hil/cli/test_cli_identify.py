"""`hil identify`: from recorded drives and a table of tests to section soil, table, figure and JSON."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

import hil
from hil.analysis.identification.forward import IdentificationError
from hil.analysis.identification.recorded import windows_of
from hil.cli import run
from hil.config import load_config

PRESSED = "radius_m,width_m,load_N,sinkage_m,sinkage_m_sd\n0.175,0.15,50,{}\n0.175,0.15,200,{}\n0.175,0.15,800,{}\n"
# What the soil of sim_drawbar gives under that wheel, to a micrometre.
DEPTHS = ("0.001186,0.00002", "0.003601,0.00002", "0.010979,0.00005")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def bed(tmp_path):
    path = tmp_path / "bed.csv"
    path.write_text(PRESSED.format(*DEPTHS))
    return path


@pytest.fixture(scope="module")
def drives(tmp_path_factory):
    """Runs at three slips on the soil that the config says, with motor currents."""
    folder = tmp_path_factory.mktemp("drives")
    base = hil.load(
        "sim_drawbar",
        {
            "limits.motor_current_A": {"warn_above": 1000.0}, "plant.spread": {"soil": 0.0, "mass": 0.0},
            "telemetry.endpoint": "", "drawbar.settle_s": 1.5, "drawbar.measure_s": 0.5, "drawbar.growth_Nps": 2000.0,
        },
    )  # fmt: skip
    for slip in (0.1, 0.25, 0.5):
        hil.run(base.replace({"drawbar.slip": slip})).save(folder / f"{slip:g}")
    return sorted(folder.iterdir())


@pytest.fixture
def changed(drives, tmp_path):
    """A copy of a run whose summary says something else."""

    def changed(**values):
        copy = tmp_path / "changed"
        shutil.copytree(drives[0], copy)
        summary = json.loads((copy / "summary.json").read_text())
        (copy / "summary.json").write_text(json.dumps(summary | values))
        return copy

    return changed


def test_a_sinkage_test_gives_stiffness_and_exponent_of_the_soil(bed, tmp_path, capsys):
    names = ["--find", "stiffness", "--find", "exponent"]
    assert run(["identify", "--tests", str(bed), *names, "--out", "soil", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    soil = load_config("sim_drawbar").soil
    assert found["soil"]["stiffness"] == pytest.approx(soil.stiffness, rel=0.1)
    assert found["soil"]["exponent"] == pytest.approx(soil.exponent, rel=0.02)
    assert found["determined"]
    assert found == json.loads((tmp_path / "soil" / "identification.json").read_text())
    assert (tmp_path / "soil" / "identification.png").stat().st_size > 10_000


@pytest.mark.slow
def test_drives_and_a_sinkage_test_together_give_the_soil_that_the_plant_had(drives, bed, capsys):
    assert run(["identify", *map(str, drives), "--tests", str(bed), "--out", "soil"]) == 0
    printed = capsys.readouterr().out
    assert "95 % interval" in printed
    text = printed[printed.index("soil:") : printed.index("folder:")]
    found = load_config("sim_drawbar").replace({"soil": yaml.safe_load(text)["soil"]}).soil
    true = load_config("sim_drawbar").soil
    assert found.slip_modulus == pytest.approx(true.slip_modulus, rel=0.03)
    assert found.stiffness == pytest.approx(true.stiffness, rel=0.15)
    assert found.exponent == pytest.approx(true.exponent, rel=0.03)
    whole = json.loads(Path("soil/identification.json").read_text())
    for name, one in whole["parameters"].items():
        assert one["low"] < getattr(true, name) < one["high"]
    assert all(whole["parameters"][name]["determined"] for name in ("stiffness", "exponent", "slip_modulus"))
    assert {one["quantity"] for one in whole["residuals"]} == {"pull_N", "torque_Nm", "sinkage_m"}


@pytest.mark.slow
def test_drives_alone_tell_the_slip_modulus_and_name_what_they_cannot_tell(drives, capsys):
    assert run(["identify", *map(str, drives), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [name for name, one in found["parameters"].items() if one["determined"]] == ["slip_modulus"]
    assert any("cannot be" in text for text in found["in_words"])
    assert any("sinkage test" in text for text in found["further_experiments"])
    assert found["windows"] == 3


@pytest.mark.slow
def test_too_few_values_are_refused(drives, capsys):
    assert run(["identify", str(drives[0])]) == 2
    assert "too few" in capsys.readouterr().err
    assert run(["identify", str(drives[0]), "--find", "slip_modulus"]) == 0
    assert "All drives have one slip" in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_that_is_given_twice_is_refused(drives, capsys):
    assert run(["identify", str(drives[0]), str(drives[0])]) == 2
    assert "given twice" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"accepted": False, "reasons": ["slip is 0.9"]}, r"not accepted \(slip is 0.9\)"),
        ({"experiment": "jog"}, "experiment jog"),
        ({"slip_from": "twin"}, "the soil that the config assumes"),
        ({"speed_mps": 0.0}, "the rover stands"),
        ({"speed_mps": None}, "the soil that the config assumes"),
    ],
)
def test_a_run_that_cannot_be_used_is_refused_in_words(changed, values, message):
    with pytest.raises(IdentificationError, match=message):
        windows_of([changed(**values)], unverified=True)


@pytest.mark.slow
def test_a_run_that_was_changed_afterwards_needs_unverified(changed, capsys):
    folder = changed(pull_N=1.0)
    assert run(["identify", str(folder), "--find", "slip_modulus"]) == 2
    assert "--unverified" in capsys.readouterr().err
    assert run(["identify", str(folder), "--find", "slip_modulus", "--unverified"]) == 0


@pytest.mark.soak
def test_runs_on_another_soil_are_refused(drives, tmp_path):
    short = {"drawbar.settle_s": 0.2, "drawbar.measure_s": 0.1, "drawbar.slip_tolerance": 1.0}
    other = hil.load("sim_drawbar", {**short, "soil.friction_angle_deg": 28.0, "telemetry.endpoint": ""})
    hil.run(other).save(tmp_path / "other")
    with pytest.raises(IdentificationError, match="another soil of the config"):
        windows_of([drives[0], tmp_path / "other"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give folders of runs, or --tests FILE"),
        (["nowhere"], "nowhere holds no trial.h5"),
        (["--tests", "nowhere.csv"], "nowhere.csv cannot be read"),
        (["--tests", "bed.csv", "--find", "k"], "allowed: one or more of stiffness"),
        (["--tests", "bed.csv", "--given", "rebound=2"], "--given rebound=2"),
        (["--tests", "bed.csv", "--given", "hardness=2"], "--given hardness=2"),
        (["--tests", "bed.csv"], "too few"),
    ],
)
def test_wrong_input_ends_with_status_two_and_no_folder(bed, tmp_path, capsys, arguments, message):
    assert run(["identify", *arguments]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert "Traceback" not in printed.err
    assert not (tmp_path / "runs").exists()
