"""A crossing whose motion is measured: readings against the simulated rig's own motion, and what comes of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hil.app.run import run_experiment
from hil.config import load_config
from hil.messages.stages import SOURCE_STATES
from hil.recording import read_trial
from hil.signals.alignment import new_readings
from hil.simulator.ground_truth import GroundTruth
from models.gravity import EARTH_GRAVITY
from models.plant.motion_history import PITCH, ROLL, TIME, YAW, X, Z

NOISE_M, NOISE_RAD, NOISE_MPS2, NOISE_RADPS = 2e-4, 5e-4, 0.02, 1e-3
INSTRUMENTS = (
    f"motion={{rate_hz: 100, delay_ms: 0, noise_m: {NOISE_M}, noise_deg: {np.degrees(NOISE_RAD)}, "
    "point_m: [0.1, 0.0, 0.4], bias_m: 0}",
    f"imu={{rate_hz: 200, delay_ms: 0, noise_mps2: {NOISE_MPS2}, noise_radps: {NOISE_RADPS}, point_m: [0, 0, 0], "
    "bias_mps2: 0, bias_radps: 0}",
    "joints={rate_hz: 50, delay_ms: 0, noise_deg: 0.05, frozen_readings: 20, encoders: [{joint: left_bogie}, "
    "{joint: right_bogie}, {joint: rear_bogie}]}",
)


@pytest.fixture(scope="module")
def climbed(tmp_path_factory):
    """A climb of the front wheels, measured: its record, its summary and the ground truth."""
    folder = tmp_path_factory.mktemp("climbed")
    quick = ("telemetry.endpoint=''", "ground.profile.height_m=0.04", "crossing.speed_mps=0.12", "crossing.timeout_s=5")
    summary = run_experiment(load_config("sim_step", [*quick, *INSTRUMENTS]), folder, lambda _: None).summary
    record = read_trial(folder)
    return record, summary, GroundTruth.recorded(record.events)


@pytest.mark.slow
def test_a_pose_read_in_a_crossing_is_that_of_the_simulated_rig(climbed):
    record, _, ground_truth = climbed
    readings = new_readings(record.tick[:], "motion")
    near = np.abs(readings.t_s[:, None] - ground_truth.motion[:, TIME]).argmin(axis=0)
    same = np.abs(readings.t_s[near] - ground_truth.motion[:, TIME]) < 1e-6
    rows, values = ground_truth.motion[same], readings.values[near[same]]
    assert len(rows) > 30
    turn = Rotation.from_euler("ZYX", rows[:, [YAW, PITCH, ROLL]])
    place = rows[:, X : Z + 1] + turn.apply((0.1, 0.0, 0.4))
    off = values[:, :3] - place
    assert np.abs(off).max() < 5.0 * NOISE_M
    assert off.std() == pytest.approx(NOISE_M, rel=0.25)
    assert (Rotation.from_quat(values[:, 3:]) * turn.inv()).magnitude().max() < 6.0 * NOISE_RAD
    assert np.ptp(np.degrees(rows[:, PITCH])) > 1.0  # the front wheels are up


@pytest.mark.slow
def test_an_imu_read_in_a_crossing_integrates_to_the_change_of_pitch_and_of_velocity(climbed):
    """Independent of the plant's own velocity: its places and turns are differentiated, the readings are summed."""
    record, _, ground_truth = climbed
    readings, motion = new_readings(record.tick[:], "imu"), ground_truth.motion
    turns = Rotation.from_quat(record.tick["pose"][readings.rows, 3:])
    step_s = np.diff(readings.t_s, prepend=readings.t_s[0])[:, None]
    velocity = np.cumsum((turns.apply(readings.values[:, :3]) + EARTH_GRAVITY) * step_s, axis=0)
    pitch = np.cumsum(readings.values[:, 4] * step_s[:, 0])
    at = np.searchsorted(readings.t_s, motion[1:-1, TIME] + 1e-6) - 1
    true = (motion[2:, X : Z + 1] - motion[:-2, X : Z + 1]) / (motion[2:, TIME] - motion[:-2, TIME])[:, None]
    gained, changed = velocity[at] - velocity[at[0]], true - true[0]
    smooth = np.abs(np.diff(changed, axis=0, append=changed[-1:])).max(axis=1) < 0.02  # a chord is no tangent at a hit
    assert smooth.sum() > 20
    assert np.abs((gained - changed)[smooth][:, [0, 2]]).max() < 0.03
    off = pitch[at] - pitch[at[0]] - (motion[1:-1, PITCH] - motion[1, PITCH])
    assert np.abs(off).max() < 0.1 * np.ptp(motion[:, PITCH])


@pytest.mark.slow
def test_the_observer_follows_a_climb_by_all_instruments_and_is_held_against_the_ground_truth(climbed):
    record, summary, ground_truth = climbed
    assert summary["truth_check"]["by"] == "simulated rig"
    assert all(one["ok"] for one in summary["truth_check"]["values"])
    ticks = record.tick[:]
    at = np.searchsorted(ticks["t_ns"] * 1e-9, ground_truth.motion[:, TIME] - 1e-6).clip(0, len(ticks) - 1)
    off = ticks["pose"][at, :3] - ground_truth.motion[:, X : Z + 1]
    assert np.abs(off[:, [0, 2]]).max() < 0.002
    lost = np.isin(ticks["source"], [SOURCE_STATES.index("left_out"), SOURCE_STATES.index("stale")])
    assert not lost[len(ticks) // 10 :].any()
