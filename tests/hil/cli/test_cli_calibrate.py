"""`hil calibrate` from the record of a run to the calibration sheet."""

from __future__ import annotations

import json

import pytest

from drivers.calibration import Calibration
from hil.app.run import run_experiment
from hil.cli import run
from hil.config import load_config
from hil.config.yaml_io import read_yaml
from hil.experiments.impact import figure

# The trial as a press and release: the sensors' couplings have a time constant that the sheet does not know.
QUICK = ("trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=1.5", "record.after_s=0.5")


@pytest.fixture(scope="module")
def pressed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pressed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure, "draw_trial", lambda *_: None)
        config = load_config("sim_impact", [*QUICK, "daq.droop_s=0.4", "telemetry.endpoint=''"], 3)
        run_experiment(config, folder, progress=lambda _: None)
    return folder


def sheet_of(path):
    content, problems = read_yaml(path.read_text(encoding="utf-8"), "(file)")
    assert not problems
    Calibration.model_validate(content)
    return content


def test_time_constant_of_a_recorded_press_goes_into_the_sheet(pressed, tmp_path, capsys):
    sheet = tmp_path / "sheet.yaml"
    assert run(["calibrate", "droop", str(pressed), "--sensor", "top", "--sheet", str(sheet), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["droop_s"] == pytest.approx(0.4, rel=0.05)
    assert sheet_of(sheet)["top"] == {"serial": "unknown", **{key: found[key] for key in ("droop_s", "droop_u95")}}


def test_other_keys_and_sensors_of_a_sheet_stay_and_the_former_file_is_kept(pressed, tmp_path):
    sheet = tmp_path / "sheet.yaml"
    sheet.write_text("# ours\ntop: {serial: 'A1', sensitivity_mVpN: 11.3}\nlower_left: {serial: 'A2'}\n")
    assert run(["calibrate", "zero", str(pressed), "--sensor", "top", "--sheet", str(sheet)]) == 0
    content = sheet_of(sheet)
    assert (content["top"]["serial"], content["top"]["sensitivity_mVpN"]) == ("A1", 11.3)
    assert abs(content["top"]["offset_V"]) < 1e-4
    assert content["lower_left"]["serial"] == "A2"
    assert "# ours" in (tmp_path / "sheet.yaml.former").read_text()


def test_config_takes_time_constant_and_uncertainties_from_the_sheet():
    sheet = "{top: {serial: a, sensitivity_mVpN: 11.3, droop_s: 0.4, droop_u95: 0.01, sensitivity_u95: 0.03}, "
    sheet += "lower_left: {serial: b, sensitivity_mVpN: 11.2}, lower_right: {serial: c, sensitivity_mVpN: 11.1}}"
    config = load_config("mars_dome", [f"devices.daq.calibration={sheet}", "rig=simulated_wire"])
    assert config.droops_s == (0.4, 0.5, 0.5)
    assert config.droops_u95 == (0.01, 0.02, 0.02)
    assert config.sensitivities_u95 == (0.03, 0.01, 0.01)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["droop", "--sensor", "front_left"], "--sensor front_left: no such sensor, allowed: top, lower_left"),
        (["force", "--sensor", "top", "--weight", "50", "--weight", "60"], "1 loads in the record, allowed: 2"),
    ],
)
def test_what_a_record_does_not_hold_ends_the_command_with_a_sentence(pressed, arguments, words, capsys):
    assert run(["calibrate", arguments[0], str(pressed), *arguments[1:]]) == 2
    assert words in capsys.readouterr().err


def test_file_that_is_no_sheet_is_left_alone(pressed, tmp_path, capsys):
    sheet = tmp_path / "notes.txt"
    sheet.write_text("buy tea")
    assert run(["calibrate", "zero", str(pressed), "--sensor", "top", "--sheet", str(sheet)]) == 2
    assert "nothing was written" in capsys.readouterr().err
    assert sheet.read_text() == "buy tea"


def test_folder_without_a_record_is_refused(tmp_path, capsys):
    assert run(["calibrate", "zero", str(tmp_path), "--sensor", "top"]) == 2
    assert "hil: " in capsys.readouterr().err
