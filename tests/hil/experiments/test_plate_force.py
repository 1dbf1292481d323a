"""A crossing whose step is a plate on force sensors: from config to record, judged, verified and replayed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pinocchio
import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.run import run_experiment
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.crossing.judgement import Course
from hil.experiments.crossing.plate_force import plate_reasons, static_load_checks
from hil.recording import read_trial
from hil.simulator.ground_truth import GroundTruth

QUICK = (
    "telemetry.endpoint=''", "crossing.settle_s=0.1", "ground.profile.start_m=0.03", "crossing.past_m=0",
    "crossing.speed_mps=0.12", "ground.profile.height_m=0.05", "plant.spread.mass=0",
)  # fmt: skip
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
    model = pinocchio.buildModelFromXML(rover.urdf(), pinocchio.JointModelFreeFlyer())
    data, q = model.createData(), pinocchio.neutral(model)
    mass = pinocchio.crba(model, data, q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    pinocchio.computeJointJacobians(model, data, q)
    wheels = [rover.tree.wheels[rover.wheel_names.index(name)] for name in ("front_left", "front_right")]
    rows = [
        pinocchio.getJointJacobian(
            model, data, _joint_of(model, wheel.body), pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )[0]
        for wheel in wheels
    ]
    inertia = np.linalg.inv(np.array(rows) @ np.linalg.solve(mass, np.array(rows).T)).sum()
    ground_truth = GroundTruth.recorded(read_trial(folder).events)
    energy_J = 0.5 * inertia * ground_truth.hit_speed**2
    assert summary["plate_hit_energy_true_J"] == pytest.approx(energy_J, rel=0.02)
    assert summary["plate_hit_energy_J"][0] == pytest.approx(energy_J, rel=0.02)


def _joint_of(model: pinocchio.Model, body: str) -> int:
    return int(model.frames[model.getFrameId(body, pinocchio.FrameType.BODY)].parentJoint)


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
