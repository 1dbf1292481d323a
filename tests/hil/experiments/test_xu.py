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
from models.plant import Spread
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


WHOLE = {
    "rover.xu.wing_mass_kg": 2.0,
    "rover.xu.antenna_mass_kg": 3.0,
    "rover.xu.mast_mass_kg": 4.0,
    "servos.joints": {"steering": {"range_deg": [-90, 90]}, "mast_pan": {"rate_degps": 60.0}},
    "stimulus.table": "time_s,mast_pan_deg,speed_mps\n0,0,0\n0.5,20,0\n0.8,20,0.03\n1,20,0\n",
    "telemetry.endpoint": "",
}


@pytest.mark.slow
def test_a_mast_turns_by_its_servo_and_is_recorded_verified_and_replayed(tmp_path):
    summary = run_experiment(load_config("sim_xu", WHOLE), tmp_path, progress=lambda _: None, figure=False).summary
    assert summary["accepted"], summary["reasons"]
    assert [check for check in verify(tmp_path) if not check.ok] == []
    assert replay(tmp_path).differences == []
    record = read_trial(tmp_path, trusted=True)
    mast = summary["joints"].index("mast_pan")
    assert np.degrees(record.tick["servo_angle_rad"][-1, mast]) == pytest.approx(20.0, abs=0.2)


def test_parts_that_xus_rover_does_not_have_are_not_driven_and_leave_its_fingerprint():
    bare, sized = load_config("sim_xu"), load_config("sim_xu", {"rover.xu.mast_height_m": 0.8})
    assert bare.sha256() == sized.sha256()
    assert "mast" not in str(bare.model_dump(mode="json")["rover"])
    without = {key: value for key, value in WHOLE.items() if "mast_mass" not in key}
    with pytest.raises(ConfigError, match=r"servos\.joints.*mast_pan.*front_left_wing.*antenna_tilt"):
        load_config("sim_xu", without)
    locked = load_config("sim_xu", {"rover.xu.wing_mass_kg": 2.0, "rover.locks": {"wing": -90.0}})
    wings = [joint.locked_at for joint in locked.rover_model().tree.joints if joint.kind == "wing"]
    assert wings == pytest.approx([-0.5 * np.pi] * 4)


def test_a_simulated_rig_draws_its_masses_as_before_where_a_part_is_missing():
    """A mass that is null is not drawn; the others keep their place in the order."""
    spread = Spread(0.1, 0.0, 0.0, 0.0, 0.0)
    bare, winged = (
        Rig(load_config("sim_xu", more)).nominal.perturbed(spread, np.random.default_rng(3)).rover
        for more in ({}, {"rover.xu.wing_mass_kg": 2.0})
    )
    assert (bare.wing_mass, bare.mast_mass) == (None, None)
    assert (bare.body_mass, bare.steer_mass) == (winged.body_mass, winged.steer_mass)
    assert winged.wing_mass not in (None, 2.0)
