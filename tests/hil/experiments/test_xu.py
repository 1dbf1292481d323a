"""Xu's rover on his wheels, under Mars's gravity, from config to record."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.run import run_experiment
from hil.config import ConfigError, load_config
from hil.config.loading import shipped_files
from hil.config.rig import Rig
from hil.recording import read_trial
from tools.make_rough_ground import SEED, START_M, csv_text, points

SHORT = {
    "stimulus.table": "time_s,front_left_steering_deg,speed_mps\n0,0,0\n0.2,3,0.05\n0.5,3,0.05\n0.8,3,0\n",
    "telemetry.endpoint": "",
}


@pytest.mark.slow
def test_an_arc_over_rough_ground_is_recorded_verified_and_replayed(tmp_path):
    config = load_config("sim_xu", SHORT)
    summary = run_experiment(config, tmp_path, progress=lambda _: None, figure=False).summary
    assert summary["accepted"], summary["reasons"]
    assert [check for check in verify(tmp_path) if not check.ok] == []
    assert replay(tmp_path).differences == []
    assert read_trial(tmp_path, trusted=True).tick["slip"][-1].shape == (6,)


@pytest.mark.slow
def test_gravity_is_that_of_the_config_in_the_twin():
    rig = Rig(load_config("sim_xu"))
    rover, vehicle, state = rig.nominal.build()
    assert state.ground.vertical.sum() == pytest.approx(3.72 * rover.mass, rel=0.02)
    assert vehicle.gravity.tolist() == [0.0, 0.0, -3.72]
    assert np.abs(state.ground.sinkage - 0.021).max() < 0.004


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings", "key"),
    [
        ("sim_xu", ("soil.peak_offset=0.9", "soil.peak_slope=0.2"), "soil.peak_slope"),
        ("sim_motion", ("ground.gravity_mps2=3.72", "imu={}"), "ground.gravity_mps2"),
        ("mars_dome", ("ground.gravity_mps2=3.72",), "ground.gravity_mps2"),
        ("sim_xu", ("ground.gravity_mps2=0",), "ground.gravity_mps2"),
        ("sim_xu", ("soil.rut=remembered",), "soil.rut"),
    ],
)
def test_what_does_not_go_together_is_refused_by_its_key(name, settings, key):
    with pytest.raises(ConfigError, match=key):
        load_config(name, settings)


def test_the_rough_ground_is_what_its_tool_writes():
    assert shipped_files("sim_xu")["scans/rough.csv"] == csv_text(SEED)
    ground = points(SEED)
    assert np.abs(ground[:, :2].mean(axis=0) - START_M).max() < 0.8
    assert 0.01 < ground[:, 2].std() < 0.05
