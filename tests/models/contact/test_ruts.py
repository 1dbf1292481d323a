"""Ruts under a rover: order of the wheels, depth by place, and the forces of a single wheel in a rut."""

from __future__ import annotations

import numpy as np
import pytest

from models.contact.ruts import NOBODY, PLACES, SPACING, deepest_before, leave, make_ruts
from models.contact.wheel_slots import COSINE, NORMAL, SINE
from models.rover import exomars, rcp
from models.vehicle import run

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


def test_a_rut_is_met_where_it_was_left_and_in_proportion_between_two_places():
    ruts = make_ruts(rcp(wheel_width=0.15))
    for place in range(-3, 4):
        leave(ruts, 0, place * SPACING, 0.45, 0.01 + 0.001 * place)
    for x in (-0.03, -0.025, 0.0, 0.004, 0.0299):
        assert deepest_before(ruts, 2, x, 0.45) == pytest.approx(0.01 + 0.1 * x, abs=1e-12)
    assert deepest_before(ruts, 2, 0.5, 0.45) == 0.0  # no wheel has been there
    assert deepest_before(ruts, 3, 0.0, 0.45) == 0.0  # another track
    assert deepest_before(ruts, 0, 0.0, 0.45) == 0.0  # no wheel is ahead
    assert deepest_before(ruts, 2, 0.0, 0.45 + 0.074) > 0.0
    assert deepest_before(ruts, 2, 0.0, 0.45 + 0.076) == 0.0  # half a wheel aside


def test_memory_reaches_further_back_than_any_rover_and_then_starts_again():
    ruts = make_ruts(rcp())
    assert PLACES * SPACING > 10.0
    leave(ruts, 0, 0.0, 0.4, 0.01)
    leave(ruts, 0, PLACES * SPACING, 0.4, 0.02)
    assert deepest_before(ruts, 2, PLACES * SPACING, 0.4) == pytest.approx(0.02)


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
        if remembered[0] > 0.515:
            break
        np.testing.assert_array_equal(fresh[2], remembered[2])
        assert fresh[:2] == remembered[:2]
    assert fresh[0] > 0.51


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
