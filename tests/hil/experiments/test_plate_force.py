"""A crossing whose step is a plate on force sensors: from config to record, judged, verified and replayed."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pinocchio
import pytest
from scipy.spatial.transform import Rotation

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.run import run_experiment
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.crossing.judgement import Course
from hil.experiments.crossing.plate_force import _risen_N, plate_reasons, static_load_checks
from hil.recording import read_trial
from hil.simulator.ground_truth import GroundTruth
from tests.models.conftest import Peer

QUICK = (
    "telemetry.endpoint=''", "crossing.settle_s=0.1", "ground.profile.start_m=0.03", "crossing.past_m=0",
    "crossing.speed_mps=0.12", "ground.profile.height_m=0.05", "plant.spread.mass=0",
)  # fmt: skip
SLOPE = (
    "ground.profile={shape: slope, start_m: 0.03, plate: {face: 2}, "
    "faces: [{length_m: 0.2, angle_deg: 15}, {length_m: 0.2, angle_deg: 30}]}"
)
ON_TOP = "ground.profile.plate={face: 2, from_m: 0.1, length_m: 0.4}"


@pytest.fixture(scope="module")
def climbed(tmp_path_factory):
    """A climb of all axles over a plate that is the step's face."""
    folder = tmp_path_factory.mktemp("climbed")
    return folder, run_experiment(load_config("sim_step_plate", QUICK), folder, lambda _: None).summary


@pytest.mark.slow
def test_a_crossing_of_a_plate_is_accepted_recorded_verified_and_replayed(climbed):
    folder, summary = climbed
    assert summary["accepted"], summary["reasons"]
    assert [check for check in verify(folder) if not check.ok] == []
    assert replay(folder).differences == []
    assert (folder / "crossing.png").stat().st_size > 10_000


@pytest.mark.slow
def test_each_axle_that_hits_the_plate_has_its_time_energy_and_force(climbed):
    folder, summary = climbed
    assert summary["plate_hit_axle"] == ["front", "middle", "rear"]
    assert all(force > 50.0 for force in summary["plate_hit_force_N"])
    ticks = read_trial(folder, trusted=True).tick
    t_s, total = ticks["t_ns"] * 1e-9, ticks["force_sum_N"]
    for at_s in summary["plate_hit_s"]:  # before it the plate is empty, soon after it is not
        before, after = (t_s > at_s - 0.3) & (t_s < at_s - 0.1), (t_s > at_s) & (t_s < at_s + 0.2)
        assert np.abs(total[before]).max() < 5.0 < total[after].max()


@pytest.mark.slow
def test_the_energy_of_the_first_hit_is_that_of_another_program_and_of_the_simulated_rig(climbed):
    """T_c (MacMahon 2016 (3.27)) by Pinocchio's mass matrix, of both front wheels, the rover level."""
    folder, summary = climbed
    rover = Rig(load_config("sim_step_plate", QUICK)).nominal.make_rover()
    inertia = _inertia_kg(rover, rover.neutral(), 0.5 * math.pi, ("front_left", "front_right"))
    energy_J = 0.5 * inertia * GroundTruth.recorded(read_trial(folder).events).hit_speed ** 2
    assert summary["plate_hit_energy_true_J"] == pytest.approx(energy_J, rel=0.02)
    assert summary["plate_hit_energy_J"][0] == pytest.approx(energy_J, rel=0.02)


def _inertia_kg(rover, q, angle, axle):
    """Effective inertia of the wheels of an axle, that move alike along a plate's normal, by Pinocchio."""
    peer = Peer(rover)
    mass, frame = peer.mass_matrix(q), pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
    pinocchio.computeJointJacobians(peer.model, peer.data, peer.q(q))
    joints = [
        int(peer.model.frames[peer.model.getFrameId(one.body, pinocchio.FrameType.BODY)].parentJoint)
        for one in (rover.tree.wheels[rover.wheel_names.index(name)] for name in axle)
    ]
    toward = math.sin(angle), 0.0, -math.cos(angle)
    rows = [toward @ pinocchio.getJointJacobian(peer.model, peer.data, one, frame)[:3] for one in joints]
    return np.linalg.inv(np.array(rows) @ np.linalg.solve(mass, np.array(rows).T)).sum()


@pytest.fixture(scope="module")
def sloped(tmp_path_factory):
    """A climb over a compound slope (MacMahon 2016, App. C.3) whose second face is the plate."""
    folder = tmp_path_factory.mktemp("sloped")
    config = load_config("sim_step_plate", [*QUICK, SLOPE])
    return folder, run_experiment(config, folder, lambda _: None).summary


@pytest.mark.slow
def test_a_compound_slope_with_a_plate_is_accepted_recorded_verified_and_replayed(sloped):
    folder, summary = sloped
    assert summary["accepted"], summary["reasons"]
    assert [check for check in verify(folder) if not check.ok] == []
    assert replay(folder).differences == []
    assert (folder / "crossing.png").stat().st_size > 10_000


@pytest.mark.slow
def test_each_axle_hits_the_second_face_of_a_slope_with_the_speed_of_a_rolling_wheel(sloped):
    """v sin(30 deg - 15 deg) for a wheel that rolls up the first face with v, and the inertia of another program."""
    folder, summary = sloped
    rig = Rig(load_config("sim_step_plate", [*QUICK, SLOPE]))
    course, ticks = Course(rig.nominal), read_trial(folder, trusted=True).tick
    assert summary["plate_hit_axle"] == ["front", "middle", "rear"]
    for number, axle in enumerate(course.rover.axles()):
        at = int(np.searchsorted(ticks["t_ns"], round(summary["plate_hit_s"][number] * 1e9))) - 1
        row, wheel = ticks[at], course.rover.wheel_names.index(axle[0])
        # an encoder measures against the leg: front and middle wheels' ones pitch with the side bogie
        pitch = Rotation.from_quat(ticks["pose"][at - 20 : at + 1, 3:]).as_euler("ZYX")[:, 1]
        pitch = pitch + (ticks["joint_angle_rad"][at - 20 : at + 1, 0] if number < 2 else 0.0)
        spin_radps = row["wheel_speed_radps"][wheel] + (pitch[-1] - pitch[0]) * rig.rate_hz / 20
        rolled_mps = spin_radps * rig.config.wheel_radii_m[wheel] * (1.0 - row["slip"][wheel])
        q = course.configuration(row["pose"], rig.layout.turning, row["joint_angle_rad"])
        inertia = _inertia_kg(course.rover, q, math.radians(30.0), axle)
        known_J = 0.5 * inertia * (rolled_mps * math.sin(math.radians(15.0))) ** 2
        assert summary["plate_hit_energy_J"][number] == pytest.approx(known_J, rel=0.02), axle


def test_a_hit_has_the_rise_of_the_force_where_another_axle_has_left_just_before():
    t_s = np.arange(2000) * 1e-3
    total = np.where(t_s < 0.9, 400.0, np.where(t_s < 1.0, 0.0, 350.0))
    assert _risen_N(t_s, total, 1.0) == pytest.approx(350.0)
    assert _risen_N(t_s, np.where(t_s < 1.0, 60.0, 350.0), 1.0) == pytest.approx(290.0)


def test_standing_wheels_that_leave_the_range_of_a_sensor_are_refused_at_arming():
    rig = Rig(load_config("sim_step_plate", [ON_TOP, "limits.sensor_force_N=100"]))
    checks = static_load_checks(rig)
    assert [check.ok for check in checks] == [False, False, False]
    # somewhere a wheel stands over each sensor, which then bears all of it
    largest_N = max(rig.resting_loads_N[wheel] for wheel, name in enumerate(rig.layout.wheels) if "right" in name)
    assert f"{largest_N:.0f} N" in checks[0].found
    assert "limits.sensor_force_N" in checks[0].allowed
    small = Rig(load_config("sim_step_plate", [ON_TOP, "daq.range_V=0.3"]))
    assert [check.ok for check in static_load_checks(small)] == [False, False, False]
    assert all(check.ok for check in static_load_checks(Rig(load_config("sim_step_plate", [ON_TOP]))))
    assert all(check.found.startswith("0 N") for check in static_load_checks(Rig(load_config("sim_step_plate"))))


@pytest.mark.parametrize(
    ("saturated", "hits", "left_N", "reasons"),
    [
        (False, 3, 1.0, []),
        (True, 3, 1.0, ["end of its range"]),
        (False, 2, 1.0, ["2 of 3 axles"]),
        (False, 3, -20.0, ["20.0 N were left"]),
        (True, 1, 20.0, ["end of its range", "1 of 3 axles", "20.0 N were left"]),
        (False, 3, None, []),
    ],
)
def test_a_crossing_is_not_accepted_where_the_sensors_have_not_measured_it(saturated, hits, left_N, reasons):
    config = load_config("sim_step_plate")
    cycle = SimpleNamespace(tick_logger=SimpleNamespace(saturated=saturated), safety=SimpleNamespace(warnings=[]))
    course = Course(Rig(config).nominal)
    run = SimpleNamespace(cycle=cycle, config=config)
    found = plate_reasons(run, course, {"plate_hit_s": [1.0] * hits, "plate_left_N": left_N, "plate_peak_N": 400.0})
    assert len(found) == len(reasons)
    assert all(words in reason for words, reason in zip(reasons, found, strict=True))
    assert plate_reasons(run, course, {}) == []
