"""The ballast of a rover that crosses a shape: terrain angles, where it goes, a run with it beside one without."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.run import run_experiment
from hil.config import ConfigError, load_config
from hil.config.rig import Rig
from hil.control.ballast import BallastControl, steepest_angles
from hil.experiments.crossing.judgement import Course
from hil.recording import read_trial
from models.rover.fittings import BALLAST
from models.statics import least_friction, stand
from models.vehicle.model import start_configuration

FITTED = [
    "rover.ballast={mass_kg: 25, stroke_m: 0.4}",
    "servos={slides: {ballast: {range_mm: [-350, 350], rate_mmps: 200, follow_mm: 20}}}",
    "telemetry.endpoint=''",
]
RCP = [*FITTED, "rover.type=rcp", "ground.profile.start_m=0.1"]
MOVES = "crossing.moves_ballast=true"
STEP = np.array([[-99.0, 0.0], [1.0, 0.0], [1.0, 0.1], [99.0, 0.1]])


def test_a_wheel_meets_the_edge_of_a_step_at_the_angle_of_its_height_and_sees_it_before():
    radius = 0.175
    touch, steepest = 1.0 - math.sqrt(radius**2 - 0.075**2), math.acos(0.075 / 0.175)
    for ahead in (0.0, 0.3):
        begin, angles = steepest_angles(STEP, radius, ahead)
        seen = begin + 0.002 * int(np.argmax(np.array(angles) > 1.0))
        assert seen == pytest.approx(touch - ahead, abs=0.003)
        assert max(angles) == pytest.approx(steepest, abs=0.02)
        assert (angles[0], angles[-1]) == (0.0, 0.0)


def control(*overrides):
    rig = Rig(load_config("sim_step", [*RCP, MOVES, *overrides]))
    course = Course(rig.nominal)
    return rig, course, BallastControl(rig, course.rover, course.line)


def at(course, pose):
    return pose, course.each_axle_m(pose)


def pose_at(x, rise=0.0):
    return (x, 0.0, 0.0, 0.0, -math.sin(0.5 * rise), 0.0, math.cos(0.5 * rise))


def test_the_ballast_stands_where_level_ground_loads_the_wheels_evenly_and_uphill_on_a_slope():
    rig, course, ballast = control("ground.profile.start_m=9", "servos.slides.ballast.range_mm=[-390, 390]")
    rover = course.rover
    for rise in (0.0, math.radians(2.0)):
        wanted = ballast.wanted_m(*at(course, pose_at(0.0, rise)))
        q = start_configuration(rover, rig.nominal.servos)
        q[:7] = pose_at(0.0, rise)
        spread = []
        for way in (wanted - 0.02, wanted, wanted + 0.02):
            q[7 + rover.joint_names.index(BALLAST)] = way
            normal = (-math.sin(rise), 0.0, math.cos(rise))
            standing = stand(rover, q, normal, held=[BALLAST])
            # upward forces, which need no more friction than the slope
            up = (standing.normal * normal[2] + standing.ahead * math.sin(rise)).T
            spread.append(np.linalg.lstsq(up, standing.load, rcond=None)[0].std())
        assert spread[1] < min(spread[0], spread[2])
        assert (wanted > 0.05) is (rise > 0.0)


@pytest.mark.parametrize(("axle", "sign"), [("front", -1), ("middle", -1), ("rear", 1)])
def test_the_ballast_leaves_the_axle_that_climbs_and_less_friction_is_needed(axle, sign):
    """By the suspension: a middle wheel shares its bogie's load with the front one, so the rear ones take it."""
    rig, course, ballast = control()
    rover = course.rover
    place = rover.wheel_positions(rover.neutral())[rover.wheel_names.index(f"{axle}_left"), 0]
    touch = course.begins_m - math.sqrt(0.175**2 - 0.075**2)
    wanted = ballast.wanted_m(*at(course, pose_at(touch - place + 0.004)))
    assert wanted * sign > 0.3
    normals = np.tile((0.0, 0.0, 1.0), (6, 1))
    normals[[axle in name for name in rover.wheel_names]] = (-math.sin(1.1), 0.0, math.cos(1.1))
    needed = []
    for way in (0.0, wanted):
        q = start_configuration(rover, rig.nominal.servos)
        q[7 + rover.joint_names.index(BALLAST)] = way
        needed.append(least_friction(stand(rover, q, normals, held=[BALLAST])).coefficient)
    assert needed[1] < 0.95 * needed[0]


def test_the_command_stays_within_range_and_rate_and_holds_where_no_wheel_can_pull():
    rig, course, ballast = control()
    before, pose = 0.0, pose_at(course.touches_m - 0.54)
    for _ in range(3000):
        (now,) = ballast.command(*at(course, pose))
        assert abs(now - before) <= 0.2 / rig.rate_hz
        before = now
    assert now == pytest.approx(-0.35)
    assert ballast.wanted_m(*at(course, pose_at(-9.0, math.radians(-80.0)))) is None
    assert ballast.command(*at(course, pose_at(-9.0, math.radians(-80.0)))) == (now,)


def test_a_ballast_that_moves_needs_a_servo_and_its_names_are_those_of_the_config():
    with pytest.raises(ConfigError) as caught:
        load_config("sim_step", [MOVES])
    assert [problem.key for problem in caught.value.problems] == ["crossing.moves_ballast"]
    with pytest.raises(ConfigError, match=r"servos\.slides.*ballast"):
        load_config("sim_step", [FITTED[1]])
    with pytest.raises(ConfigError, match=r"rover\.ballast.*null with rover\.type space_arm"):
        load_config("sim_capture", ["rover.ballast={}"])
    still = load_config("sim_step", ["rover.ballast={mass_kg: 25, x_m: 0.1}", "rover.locks={ballast: 200}"])
    locked = {joint.name: joint.locked_at for joint in still.rover_model().tree.joints}
    assert (still.layout.servos, locked[BALLAST]) == ((), 0.2)


@pytest.fixture(scope="module")
def crossed(tmp_path_factory):
    """The same step with a ballast that stands still, and with one that moves."""
    found = {}
    for name, more in (("still", []), ("moved", [MOVES])):
        folder = tmp_path_factory.mktemp(name)
        config = load_config("sim_step", [*RCP, *more, "ground.friction=0.5", "ground.profile.height_m=0.14"])
        found[name] = SimpleNamespace(folder=folder, summary=run_experiment(config, folder, lambda _: None).summary)
    return found


@pytest.mark.slow
def test_a_step_asks_for_less_friction_and_tips_less_with_a_ballast_that_moves(crossed):
    still, moved = (crossed[name].summary for name in ("still", "moved"))
    assert still["accepted"], still["reasons"]
    assert moved["accepted"], moved["reasons"]
    needed = [one["mobility"]["friction_needed"]["largest"] for one in (still, moved)]
    margin = [one["mobility"]["stability_deg"]["least"] for one in (still, moved)]
    assert needed[1] < 0.9 * needed[0]
    assert margin[1] > margin[0]


@pytest.mark.slow
def test_a_crossing_with_a_ballast_is_recorded_verified_and_replayed(crossed):
    folder = crossed["moved"].folder
    assert [check for check in verify(folder) if not check.ok] == []
    assert replay(folder).differences == []
    assert (folder / "crossing.png").stat().st_size > 10_000
    way = read_trial(folder / "trial.h5").tick["servo_angle_rad"][:, 0]
    assert (way.min(), way.max()) == pytest.approx((-0.35, 0.35), abs=0.01)
