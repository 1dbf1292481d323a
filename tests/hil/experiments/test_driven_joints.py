"""A rig with driven joints in virtual time: angles out and in, in record, replay and verify; faults end it in Safe."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.faults.joint_cases import servo_cases
from hil.app.run import run_experiment
from hil.config import load_config
from hil.experiments.stimulus import StimulusState
from hil.recording import read_trial

pytestmark = pytest.mark.slow
SWING = (
    "experiment=stimulus", "telemetry.endpoint=''", "daq=null", "residuals.calibration=null",
    "servos={joints: {walking: {start_deg: 5}}}",
    r'stimulus.table="time_s,speed_mps,walking_deg,rear_left_walking_deg\n0,0,5,5\n0.5,0.02,5,5\n1.3,0.02,11,8\n1.6,0,11,8\n"',
)  # fmt: skip


@pytest.fixture(scope="module")
def swing(tmp_path_factory):
    folder = tmp_path_factory.mktemp("swing")
    outcome = run_experiment(load_config("sim_impact", list(SWING)), folder, progress=lambda _: None, figure=False)
    return folder, outcome.summary, read_trial(folder, trusted=True).tick


def test_legs_follow_the_table_while_the_rover_drives(swing):
    _, summary, ticks = swing
    assert summary["reasons"] == []
    assert summary["joints"] == [f"{wheel}_walking" for wheel in summary["wheels"]]
    assert max(summary["joint_error_rms_deg"]) < summary["joint_error_largest_deg"] < 1.0
    rows = ticks[ticks["state"] == StimulusState.PLAY]
    t_s = (rows["t_ns"] - rows["t_ns"][0]) * 1e-9
    wanted = np.radians(np.interp(t_s, [0.0, 0.5, 1.3, 1.6], [5.0, 5.0, 11.0, 11.0]))
    # corners are rounded by rate^2/(2 acceleration), 0.28 deg
    assert np.abs(np.degrees(rows["set_servo_angle_rad"][:, 0] - wanted)).max() < 0.3
    assert np.abs(np.degrees(rows["servo_angle_rad"][:, 0] - wanted)).max() < 1.0
    assert np.degrees(ticks["servo_angle_rad"][-1]) == pytest.approx([11.0] * 4 + [8.0, 11.0], abs=0.3)
    assert ticks["clamped"][-1] == 0
    assert not ticks["servos_cut"][1:].any()


def test_the_twin_turns_the_joints_as_they_were_measured(swing):
    ticks = swing[2]
    assert np.abs(ticks["joint_angle_rad"][:, 3:] - ticks["servo_angle_rad"]).max() < np.radians(0.25)
    assert (ticks["normal_force_N"][100:].sum(axis=1) > 1000.0).all()


def test_before_the_start_and_after_the_end_the_legs_hold(swing):
    ticks = swing[2]
    idle = ticks[ticks["state"] < StimulusState.PLAY]
    assert len(set(idle["set_servo_angle_rad"][1:, 0].tolist())) == 1
    assert np.degrees(np.ptp(idle["servo_angle_rad"], axis=0)).max() < 0.2


def test_the_run_is_replayed_bit_for_bit_and_verified(swing):
    assert replay(swing[0]).differences == []
    assert [check for check in verify(swing[0]) if not check.ok] == []


@pytest.mark.parametrize("case", list(servo_cases()), ids=lambda case: case.fault)
def test_a_fault_of_a_joint_ends_in_safe_with_the_servos_cut(case):
    outcome = case.result().outcome
    assert outcome.wrong == ()
    assert outcome.detected_ms is not None
