"""Ruts under a rover: depth by place, in any direction, and the forces of a single wheel in a rut."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from models.contact.ruts import CELLS, NOBODY, SPACING, deepest_before, leave, make_ruts
from models.contact.wheel_slots import COSINE, NORMAL, SINE
from models.rover import exomars, rcp
from models.vehicle import run
from models.wheel import RigidWheel

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

FRONT, MIDDLE, REAR = (0, 1), (2, 3), (4, 5)


@pytest.mark.parametrize("make", [rcp, exomars])
def test_each_wheel_follows_the_next_one_ahead_on_its_own_side(make):
    rover = make()
    names = rover.wheel_names
    ahead = make_ruts(rover).ahead
    followed = {names[wheel]: None if at == NOBODY else names[at] for wheel, at in enumerate(ahead)}
    assert followed == {
        "front_left": None, "front_right": None, "middle_left": "front_left", "middle_right": "front_right",
        "rear_left": "middle_left", "rear_right": "middle_right",
    }  # fmt: skip


def drag(ruts, wheel, places, depth):
    """A wheel goes straight from place to place, in millimetres, at a depth that may depend on its way."""
    way = 0.0
    for (x0, y0), (x1, y1) in itertools.pairwise(places):
        length = math.hypot(x1 - x0, y1 - y0)
        for share in np.arange(0.0, 1.0, 1e-3 / length):
            deep = depth(way + share * length) if callable(depth) else depth
            leave(ruts, wheel, x0 + share * (x1 - x0), y0 + share * (y1 - y0), deep, 0.0)
        way += length


@pytest.mark.parametrize("heading", [0.0, 0.4, 0.5 * math.pi, 2.5, -2.0])
def test_a_rut_is_met_along_its_whole_width_in_any_direction(heading):
    ruts = make_ruts(rcp(wheel_width=0.16))
    ahead, left = np.array([math.cos(heading), math.sin(heading)]), np.array([-math.sin(heading), math.cos(heading)])
    start = np.array([3.0, -2.0])
    drag(ruts, 0, [start, start + 1.5 * ahead], lambda way: 0.01 + 0.01 * way)
    for way in np.arange(0.1, 1.2, 0.037):
        for across in (-0.05, 0.0, 0.03, 0.05):
            depth = deepest_before(ruts, *(start + way * ahead + across * left))
            assert depth == pytest.approx(0.01 + 0.01 * way, abs=6e-4)
        for across in (-0.12, 0.12):  # 8 cm is the rut's edge, to two cells
            assert deepest_before(ruts, *(start + way * ahead + across * left)) == 0.0


def test_a_wheel_does_not_meet_its_own_contact_and_meets_its_track_when_it_comes_back():
    rover = rcp(wheel_width=0.16)
    ruts, radius = make_ruts(rover), rover.tree.wheels[0].radius
    for x in np.arange(0.0, 1.0, 1e-3):
        assert deepest_before(ruts, x, 0.0) == 0.0
        leave(ruts, 0, x, 0.0, 0.01, 0.0)
    assert deepest_before(ruts, 1.0 - radius - 3 * SPACING, 0.0) == pytest.approx(0.01)
    assert deepest_before(ruts, 1.0 - 0.5 * radius, 0.0) == 0.0
    for x in np.arange(1.0, 0.9, -1e-3):  # it turns back: what it has passed is left
        leave(ruts, 0, x, 0.0, 0.01, 0.0)
    assert deepest_before(ruts, 0.85, 0.0) == pytest.approx(0.01)


def test_the_deepest_of_all_passages_counts_and_memory_starts_again_after_its_length():
    ruts = make_ruts(rcp(wheel_width=0.16))
    drag(ruts, 0, [(0.0, 0.0), (1.0, 0.0)], 0.02)
    drag(ruts, 1, [(0.5, -0.8), (0.5, 0.8)], 0.01)  # across the track
    assert deepest_before(ruts, 0.5, 0.0) == pytest.approx(0.02)
    assert deepest_before(ruts, 0.5, 0.3) == pytest.approx(0.01)
    length = CELLS * SPACING
    assert length > 10.0
    drag(ruts, 2, [(length, 0.0), (length + 1.0, 0.0)], 0.03)
    assert deepest_before(ruts, length + 0.3, 0.0) == pytest.approx(0.03)
    assert deepest_before(ruts, 0.3, 0.0) == 0.0


@pytest.fixture(scope="module")
def drives(bench):
    """Wheels at 0.9 rad/s, on fresh soil and on soil that remembers, every 10 ms: way, speed, sinkage, hand."""
    found = {}
    for name in ("fresh", "remembered"):
        where = bench.vehicle(slip_speed=1e-6, drive=bench.free)
        if name == "remembered":
            where = where._replace(ground=where.ground._replace(ruts=make_ruts(bench.rover)))
        motion = bench.resting()
        motion.drives.cut[:], motion.drives.set_speed[:] = 0.0, 0.9
        rows = []
        for _ in range(1200):
            run(where, motion, 100, bench.dt)
            rows.append((motion.q[0], motion.v[0], motion.ground.sinkage.copy(), motion.ground.scratch.copy()))
        found[name] = rows
    return found


def at_way(rows, way):
    return min(rows, key=lambda row: abs(row[0] - way))


def test_until_a_wheel_comes_to_a_track_soil_that_remembers_is_fresh_soil_to_the_bit(drives):
    for fresh, remembered in zip(drives["fresh"], drives["remembered"], strict=True):
        if remembered[0] > 0.49:  # the track begins at 0.535, and its cells reach 4 cm further
            break
        np.testing.assert_array_equal(fresh[2], remembered[2])
        assert fresh[:2] == remembered[:2]
    assert fresh[0] > 0.48


def test_each_following_wheel_bears_what_the_single_wheel_bears_in_that_rut(bench, drives):
    rows = drives["remembered"]
    for behind, follower, ahead in ((0.5349, MIDDLE, FRONT), (0.5381, REAR, MIDDLE)):
        for way in (1.2, 1.5):
            _, _, sinkage, scratch = at_way(rows, way)
            # of the wheel ahead when it stood here, and of what it had found
            deepest = np.maximum(at_way(rows, way - behind)[2], 0.0)[list(ahead)]
            vertical, _ = bench.wheel.normal_force_in_rut(sinkage[list(follower)], deepest)
            assert (scratch[:, NORMAL] * scratch[:, COSINE])[list(follower)] == pytest.approx(vertical, rel=2e-3)


def test_in_a_rut_wheels_go_a_little_deeper_are_held_back_less_and_the_rover_is_faster(drives):
    fresh, remembered = (at_way(drives[name], 1.5) for name in ("fresh", "remembered"))
    front, middle, rear = (remembered[2][list(wheels)].mean() for wheels in (FRONT, MIDDLE, REAR))
    assert 1.3 * front < middle < rear - 1e-3 < 2.0 * front
    resistance = [(scratch[2:, NORMAL] * scratch[2:, SINE]).sum() for scratch in (fresh[3], remembered[3])]
    assert resistance[1] < 0.7 * resistance[0]
    assert remembered[1] > 1.03 * fresh[1]
    # docs/explanation/wheel.md quotes them
    assert [front, middle, rear] == pytest.approx([0.0174, 0.0251, 0.0299], abs=6e-5)
    assert resistance == pytest.approx([150.0, 84.0], abs=0.6)
    assert [fresh[1], remembered[1]] == pytest.approx([0.128, 0.138], abs=6e-4)


def columns_force(wheel, sinkage, deepest, factor):
    """Vertical force [N] of soil in columns, each of which is loaded in front and relieved behind, by quadrature."""
    soil, radius = wheel.soil, wheel.radius
    k, n, back = factor * soil.stiffness, soil.exponent, soil.rebound

    def pressure(angle, ahead):
        depth = sinkage - radius * (1.0 - math.cos(angle))
        if ahead and depth > deepest:
            return k * depth**n
        most = deepest if ahead else max(sinkage, deepest)
        return max(k * most ** (n - 1.0) / back * (depth - (1.0 - back) * most), 0.0)

    edge = math.acos(1.0 - sinkage / radius)
    corner = math.acos(1.0 - max(sinkage - deepest, 0.0) / radius)
    halves = (quad(lambda t, a=a: pressure(t, a) * math.cos(t), 0.0, edge, points=[corner])[0] for a in (True, False))
    return radius * wheel.width * sum(halves)


def test_on_soil_that_slip_digs_a_wheel_bears_what_columns_bear_that_are_as_dug_as_ever_before(bench):
    """The rut law needs the digging beside the depth: else soil that was dug away would bear as if compacted."""
    soil, amount = bench.soil, 1.5
    digs = replace(soil, slip_sinkage=amount)
    where = bench.vehicle(slip_speed=1e-6, drive=bench.free)
    packed = RigidWheel(bench.radius, 0.15, digs).parameters
    where = where._replace(ground=where.ground._replace(wheel=packed, ruts=make_ruts(bench.rover)))
    motion, rows = bench.resting(), []
    motion.drives.cut[:], motion.drives.set_speed[:], motion.pull[0] = 0.0, 0.9, -200.0
    for _ in range(2400):
        run(where, motion, 100, bench.dt)
        ground = motion.ground
        rows.append((motion.q[0], ground.sinkage.copy(), ground.scratch.copy(), ground.shear[:, 2].copy()))
    way = rows[-1][0] - 0.05
    _, sinkage, scratch, dug = at_way(rows, way)
    for follower, passed in ((MIDDLE, [(0.5349, FRONT)]), (REAR, [(0.5381, MIDDLE), (1.073, FRONT)])):
        earlier = [(at_way(rows, way - behind), list(wheels)) for behind, wheels in passed]
        deepest = np.max([row[1][wheels] for row, wheels in earlier], axis=0)
        most = np.max([dug[list(follower)], *(row[3][wheels] for row, wheels in earlier)], axis=0)
        for wheel, before, dug_there in zip(follower, deepest, most, strict=True):
            factor = math.exp(-amount * (soil.exponent + 0.5) * dug_there)
            bears = scratch[wheel, NORMAL] * scratch[wheel, COSINE]
            assert factor < 0.8
            assert bears == pytest.approx(columns_force(bench.wheel, sinkage[wheel], before, factor), rel=3e-3)
    assert most.min() > 1.05 * dug[list(REAR)].max()  # so that what the wheels ahead have dug counts
