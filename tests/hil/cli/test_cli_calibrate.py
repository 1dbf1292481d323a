"""`hil calibrate` from the record of a run, or from the running sensors, to the calibration sheet."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from drivers.interfaces import Health
from drivers.messages import DaqBlock
from drivers.section import Calibration
from hil.app import sensor_calibration
from hil.app.run import run_experiment
from hil.cli import run
from hil.config import load_config
from hil.config.text_io import read_yaml
from hil.experiments.impact.experiment import ImpactExperiment

# The trial as a press and release: the sensors' couplings have a time constant that the sheet does not know.
QUICK = ("trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=1.5", "record.after_s=0.5")


@pytest.fixture(scope="module")
def pressed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pressed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ImpactExperiment, "draw", lambda *_: None)
        config = load_config("sim_impact", [*QUICK, "daq.droop_s=0.4", "telemetry.endpoint=''"], 3)
        run_experiment(config, folder, progress=lambda _: None, figure=False)
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


def with_inputs(kind):
    """A setting with inputs of one kind."""
    sensors = ("top", "lower_left", "lower_right")
    inputs = ", ".join(f"{{sensor: {name}, channel: Dev1/ai{at}, kind: {kind}}}" for at, name in enumerate(sensors))
    return f"devices.daq={{driver: ni, inputs: [{inputs}]}}"


def test_an_input_that_is_coupled_dc_has_no_time_constant_to_calibrate(monkeypatch, capsys):
    monkeypatch.setattr(sensor_calibration, "live_samples", lambda *_: np.zeros((30_000, 3)))
    assert run(["calibrate", "droop", "sim_wire", "--sensor", "top", "--set", with_inputs("voltage")]) == 2
    assert "top: its input is voltage, which is coupled DC: it has no droop to fit" in capsys.readouterr().err


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


@pytest.mark.slow
def test_file_that_is_no_sheet_is_left_alone(pressed, tmp_path, capsys):
    sheet = tmp_path / "notes.txt"
    sheet.write_text("buy tea")
    assert run(["calibrate", "zero", str(pressed), "--sensor", "top", "--sheet", str(sheet)]) == 2
    assert "nothing was written" in capsys.readouterr().err
    assert sheet.read_text() == "buy tea"


def test_folder_without_a_record_is_refused(tmp_path, capsys):
    assert run(["calibrate", "zero", str(tmp_path), "--sensor", "top"]) == 2
    assert "hil: " in capsys.readouterr().err


class LiveDaq:
    """A data acquisition whose sensors bear forces over time (s -> N); blocks of 2 ms, coupled with `droop_s`."""

    def __init__(self, force, lost=None, droop_s=0.4):
        self.force, self.lost, self.droop_s = force, lost, droop_s
        self.t_ns = self.taken = 0
        self.drooped = 0.0

    def device(self, role):
        assert role == "daq"
        return self

    def go_on(self):
        self.t_ns += 2_000_000
        return self.t_ns

    def open(self):
        pass

    def close(self):
        pass

    def health(self):
        return Health("NI-DAQ", True, 0, "")

    def read(self, t_ns):
        if (self.taken + 1) * 2_000_000 > t_ns:
            return None
        times = self.taken * 2_000_000 + np.arange(60, dtype=np.int64) * 33_333
        volts = np.random.default_rng(self.taken).normal(0.003, 0.0005, (60, 3))
        for row, t in zip(volts, times * 1e-9, strict=True):
            given = 11.3e-3 * self.force(t)
            self.drooped += (given - self.drooped) * (1.0 - math.exp(-1.0 / (30000 * self.droop_s)))
            row[0] += given - self.drooped
        self.taken += 1
        return DaqBlock(self.taken + (self.taken > (self.lost or math.inf)), times, volts, (False,) * 3, t_ns)


def calibrated_live(what, force, monkeypatch, capsys, *more, **true):
    """Exit status and output of a live calibration of the sensor `top`."""
    monkeypatch.setattr(sensor_calibration, "open_access", lambda config, *_: (LiveDaq(force, **true), config))
    status = run(["calibrate", *what, "sim_wire", "--sensor", "top", "--set", "daq.droop_s=0.4", "--json", *more])
    return status, capsys.readouterr()


def test_live_zero_is_the_reading_of_the_running_sensor(monkeypatch, capsys):
    status, said = calibrated_live(["zero", "--for", "1"], lambda _: 0.0, monkeypatch, capsys)
    assert status == 0
    assert json.loads(said.out)["offset_V"] == pytest.approx(0.003, abs=2e-5)


def test_live_time_constant_is_that_of_a_press_after_the_operator_was_asked_for_it(monkeypatch, capsys):
    status, said = calibrated_live(
        ["droop", "--for", "4"], lambda t: 80.0 if 1.2 < t < 1.8 else 0.0, monkeypatch, capsys
    )
    assert status == 0
    assert json.loads(said.out)["droop_s"] == pytest.approx(0.4, rel=0.02)
    assert said.err.index("nothing may touch") < said.err.index("now press")


def weights(t):
    return 40.0 if 1.1 < t < 1.9 else 80.0 if 2.4 < t < 3.2 else 0.0


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "true_s"), [("iepe_force", 1e9), ("bridge", 0.4), ("voltage", 0.4)])
def test_an_input_whose_coupling_is_not_that_of_the_config_is_found_by_the_weights(
    kind, true_s, monkeypatch, capsys, tmp_path
):
    sheet = tmp_path / "sheet.yaml"
    what = ["force", "--for", "4", "--weight", "40", "--weight", "80", "--sheet", str(sheet)]
    status, said = calibrated_live(what, weights, monkeypatch, capsys, "--set", with_inputs(kind), droop_s=true_s)
    assert status == 2
    assert "a held load fades by" in said.err
    assert not sheet.exists()


def test_live_sensitivity_is_that_of_the_weights(monkeypatch, capsys):
    what = ["force", "--for", "4", "--weight", "40", "--weight", "80"]
    status, said = calibrated_live(what, weights, monkeypatch, capsys)
    assert status == 0
    assert json.loads(said.out)["sensitivity_mVpN"] == pytest.approx(11.3, rel=0.01)


def test_live_calibration_from_samples_with_a_gap_is_refused(monkeypatch, capsys):
    status, said = calibrated_live(["zero", "--for", "1"], lambda _: 0.0, monkeypatch, capsys, lost=100)
    assert status == 2
    assert "NI-DAQ: 1 blocks of samples lost" in said.err


def test_live_zero_of_a_simulated_rig_needs_no_device(capsys):
    assert run(["calibrate", "zero", "sim_impact", "--sensor", "top", "--for", "1", "--json"]) == 0
    assert abs(json.loads(capsys.readouterr().out)["offset_V"]) < 1e-4
