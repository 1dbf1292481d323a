"""Motions against rigid-body kinematics: no point of a rim that touches the ground slides over it.

The check shares nothing with the code: all joints, drives and the base are moved by a small step of their speeds, and
the rims' lowest points looked up again, by homogeneous transforms of the rover's description.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hil.control.motions.geometry import Geometry
from hil.control.motions.steering import body_height, rolling, steered, twist_of_held, wheel_lift
from models.rover import ROVERS, Body, ExomarsParameters, RcpParameters, RockerBogieParameters, TreeBuilder
from models.rover.assembly import VERTICAL, on_side

LEGS = tuple(name for name in RcpParameters.lockable() if name.endswith("walking"))
STEERS = tuple(name for name in RcpParameters.lockable() if name.endswith("steering"))
MOTIONS = {
    "straight": (0.05, 0.0, 0.0),
    "arc": (0.05, 0.0, 0.05 / 1.5),
    "arc that is tight": (0.02, 0.0, -0.02 / 0.3),
    "turn": (0.0, 0.0, 0.1),
    "crab": (0.05 * math.cos(0.5), 0.05 * math.sin(0.5), 0.0),
    "back": (-0.04, 0.0, 0.01),
}


def matrix(rotation, place):
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = rotation, place
    return result


def placed(tree, base, angles):
    """Transforms of all bodies to the world."""
    found = {tree.bodies[0].name: base}
    todo = list(tree.joints)
    while todo:
        joint = todo.pop(0)
        if joint.parent not in found:
            todo.append(joint)
            continue
        angle = angles.get(joint.name, joint.locked_at or 0.0)
        turn = Rotation.from_rotvec(angle * np.array(joint.axis)).as_matrix()
        found[joint.child] = found[joint.parent] @ matrix(turn, joint.origin)
    return found


def sliding(tree, angles, rates, twist, drives, step=1e-6):
    """Velocity (wheels, 2) of each rim's lowest point over the ground [m/s]."""
    drive_of = {wheel.body: next(j.name for j in tree.joints if j.child == wheel.body) for wheel in tree.wheels}
    before = placed(tree, np.eye(4), angles)
    yaw = Rotation.from_euler("z", twist[2] * step).as_matrix()
    moved = {name: angle + step * rates.get(name, 0.0) for name, angle in angles.items()}
    moved |= {drive_of[wheel.body]: step * speed for wheel, speed in zip(tree.wheels, drives, strict=True)}
    after = placed(tree, matrix(yaw, (twist[0] * step, twist[1] * step, 0.0)), moved)
    found = []
    for wheel in tree.wheels:
        low = before[wheel.body][:3, 3] + (0.0, 0.0, -wheel.radius)
        on_wheel = np.linalg.inv(before[wheel.body]) @ (*low, 1.0)
        found.append(((after[wheel.body] @ on_wheel)[:2] - low[:2]) / step)
    return np.array(found)


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("kind", [RcpParameters, ExomarsParameters, RockerBogieParameters])
def test_no_wheel_of_a_steered_rover_slides_in_any_motion(kind, motion):
    tree, twist = kind().tree(), MOTIONS[motion]
    driven = tuple(name for name in kind.lockable() if name.endswith(("steering", "walking")))
    rover = Geometry(tree, driven)
    angles = steered(rover, rover.rest, twist)
    drives = rolling(rover, rover.frames(angles), np.array([twist])).drive[0]
    found = sliding(tree, dict(zip(driven, angles, strict=True)), {}, twist, drives)
    assert found == pytest.approx(0.0, abs=1e-6)
    assert np.abs(drives).max() > 0.01


def test_no_wheel_slides_in_an_arc_with_bent_legs():
    tree, twist, driven = RcpParameters().tree(), MOTIONS["arc"], (*LEGS, *STEERS)
    rover = Geometry(tree, driven)
    angles = steered(rover, body_height(rover, rover.rest, -0.05), twist)
    drives = rolling(rover, rover.frames(angles), np.array([twist])).drive[0]
    assert sliding(tree, dict(zip(driven, angles, strict=True)), {}, twist, drives) == pytest.approx(0.0, abs=1e-6)


def test_the_outer_wheels_of_an_arc_are_faster_and_its_axles_meet_in_one_place():
    rover = Geometry(ExomarsParameters().tree(), tuple(n for n in ExomarsParameters.lockable() if "steering" in n))
    radius = 1.5
    angles = steered(rover, rover.rest, (0.05, 0.0, 0.05 / radius))
    frames = rover.frames(angles)
    drives = rolling(rover, frames, np.array([[0.05, 0.0, 0.05 / radius]])).drive[0]
    for wheel, name in enumerate(rover.wheels):
        x, y, _ = frames.centre[0, wheel]
        assert math.tan(angles[wheel]) == pytest.approx(x / (radius - y), abs=1e-12)  # Ackermann
        distance = math.hypot(radius - y, x)
        assert drives[wheel] == pytest.approx(0.05 / radius * distance / rover.radius[wheel]), name


def test_a_rover_that_does_not_steer_slides_sideways_in_an_arc_by_what_is_said():
    kind = ROVERS["juno"]
    tree, twist = kind().tree(), np.array([[0.05, 0.0, 0.1]])
    rover = Geometry(tree, ())
    motion = rolling(rover, rover.frames(rover.rest[None]), twist)
    found = sliding(tree, {}, {}, twist[0], motion.drive[0])
    assert found[:, 0] == pytest.approx(0.0, abs=1e-6)
    assert found[:, 1] == pytest.approx(motion.lateral[0], abs=1e-6)
    assert np.abs(found[:, 1]).min() > 0.01


def test_wheels_that_hold_stand_still_and_those_that_roll_do_not_slide_while_legs_swing():
    tree, rover = RcpParameters().tree(), Geometry(RcpParameters().tree(), LEGS)
    angles = np.array([[0.2, 0.2, 0.1, 0.1, -0.1, -0.1]])
    rates = np.array([[-0.3, -0.3, 0.1, 0.1, 0.2, 0.2]])
    frames = rover.frames(angles, rates)
    held = np.array([[0.0, 0.0, 0.0, 0.0, 1.0, 1.0]])
    twist, slip = twist_of_held(frames, held)
    drives = rolling(rover, frames, twist).drive[0]
    found = sliding(tree, dict(zip(LEGS, angles[0], strict=True)), dict(zip(LEGS, rates[0], strict=True)),
                    twist[0], drives)  # fmt: skip
    assert found == pytest.approx(0.0, abs=1e-5)
    assert slip == pytest.approx(0.0)
    assert twist[0, 0] == pytest.approx(0.2 * 0.2961 * math.cos(0.1), rel=0.02)  # what the rear legs push


def test_held_wheels_whose_legs_disagree_have_to_slip_by_half_of_the_difference():
    rover = Geometry(RcpParameters().tree(), LEGS)
    rates = np.array([[0.0, 0.0, 0.0, 0.0, 0.2, 0.2]])
    frames = rover.frames(np.zeros((1, 6)), rates)
    twist, slip = twist_of_held(frames, np.array([[1.0, 1.0, 0.0, 0.0, 1.0, 1.0]]))
    asked = -frames.rate[0, 4, 0]
    assert twist[0, 0] == pytest.approx(0.5 * asked)
    assert slip[0].tolist() == pytest.approx([0.5 * asked, 0.5 * asked, 0.0, 0.0, 0.5 * asked, 0.5 * asked])


@pytest.mark.parametrize("change", [-0.06, -0.001])
def test_a_lower_body_stands_on_wheels_of_one_height_and_keeps_its_place_between_them(change):
    rover = Geometry(RcpParameters().tree(), LEGS)
    angles = body_height(rover, rover.rest, change)
    centre, before = rover.frames(angles).centre[0], rover.frames(rover.rest).centre[0]
    assert centre[:, 2] - before[:, 2] == pytest.approx(-change)
    assert (centre[:2, 0] > before[:2, 0]).all()
    assert (centre[2:, 0] < before[2:, 0]).all()
    back = body_height(rover, angles, -change)
    assert rover.frames(back).centre[0, :, 2] == pytest.approx(before[:, 2])


def test_a_body_on_legs_that_are_steered_comes_down_by_what_is_asked_and_up_again():
    """The RCP's legs swing below their steers, so in planes that these turn."""
    rover = Geometry(RcpParameters().tree(), (*LEGS, *STEERS))
    steered_ = np.concatenate([np.zeros(6), np.radians([40.0, -30.0, 20.0, 60.0, -50.0, 10.0])])
    angles = body_height(rover, steered_, -0.05)
    centre, before = rover.frames(angles).centre[0], rover.frames(steered_).centre[0]
    assert centre[:, 2] - before[:, 2] == pytest.approx(0.05)
    back = body_height(rover, angles, 0.05)
    assert rover.frames(back).centre[0, :, 2] == pytest.approx(before[:, 2])
    assert back[6:].tolist() == steered_[6:].tolist()


def test_a_lifted_wheel_is_higher_and_no_other_joint_moves():
    rover = Geometry(RcpParameters().tree(), LEGS)
    angles = wheel_lift(rover, rover.rest, "middle_left", 0.04)
    moved = np.flatnonzero(angles)
    assert [LEGS[one] for one in moved] == ["middle_left_walking"]
    rise = rover.frames(angles).centre[0, :, 2] - rover.frames(rover.rest).centre[0, :, 2]
    assert rise.tolist() == pytest.approx([0.0, 0.0, 0.04, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("change", "words"),
    [(0.02, "its leg hanging straight"), (-0.4, "its leg level")],
)
def test_a_height_that_the_legs_do_not_reach_is_refused_with_the_range(change, words):
    rover = Geometry(RcpParameters().tree(), LEGS)
    with pytest.raises(ValueError, match=words):
        body_height(rover, rover.rest, change)


def test_a_height_without_walking_joints_is_refused():
    rover = Geometry(ROVERS["juno"]().tree(), ())
    with pytest.raises(ValueError, match="no driven joint swings this wheel"):
        body_height(rover, rover.rest, -0.02)


def test_a_turn_about_a_steering_axis_is_refused():
    tree = RcpParameters().tree()
    rover = Geometry(tree, STEERS)
    (x, y, _), _ = rover.hinge("front_left_steering", rover.rest)
    with pytest.raises(ValueError, match="front_left: the rover would turn about a place"):
        steered(rover, rover.rest, (0.1 * (y - 0.001), -0.1 * (x - 0.001), 0.1))


def test_a_wheel_on_a_joint_that_slides_is_where_its_way_puts_it_and_moves_along_its_axis():
    builder = TreeBuilder("struts", Body("body", 10.0, (0.0, 0.0, 0.4), (1.0, 1.0, 1.0)))
    for side in ("left", "right"):
        hip, axle = on_side((0.3, 0.3, 0.4), side), on_side((0.3, 0.35, 0.1), side)
        builder.add_body("body", f"{side}_steering", VERTICAL, f"{side}_post", 1.0, (0.1, 0.1, 0.1), hip)
        builder.add_body(
            f"{side}_post", f"{side}_strut", (0.6, 0.0, -0.8), f"{side}_leg", 1.0, (0.1, 0.1, 0.1), hip, slides=True
        )
        builder.wheel(f"front_{side}", f"{side}_leg", 1.0, 0.1, 0.05, axle)
    rover = Geometry(builder.tree(), ("left_steering", "left_strut"))
    assert rover.steering == ("left_steering", None)
    quarter = 0.5 * math.pi
    frames = rover.frames(np.array([[quarter, 0.05]]), np.array([[0.0, 0.2]]))
    turn = Rotation.from_euler("z", quarter)
    along = turn.apply((0.6, 0.0, -0.8))
    place = (0.3, 0.3, 0.4) + turn.apply((0.0, 0.05, -0.3)) + 0.05 * along
    assert np.allclose(frames[0][0, 0], place, atol=1e-12)
    assert any(np.allclose(part[0, 0], 0.2 * along, atol=1e-12) for part in frames)
