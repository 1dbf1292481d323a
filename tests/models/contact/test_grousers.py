"""Wheels with grousers on the plate: tips by hand, one or two at a time, each pushed at its own point."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from models.contact.contact_points import ARM, DEPTH, LEAN, ONSET_RATE, RATE, SHARE
from models.contact.obstacle import Obstacle, check_obstacle, make_contact, push_obstacle
from models.rover import rcp
from models.rover.dynamics import fill_bias, fill_mass_matrix, make_work, place_bodies
from models.vehicle import make_vehicle_state, run

RADIUS, FRONT_X, HEIGHT = 0.175, 0.5349, 0.01
ROVER = rcp().with_grousers(HEIGHT)
PITCH = 2.0 * math.pi / 22
LEFT, RIGHT = 0, 1
ANGLES_DEG = [30.0, 60.0, 90.0]
AXLE = 6 + ROVER.joint_names.index("front_left_drive")


def plate(angle: float, tip_depth: float, offset: float = 0.0, **given) -> Obstacle:
    """A plate that a tip on the contact line of the neutral rover's front wheels would press `tip_depth` into."""
    reach = RADIUS + HEIGHT - tip_depth
    foot = FRONT_X + (reach - RADIUS * math.cos(angle)) / math.sin(angle)
    law = {"stiffness": 5.5e4, "exponent": 1.5, "restitution": 0.9, "friction": 0.0, "friction_speed": 0.005}
    return Obstacle(angle, foot, **{**law, "grousers": 22, "grouser_offset": offset, **given})


def push(obstacle: Obstacle, q=None, v=None, contact=None, wheel=LEFT, dt=1e-4):
    q = ROVER.neutral() if q is None else q
    contact = make_contact(2) if contact is None else contact
    work = make_work(ROVER.chain)
    place_bodies(ROVER.chain, q, work)
    fill_bias(ROVER.chain, np.zeros(15) if v is None else v, np.zeros(3), work)
    fill_mass_matrix(ROVER.chain, work)
    work.rhs[:] = 0.0
    push_obstacle(ROVER.chain, obstacle, q, wheel, dt, contact, work)
    return contact, work.rhs.copy()


def normal(angle: float):
    return np.array([-math.sin(angle), 0.0, math.cos(angle)])


def tips(obstacle: Obstacle, q, wheel: int):
    """All 22 tips (22, 3) in the world, turned with the wheel about a level axle, and the centre."""
    at = {LEFT: "left", RIGHT: "right"}[wheel]
    names = ROVER.joint_names
    spin = q[7 + names.index(f"{at}_bogie")] + q[7 + names.index(f"front_{at}_drive")]
    # at no spin, grouser 0 is `offset` above the contact line, seen from port: a turn against forward spin
    zero = Rotation.from_rotvec([0.0, -obstacle.grouser_offset, 0.0]).apply(-normal(obstacle.angle))
    turns = Rotation.from_rotvec(np.outer(np.arange(22) * PITCH + spin, [0.0, 1.0, 0.0]))
    centre = ROVER.wheel_positions(q)[wheel]
    return centre + (RADIUS + HEIGHT) * Rotation.from_quat(q[3:7]).apply(turns.apply(zero)), centre


def moved(seed: int):
    random = np.random.default_rng(seed)
    q = ROVER.neutral()
    q[:3] = 0.002 * random.normal(size=3)
    q[7:] = 0.05 * random.normal(size=9)
    q[7 + ROVER.joint_names.index("front_left_drive")] = random.uniform(-20.0, 20.0)
    q[7 + ROVER.joint_names.index("front_right_drive")] = random.uniform(-20.0, 20.0)
    return q


@pytest.mark.parametrize("angle_deg", ANGLES_DEG)
@pytest.mark.parametrize("wheel", [LEFT, RIGHT])
@pytest.mark.parametrize("seed", range(8))
def test_the_two_points_are_the_two_deepest_tips(angle_deg, wheel, seed):
    angle, q = math.radians(angle_deg), moved(seed)
    obstacle = plate(angle, 5e-3, offset=0.3)
    all_tips, centre = tips(obstacle, q, wheel)
    depths = -(all_tips - [obstacle.foot, 0.0, 0.0]) @ normal(angle)
    contact, _ = push(obstacle, q, wheel=wheel)
    deepest = np.argsort(depths)[-2:]
    assert np.sort(contact.contact_points[wheel, :2, DEPTH]) == pytest.approx(depths[deepest], abs=1e-12)
    arms = contact.contact_points[wheel, :2, ARM:][np.argsort(contact.contact_points[wheel, :2, DEPTH])]
    assert arms == pytest.approx(all_tips[deepest] - centre, abs=1e-12)
    assert contact.gap[wheel] == pytest.approx(-depths.max(), abs=1e-12)


@pytest.mark.parametrize("angle_deg", ANGLES_DEG)
@pytest.mark.parametrize("offset_deg", [-8.0, -4.0, 0.0, 3.0, 7.0])
def test_the_offset_is_the_first_grousers_lean_above_the_contact_line(angle_deg, offset_deg):
    angle, offset = math.radians(angle_deg), math.radians(offset_deg)
    contact, _ = push(plate(angle, 1e-3, offset))
    nearest = int(np.argmax(contact.contact_points[LEFT, :2, DEPTH]))
    assert contact.contact_points[LEFT, nearest, LEAN] == pytest.approx(offset, abs=1e-12)
    # above is up the plate: the tip's arm leans that way
    up = np.array([math.cos(angle), 0.0, math.sin(angle)])
    assert contact.contact_points[LEFT, nearest, ARM:] @ up == pytest.approx(
        (RADIUS + HEIGHT) * math.sin(offset), abs=1e-12
    )
    # (6.2)-(6.3): the grouser vector's share along rho, which is g cos(alpha)
    assert contact.contact_points[LEFT, nearest, DEPTH] == pytest.approx(
        1e-3 - (RADIUS + HEIGHT) * (1 - math.cos(offset)), abs=1e-12
    )


def test_rolling_on_lowers_the_lean_by_the_angle_rolled():
    q = ROVER.neutral()
    q[7 + ROVER.joint_names.index("front_left_drive")] = math.radians(3.0)
    contact, _ = push(plate(math.radians(70.0), 1e-3, math.radians(5.0)), q)
    assert np.abs(contact.contact_points[LEFT, :2, LEAN]).min() == pytest.approx(math.radians(2.0), abs=1e-12)


@pytest.mark.parametrize(("tip_depth", "touching"), [(-1e-6, 0), (1e-4, 1), (6e-3, 1), (8e-3, 2)])
def test_a_second_grouser_touches_when_its_own_tip_reaches_the_plate(tip_depth, touching):
    """One on the line; its neighbours are 185 mm (1 - cos 16.36 deg) = 7.5 mm behind."""
    contact, force = push(plate(math.pi / 2, tip_depth, offset=1e-9))
    assert np.count_nonzero(contact.contact_points[LEFT, :2, SHARE]) == touching
    assert contact.force[LEFT] == pytest.approx(contact.contact_points[LEFT, :2, SHARE].sum())
    assert force.any() == (touching > 0)


def test_each_grouser_has_its_own_force_by_its_own_depth_and_not_that_of_the_summed_depth():
    """Two alike, half a pitch above and below: F = 2 k d^1.5 and not k (2 d)^1.5, which (6.4) as printed would give."""
    contact, _ = push(plate(math.pi / 2, 5e-3, offset=0.5 * PITCH, friction=0.0))
    depth = 5e-3 - (RADIUS + HEIGHT) * (1.0 - math.cos(0.5 * PITCH))
    assert contact.contact_points[LEFT, :2, DEPTH] == pytest.approx([depth, depth], abs=1e-12)
    assert contact.contact_points[LEFT, :2, SHARE] == pytest.approx(5.5e4 * depth**1.5, rel=1e-9)
    assert contact.force[LEFT] == pytest.approx(2.0 * 5.5e4 * depth**1.5, rel=1e-9)


@pytest.mark.parametrize("angle_deg", ANGLES_DEG)
@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_forces_act_at_the_tips(angle_deg, friction, seed):
    """Against force and moment about the base's origin summed by hand, at rest (so no friction) and moving."""
    angle, q = math.radians(angle_deg), moved(seed)
    v = np.zeros(15)
    v[AXLE] = 2.0  # the tips rub down the plate
    obstacle = plate(angle, 0.03, offset=0.1 * seed, friction=friction)
    contact, force = push(obstacle, q, v)
    n = normal(angle)
    centre = ROVER.wheel_positions(q)[LEFT]
    total, moment = np.zeros(3), np.zeros(3)
    for arm, share in zip(contact.contact_points[LEFT, :2, ARM:], contact.contact_points[LEFT, :2, SHARE], strict=True):
        sliding = np.cross([0.0, 2.0, 0.0], arm)
        sliding -= (sliding @ n) * n
        push_here = share * (n - friction * sliding / np.linalg.norm(sliding))
        total += push_here
        moment += np.cross(centre + arm - q[:3], push_here)
    assert contact.force[LEFT] > 0.0
    assert force[:3] == pytest.approx(total, rel=1e-9, abs=1e-9)
    assert force[3:6] == pytest.approx(moment, rel=1e-9, abs=1e-9)
    points = contact.contact_points[LEFT, :2]
    along = sum(share * arm for arm, share in zip(points[:, ARM:], points[:, SHARE], strict=True))
    assert force[AXLE] == pytest.approx(
        np.cross(along, n)[1] + sum(
            np.cross(arm, -share * friction * _slide(arm, n))[1]
            for arm, share in zip(points[:, ARM:], points[:, SHARE], strict=True)
        ),
        rel=1e-9, abs=1e-9,
    )  # fmt: skip


def _slide(arm, n):
    sliding = np.cross([0.0, 1.0, 0.0], arm)
    sliding -= (sliding @ n) * n
    return sliding / np.linalg.norm(sliding)


def test_the_reading_of_the_point_is_the_centre_of_the_load():
    contact, _ = push(plate(math.pi / 2, 5e-3, offset=math.radians(7.0)))
    heights = RADIUS + contact.contact_points[LEFT, :2, ARM + 2]
    expected = contact.contact_points[LEFT, :2, SHARE] @ heights / contact.contact_points[LEFT, :2, SHARE].sum()
    assert contact.point[LEFT] == pytest.approx((0.4552, expected), abs=1e-12)
    assert contact.contact_points[LEFT, :2, SHARE].min() > 0.0


def test_onset_belongs_to_the_grouser_and_is_forgotten_when_it_leaves():
    """Spinning at 1 rad/s only, a tip at +7 degrees comes in at R sin 7 and the one at -9.4 degrees goes out."""
    v = np.zeros(15)
    v[AXLE] = 1.0
    obstacle = plate(math.pi / 2, 6e-3, offset=math.radians(7.0))
    contact, _ = push(obstacle, v=v)
    above = int(np.argmax(contact.contact_points[LEFT, :2, LEAN]))
    assert contact.contact_points[LEFT, above, ONSET_RATE] == pytest.approx(
        (RADIUS + HEIGHT) * math.sin(math.radians(7.0)), rel=1e-9
    )
    assert contact.contact_points[LEFT, 1 - above, RATE] < 0.0
    assert contact.contact_points[LEFT, 1 - above, ONSET_RATE] < 1e-9
    push(obstacle, v=0.5 * v, contact=contact)
    assert contact.contact_points[LEFT, above, ONSET_RATE] == pytest.approx(
        (RADIUS + HEIGHT) * math.sin(math.radians(7.0)), rel=1e-9
    )
    push(obstacle._replace(foot=obstacle.foot + 0.1), v=v, contact=contact)
    assert not contact.contact_points[LEFT, :2, ONSET_RATE].any()


def test_a_grouser_keeps_its_slot_while_it_rolls_through():
    """Over many turns of the wheel, a grouser that remains one of the two remains in the same column."""
    obstacle, contact, q, last = plate(math.pi / 2, 5e-3), make_contact(2), ROVER.neutral(), None
    step = PITCH / 7.0
    for i in range(400):
        q[7 + ROVER.joint_names.index("front_left_drive")] = -25.0 + i * step
        push(obstacle, q, contact=contact)
        lean = contact.contact_points[LEFT, :2, LEAN].copy()
        if last is not None:
            stayed = np.abs(last - step - lean) < 1e-9
            changed = np.abs(last - step + PITCH - (lean - PITCH)) < 1e-9
            assert (stayed | changed).all()
            assert stayed.any()
        last = lean


def profile(offset_deg: float, dt: float = 2e-5):
    """Force on a front wheel over time [N] as in MacMahon 2016, fig. 6-15: 90 degrees, slip 0.97, 1e5 N/m, no ground.

    The grouser at `offset_deg` just touches at the start.
    """
    offset = math.radians(offset_deg)
    obstacle = plate(math.pi / 2, 0.0, offset, stiffness=1e5, exponent=1.0)
    reach = (RADIUS + HEIGHT) * math.cos(offset)
    motion = make_vehicle_state(ROVER)
    motion.v[0] = 0.07
    for i, name in enumerate(ROVER.joint_names):
        if name.endswith("_drive"):
            motion.v[6 + i] = 0.07 / (RADIUS * (1.0 - 0.97))
    return obstacle._replace(foot=FRONT_X + reach), motion, dt


def peaks_of(bench, offset_deg: float):
    obstacle, motion, dt = profile(offset_deg)
    motion.q[2] = 1.0  # far above the ground, before a wall without end
    where = bench.vehicle(drive=bench.free)._replace(obstacle=obstacle, gravity=np.zeros(3), chain=ROVER.chain)
    forces = []
    for _ in range(400):
        run(where, motion, 5, dt)
        forces.append(motion.obstacle.force[LEFT])
    forces = np.array(forces)
    inner = np.flatnonzero((forces[1:-1] > forces[:-2]) & (forces[1:-1] >= forces[2:]) & (forces[1:-1] > 5.0)) + 1
    return forces[inner]


def test_the_offset_shapes_the_hit_as_the_thesis_found(bench):
    """MacMahon 2016 6.2.4, fig. 6-15: a high peak and a low one at +7 degrees, two even, lower ones at -4."""
    above, below = peaks_of(bench, 7.0), peaks_of(bench, -4.0)
    assert len(above) == len(below) == 2
    assert above[1] < 0.8 * above[0]
    assert below[1] == pytest.approx(below[0], rel=0.15)
    assert above[1] < below.min()
    assert below.max() < above[0]


@pytest.mark.parametrize("count", [1, 2, 21, -4, 3.5])
def test_a_number_of_grousers_that_is_odd_or_too_small_is_refused(count):
    with pytest.raises(ValueError, match=rf"obstacle: grousers is {count}, allowed: 0, 4, 6, 8"):
        check_obstacle(plate(1.0, 0.0, grousers=count))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("angle", 0.0), ("angle", 1.6), ("stiffness", -1.0), ("exponent", 0.5), ("restitution", 0.0),
        ("friction", -0.1), ("friction_speed", 0.0), ("law", 9), ("damping", math.nan), ("leg_damping", -1.0),
        ("grouser_offset", math.nan), ("leg_compliance", np.array([0.0, -1e-5])),
    ],
)  # fmt: skip
def test_an_obstacle_out_of_range_is_refused_by_the_name_of_the_field(field, value):
    good = plate(1.0, 0.0)
    check_obstacle(good._replace(foot=math.nan))
    with pytest.raises(ValueError, match=rf"obstacle: {field}.* is .*, allowed: "):
        check_obstacle(good._replace(**{field: value}))


@pytest.mark.parametrize("angle_deg", ANGLES_DEG)
@pytest.mark.parametrize("seed", range(4))
def test_the_rim_touches_between_few_grousers_with_its_own_force(angle_deg, seed):
    """By hand: a circle of the rim's radius, and its law (Hunt and Crossley, at rest k delta^p)."""
    angle, q = math.radians(angle_deg), moved(seed)
    obstacle = plate(angle, 8e-3, grousers=8)
    depth = RADIUS - float((ROVER.wheel_positions(q)[LEFT] - [obstacle.foot, 0.0, 0.0]) @ normal(angle))
    tips_alone, _ = push(obstacle, q)
    with_rim, _ = push(obstacle._replace(rim_below=HEIGHT), q)
    more = obstacle.stiffness * max(depth, 0.0) ** obstacle.exponent
    assert with_rim.force[LEFT] - tips_alone.force[LEFT] == pytest.approx(more, rel=1e-9, abs=1e-9)
    assert with_rim.contact_points[LEFT, 2, DEPTH] == pytest.approx(depth, abs=1e-12)


@pytest.mark.parametrize(("grousers", "touches"), [(12, True), (14, False)])
def test_on_a_plane_the_rim_bears_nothing_where_grousers_are_closer_than_their_height_needs(grousers, touches):
    """With a tip on each side of the line the rim is at the plane when h = R (1 - cos(pi/n)): between 12 and 14."""
    height = 6e-3
    tips = (RADIUS + HEIGHT) * math.cos(math.pi / grousers)  # of two tips that just touch
    assert (tips < RADIUS + HEIGHT - height) is touches
    angle = math.radians(90.0)
    obstacle = plate(angle, RADIUS + HEIGHT - tips, offset=math.pi / grousers, grousers=grousers, rim_below=height)
    contact, _ = push(obstacle)
    assert bool(contact.contact_points[LEFT, 2, SHARE] > 0.0) is touches
