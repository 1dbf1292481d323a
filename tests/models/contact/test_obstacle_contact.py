"""A wheel on the inclined plate: depth, direction, friction and power, each against vectors worked out here."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from models.contact.contact_points import ONSET_RATE
from models.contact.obstacle import Obstacle, make_contact, push_obstacle
from models.rover import rcp
from models.rover.dynamics import fill_bias, make_work, place_bodies

ROVER = rcp()
RADIUS = 0.175
FRONT_X = 0.5349  # Table 4-1
ANGLES_DEG = [30.0, 60.0, 90.0]
LEFT, RIGHT = 0, 1


def push(obstacle: Obstacle, q, v, contact=None, wheel=LEFT):
    """Contact readings and generalised force (nv,) of the plate on one wheel."""
    contact = make_contact(2) if contact is None else contact
    work = make_work(ROVER.chain)
    place_bodies(ROVER.chain, q, work)
    fill_bias(ROVER.chain, v, np.zeros(3), work)
    work.rhs[:] = 0.0
    push_obstacle(ROVER.chain, obstacle, q, wheel, 0.0, contact, work)
    return contact, work.rhs.copy()


def plate(angle: float, *, depth: float, friction: float = 0.0) -> Obstacle:
    """A plate that the front wheels of the neutral rover press `depth` [m] into."""
    # distance of the centre (FRONT_X, R) from the plane through (foot, 0): R cos + (foot - FRONT_X) sin = R - depth
    foot = FRONT_X + (RADIUS - depth - RADIUS * math.cos(angle)) / math.sin(angle)
    return Obstacle(angle, foot, 5.5e4, 1.0, 0.9, friction, 0.005)


def normal(angle: float):
    return np.array([-math.sin(angle), 0.0, math.cos(angle)])


def moving(seed: int, angle: float):
    """A rover tilted a little, moving against the plate and in all other directions too."""
    random = np.random.default_rng(seed)
    q = ROVER.neutral()
    q[:3] = 0.002 * random.normal(size=3)
    q[3:7] = Rotation.from_rotvec(0.01 * random.normal(size=3)).as_quat()
    q[7:] = 0.02 * random.normal(size=9)
    v = 0.1 * random.normal(size=15)
    v[:3] -= 0.5 * normal(angle)
    return q, v


def wheel_motion(q, v, angle: float, wheel: int):
    """Centre, and velocity of the contact point a radius along -n from it, by differences of wheel positions."""
    h = 1e-6

    def pushed(sign: float):
        turn = Rotation.from_quat(q[3:7])
        out = q + 0.0
        out[:3] += sign * h * turn.apply(v[:3])
        out[3:7] = (turn * Rotation.from_rotvec(sign * h * v[3:6])).as_quat()
        out[7:] += sign * h * v[6:]
        return out

    centre_speed = (ROVER.wheel_positions(pushed(1.0)) - ROVER.wheel_positions(pushed(-1.0)))[wheel] / (2.0 * h)
    # the wheel turns with the base, its bogie and itself
    names = ROVER.joint_names
    side = ("left", "right")[wheel]
    about_y = v[6 + names.index(f"{side}_bogie")] + v[6 + names.index(f"front_{side}_drive")]
    spin = Rotation.from_quat(q[3:7]).apply(v[3:6] + np.array([0.0, about_y, 0.0]))
    return ROVER.wheel_positions(q)[wheel], centre_speed + np.cross(spin, -RADIUS * normal(angle))


@pytest.mark.parametrize("angle_deg", ANGLES_DEG)
@pytest.mark.parametrize("wheel", [LEFT, RIGHT])
@pytest.mark.parametrize("seed", range(3))
def test_depth_is_how_far_the_rim_is_behind_the_plane(angle_deg, wheel, seed):
    angle = math.radians(angle_deg)
    obstacle = plate(angle, depth=1e-3)
    q, _ = moving(seed, angle)
    centre = ROVER.wheel_positions(q)[wheel]
    # (5.11)-(5.12): the rim's foremost point is the centre less R n; its height over the plane is the gap
    rim = centre - RADIUS * normal(angle)
    gap = normal(angle) @ (rim - np.array([obstacle.foot, 0.0, 0.0]))
    contact, force = push(obstacle, q, np.zeros(15), wheel=wheel)
    assert contact.gap[wheel] == pytest.approx(gap, abs=1e-14)
    assert (contact.force[wheel] > 0.0) == (gap < 0.0)
    if gap >= 0.0:
        assert not force.any()


@pytest.mark.parametrize("angle_deg", ANGLES_DEG)
def test_contact_starts_at_zero_depth(angle_deg):
    angle = math.radians(angle_deg)
    v = np.zeros(15)
    assert push(plate(angle, depth=-1e-9), ROVER.neutral(), v)[0].force[LEFT] == 0.0
    contact, _ = push(plate(angle, depth=1e-6), ROVER.neutral(), v)
    assert contact.force[LEFT] == pytest.approx(5.5e4 * 1e-6, rel=1e-6)


@pytest.mark.parametrize("angle_deg", ANGLES_DEG)
@pytest.mark.parametrize("wheel", [LEFT, RIGHT])
def test_without_friction_the_wheel_is_pushed_along_the_outward_normal(angle_deg, wheel):
    angle = math.radians(angle_deg)
    contact, force = push(plate(angle, depth=1e-3), ROVER.neutral(), np.zeros(15), wheel=wheel)
    assert contact.force[wheel] == pytest.approx(55.0)
    assert force[:3] == pytest.approx(55.0 * normal(angle), abs=1e-9)
    # it acts on the line through the wheel's centre, so about the base's origin by hand, and not on the axle
    centre = np.array([FRONT_X, (0.4552, -0.4552)[wheel], RADIUS])
    assert force[3:6] == pytest.approx(np.cross(centre, 55.0 * normal(angle)), abs=1e-9)
    side = ("left", "right")[wheel]
    assert force[6 + ROVER.joint_names.index(f"front_{side}_drive")] == pytest.approx(0.0, abs=1e-12)
    # and turns this side's bogie alone: pivot of Table 4-1 at (0.2671, 0.4499)
    arm = centre - np.array([0.2671, 0.0, 0.4499])
    bogie = 6 + ROVER.joint_names.index(f"{side}_bogie")
    assert force[bogie] == pytest.approx(np.cross(arm, 55.0 * normal(angle))[1], abs=1e-9)
    others = np.delete(force[6:], [bogie - 6, ROVER.joint_names.index(f"front_{side}_drive")])
    assert not others.any()


@pytest.mark.parametrize("angle_deg", ANGLES_DEG)
@pytest.mark.parametrize("seed", range(10))
def test_friction_opposes_sliding_within_coulombs_cone(angle_deg, seed):
    angle, mu = math.radians(angle_deg), 0.4
    obstacle = plate(angle, depth=0.02, friction=mu)
    q, v = moving(seed, angle)
    contact, force = push(obstacle, q, v)
    _, speed = wheel_motion(q, v, angle, LEFT)
    n = normal(angle)
    on_wheel = Rotation.from_quat(q[3:7]).apply(force[:3])
    pressing, sliding = contact.force[LEFT], speed - (speed @ n) * n
    friction = on_wheel - (on_wheel @ n) * n
    assert pressing > 0.0
    assert on_wheel @ n == pytest.approx(pressing, rel=1e-9)
    assert np.linalg.norm(sliding) > obstacle.friction_speed  # fast enough to slide fully
    assert np.linalg.norm(friction) == pytest.approx(mu * pressing, rel=1e-9)
    assert friction / np.linalg.norm(friction) == pytest.approx(-sliding / np.linalg.norm(sliding), abs=1e-6)


@pytest.mark.parametrize("sliding", [0.0, 1e-4, 2.5e-3, 5e-3, 0.05, 5.0])
def test_friction_grows_with_slow_sliding_and_never_leaves_the_cone(sliding):
    angle, mu = math.radians(60.0), 0.4
    obstacle = plate(angle, depth=1e-3, friction=mu)
    v = np.zeros(15)
    # forward spin drags the rim up the plate's back: the contact point moves down the plate at R omega
    v[6 + ROVER.joint_names.index("front_left_drive")] = sliding / RADIUS
    contact, force = push(obstacle, ROVER.neutral(), v)
    up = np.array([math.cos(angle), 0.0, math.sin(angle)])
    expected = mu * contact.force[LEFT] * min(sliding / 0.005, 1.0)
    assert force[:3] @ up == pytest.approx(expected, rel=1e-9)
    assert force[1] == 0.0


@pytest.mark.parametrize("angle_deg", ANGLES_DEG)
@pytest.mark.parametrize("seed", range(10))
def test_the_rovers_power_is_the_force_times_the_contact_points_speed(angle_deg, seed):
    angle = math.radians(angle_deg)
    q, v = moving(seed, angle)
    contact, force = push(plate(angle, depth=0.02, friction=0.4), q, v)
    _, speed = wheel_motion(q, v, angle, LEFT)
    assert contact.force[LEFT] > 0.0
    on_wheel = Rotation.from_quat(q[3:7]).apply(force[:3])
    assert force @ v == pytest.approx(on_wheel @ speed, rel=1e-6, abs=1e-6)
    sliding_power = force @ v - contact.force[LEFT] * (normal(angle) @ speed)
    assert sliding_power < 0.0


@pytest.mark.parametrize("angle_deg", [10.0, 40.0, 60.0, 90.0])
def test_a_wheel_on_the_ground_touches_the_plate_where_geometry_says(angle_deg):
    angle = math.radians(angle_deg)
    contact, _ = push(plate(angle, depth=0.0), ROVER.neutral(), np.zeros(15))
    assert contact.point[LEFT] == pytest.approx((0.4552, RADIUS * (1 - math.cos(angle)) / math.sin(angle)), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_contact_point_is_the_rims_point_in_plate_coordinates(seed):
    angle = math.radians(55.0)
    obstacle = plate(angle, depth=1e-3)
    q, v = moving(seed, angle)
    contact, _ = push(obstacle, q, v, wheel=RIGHT)
    rim = ROVER.wheel_positions(q)[RIGHT] - RADIUS * normal(angle) - np.array([obstacle.foot, 0.0, 0.0])
    up = np.array([math.cos(angle), 0.0, math.sin(angle)])
    assert contact.point[RIGHT] == pytest.approx((rim[1], rim @ up), abs=1e-12)


def test_onset_rate_is_that_of_the_first_touch_and_forgotten_when_apart():
    angle = math.radians(60.0)
    contact, v = make_contact(2), np.zeros(15)
    v[0] = 0.07
    push(plate(angle, depth=1e-6), ROVER.neutral(), v, contact)
    first = 0.07 * math.sin(angle)
    assert contact.contact_points[LEFT, 0, ONSET_RATE] == pytest.approx(first)
    push(plate(angle, depth=1e-3), ROVER.neutral(), 0.5 * v, contact)
    assert contact.contact_points[LEFT, 0, ONSET_RATE] == pytest.approx(first)
    assert contact.force[LEFT] == pytest.approx(55.0 * (1.0 + 0.15 * 0.5))
    push(plate(angle, depth=-1e-6), ROVER.neutral(), v, contact)
    assert contact.contact_points[LEFT, 0, ONSET_RATE] == 0.0
    assert contact.force[LEFT] == 0.0
