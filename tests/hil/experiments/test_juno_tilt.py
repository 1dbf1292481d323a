"""Juno's chassis tilted and a wheel raised, as runs of a rig: what docs/reproduce/juno.md says of both."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hil.app.run import run_experiment
from hil.config import load_config
from hil.recording import read_trial

pytestmark = pytest.mark.slow
FLAT = {"telemetry.endpoint": "", "ground.kind": "soil", "ground.scan": None}
TILT = {
    "experiment": "stimulus", "servos": {"joints": {"tilt": {}}, "torque_limit_Nm": 600},
    "stimulus.table": "time_s,chassis_tilt_deg\n0,0\n0.1,0\n0.9,-10\n1.3,-10\n",
}  # fmt: skip


def made(folder, changes):
    """Config, summary, first and last tick of a run."""
    config = load_config("sim_juno_exact", FLAT | changes)
    summary = run_experiment(config, folder, progress=lambda _: None, figure=False).summary
    ticks = read_trial(folder, trusted=True).tick
    return config, summary, ticks[1], ticks[-1]


def com_ahead_mm(config, row):
    """The centre of mass ahead of the middle of the wheels."""
    rover = config.rover_model()
    angles = dict(zip(config.layout.turning, row["joint_angle_rad"].tolist(), strict=True))
    q = rover.neutral()
    q[:7] = row["pose"]
    q[3:7] /= np.linalg.norm(q[3:7])
    q[7:] = [angles.get(name, 0.0) for name in rover.joint_names]
    M, turn = rover.mass_matrix(q), Rotation.from_quat(q[3:7])
    first = np.array([M[1, 5] - M[2, 4], M[2, 3] - M[0, 5], M[0, 4] - M[1, 3]]) / 2.0
    return 1e3 * float((q[:3] + turn.apply(first / M[0, 0]) - rover.wheel_positions(q).mean(axis=0))[0])


@pytest.fixture(scope="module")
def tilt(tmp_path_factory):
    return made(tmp_path_factory.mktemp("tilt"), TILT)


def test_the_chassis_tilted_by_10_degrees_moves_the_centre_of_mass_and_loads_the_rear_wheels(tilt):
    config, summary, level, tilted = tilt
    assert summary["accepted"], summary["reasons"]
    assert com_ahead_mm(config, tilted) - com_ahead_mm(config, level) == pytest.approx(-9.9, abs=0.2)
    before, after = (row["normal_force_N"].reshape(2, 2).sum(axis=1) for row in (level, tilted))
    assert before == pytest.approx([1488.0, 1629.0], abs=5.0)  # front and rear, by the twin
    assert after == pytest.approx([1452.0, 1665.0], abs=5.0)


@pytest.mark.soak
def test_a_wheel_raised_by_100_mm_lifts_the_chassis_by_a_quarter_and_leaves_the_loads_of_both_sides(tilt, tmp_path):
    steps = [{"for_s": 0.1, "speed_mps": 0.01}]
    _, summary, row, _ = made(tmp_path, {"ground.wheel_height_m": [0.1, 0, 0, 0], "drive.steps": steps})
    assert summary["accepted"], summary["reasons"]
    assert row["pose"][2] - tilt[2]["pose"][2] == pytest.approx(0.0257, abs=2e-4)
    roll = Rotation.from_quat(row["pose"][3:7]).as_euler("ZYX")[2]
    assert roll == pytest.approx(0.05 / 1.2, rel=0.02)
    loads = row["normal_force_N"]
    assert loads[[0, 2]].sum() / loads.sum() == pytest.approx(0.496, abs=0.002)


@pytest.mark.soak
@pytest.mark.parametrize(("ratio", "least_m", "most_m"), [(129, 0.01, 0.1), (32, -0.005, 0.005)])
def test_the_low_gear_climbs_5_degrees_and_the_high_one_does_not(ratio, least_m, most_m, tmp_path):
    slope = {"ground.pitch_deg": 5, "drives.gearbox.ratio": ratio, "drive.steps": [{"for_s": 0.5, "speed_mps": 0.2}]}
    _, summary, *_ = made(tmp_path, slope)
    assert least_m < summary["way_m"] < most_m
