"""A trial with bumpers, from the shipped config to the files written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hil.analysis.recorded_inputs import RecordedInputs
from hil.app.run import run_experiment
from hil.cli import run
from hil.config import load_config
from hil.config.text_io import read_yaml
from hil.recording import read_trial

QUICK = ("trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5")
CONFIG = load_config("bumper", ["rig=simulated", "clock=lockstep", "telemetry.endpoint=''", *QUICK], seed=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bumper")
    assert run_experiment(CONFIG, folder, progress=lambda _: None, figure=False).exit_code == 0
    return folder


def test_it_is_accepted_cut_and_without_a_load_point(folder: Path) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["accepted"], summary["reasons"]
    assert summary["load_point_m"] is None
    assert summary["cut_latency_ms"] <= CONFIG.daq.block_ms + 1.0


def test_both_bumpers_together_see_the_contact_force_of_both_wheels(folder: Path) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["peak_force_N"] == pytest.approx(summary["contact_force_peak_N"], rel=0.05)  # the shield rings
    raw = read_trial(folder, trusted=True).raw
    assert raw.shape[1] == 2
    left, right = raw.max(axis=0) / np.array(CONFIG.sensitivities_mVpN) * 1e3
    assert left == pytest.approx(right, rel=0.1)
    assert left == pytest.approx(0.5 * summary["contact_force_peak_N"], rel=0.1)


def test_the_record_has_two_channels(folder: Path) -> None:
    record = read_trial(folder, trusted=True)
    forces = record.tick["force_N"]
    assert forces.shape[1] == 2
    np.testing.assert_array_equal(forces.sum(axis=1), record.tick["force_sum_N"])
    assert np.isnan(record.tick["load_point_m"]).all()
    assert not record.blocks["overload"].any()


def test_the_record_keeps_the_calibration(folder: Path) -> None:
    sheets, _ = read_yaml(str(read_trial(folder, trusted=True).meta["calibration"]), "meta")
    assert set(sheets) == {"front_left", "front_right"}
    assert sheets["front_left"]["serial"] == "unknown"


def test_a_replay_hands_out_blocks_of_two_channels(folder: Path) -> None:
    record = read_trial(folder, trusted=True)
    recorded_inputs = RecordedInputs(record, record.tick, CONFIG.layout)
    recorded_inputs.seek(len(record.tick) - 1)
    block = recorded_inputs.devices.sample(0).blocks[0]
    assert block.values.shape == (CONFIG.daq.block_samples, 2)
    assert block.overload == (False, False)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["verify", "replay"])
def test_the_record_is_whole_and_replays_to_the_same_bits(command: str, folder: Path) -> None:
    assert run([command, str(folder)]) == 0
