"""Juno with its rods, from config to record: the loops are closed in every tick, for plant, twin and replay."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.run import run_experiment
from hil.config import ConfigError, load_config
from hil.config.model_parameters import nominal_rig
from hil.recording import read_trial

SHORT = ("drive.steps=[{for_s: 0.6, speed_mps: 0.2}]", "telemetry.endpoint=''")


@pytest.mark.slow
def test_a_drive_over_a_flank_is_recorded_verified_and_replayed_with_its_loops_closed(tmp_path):
    config = load_config("sim_juno_exact", SHORT)
    summary = run_experiment(config, tmp_path, progress=lambda _: None, figure=False).summary
    assert summary["accepted"], summary["reasons"]
    assert [check for check in verify(tmp_path) if not check.ok] == []
    assert replay(tmp_path).differences == []
    rover, angles = config.rover_model(), read_trial(tmp_path, trusted=True).tick["joint_angle_rad"][-1]
    recorded = dict(zip(config.layout.turning, angles.tolist(), strict=True))
    q = rover.neutral()
    q[7] = recorded["left_rocker"]
    assert abs(q[7]) > 0.01
    closed = dict(zip(rover.tree_joint_names, rover.tree_configuration(q)[7:], strict=True))
    for name in ("right_rocker", "transverse_pivot", "left_rod_swing", "right_rod_sway"):
        assert recorded[name] == pytest.approx(closed[name], abs=1e-5)


def test_a_gearbox_limits_the_torque_and_adds_its_rotor_by_the_square_of_its_ratio():
    def drive(*settings: str):
        return nominal_rig(
            load_config("sim_juno", ["drives.torque_limit_Nm=400", "drives.gear_friction_Nm=10", *settings])
        ).drive

    low, high = (drive(f"drives.gearbox={{ratio: {ratio}}}") for ratio in (129, 32))
    assert low.torque_limit == pytest.approx(129 * 0.8 * 3.0)
    assert low.torque_limit / high.torque_limit == pytest.approx(129 / 32)
    assert low.rotor_inertia / high.rotor_inertia == pytest.approx((129 / 32) ** 2)
    assert drive("drives.gearbox={ratio: 200}").torque_limit == 400.0
    assert drive().rotor_inertia == 0.0


def test_by_duty_the_motor_is_that_behind_the_gear():
    drive = nominal_rig(load_config("sim_drawbar", ["drives.gearbox={ratio: 100, efficiency: 0.5}"])).drive
    assert drive.motor is not None
    assert drive.motor.stall_torque == pytest.approx(100 * 0.5 * 12.0)
    assert drive.motor.no_load_speed == pytest.approx(3.14)


def test_a_speed_at_which_a_motor_has_not_its_torque_any_more_is_refused_in_words():
    with pytest.raises(ConfigError, match=r"limits.wheel_speed_radps.*found 1 rad/s.*allowed: up to 0.7064 rad/s"):
        load_config("sim_juno", ["drives.gearbox={no_load_radps: 121.5}"])


def test_a_rotor_behind_a_gear_is_an_inertia_of_the_axle():
    """On ground without a hold: the same torque turns the axle by less."""
    from models.actuators.drive import Drive, drive_axle, make_drives
    from models.rover import rcp
    from models.rover.dynamics import make_work

    work, state = make_work(rcp().chain), make_drives(6)
    drive = Drive(200.0, 0.0, 40.0, 0.0, 0.02, 0.5, 40.0, 0.0)
    v, dt, axle = np.zeros(15), 1e-3, 8
    drive_axle(drive, state, 0, axle, v, dt, work)
    without = work.mass_matrix[axle, axle]
    drive_axle(drive._replace(rotor_inertia=2.5), state, 0, axle, v, dt, work)
    assert work.mass_matrix[axle, axle] - 2.0 * without == pytest.approx(2.5)
