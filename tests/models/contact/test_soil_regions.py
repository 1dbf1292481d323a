"""Soil by region: shares of polygons, rock below a layer, and a rover that drives from one soil onto another."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.contact.ruts import SoilRegion, make_regions, mixed_constants, mixed_resultant, share
from models.kernels.bound import BoundArguments
from models.vehicle import Scene, run, run_bound
from models.wheel import RigidWheel, Soil
from models.wheel.kernels import SLIP_MODULUS, resultant

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

SAND = Soil(1.58e5, 0.501, friction_angle=0.5, rebound=0.08, slip_modulus=0.8)
HARD = Soil(1.0e7, 0.9, friction_angle=0.6, rebound=0.2, slip_modulus=0.1)
ROCK = Soil(1.0e9, 1.0, friction_angle=0.6, rebound=0.9, slip_modulus=0.05)
SQUARE = ((1.0, -1.0), (3.0, -1.0), (3.0, 1.0), (1.0, 1.0))
HOOK = ((0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (3.0, 4.0), (3.0, 1.0), (0.0, 1.0))


def packed(soil):
    return RigidWheel(0.28, 0.25, soil).parameters


def regions_of(*regions):
    return make_regions(regions, [[packed(one.soil)] for one in regions])


def test_the_share_is_one_inside_none_outside_and_a_half_on_the_edge_of_any_polygon():
    for corners in (HOOK, HOOK[::-1]):
        made = regions_of(SoilRegion(corners, HARD, 0.2))
        for x, y, part in ((2.0, 0.5, 1.0), (3.5, 3.0, 1.0), (2.0, 2.0, 0.0), (-1.0, 0.5, 0.0), (2.0, 1.0, 0.5)):
            assert share(made, 0, x, y) == pytest.approx(part, abs=1e-12)
    across = [share(made, 0, 2.0, y) for y in np.linspace(0.85, 1.15, 301)]
    steps = -np.diff(across)
    assert (steps >= 0.0).all()
    assert steps.max() == pytest.approx(1.5 * 1e-3 / 0.2, rel=0.01)  # no jump
    assert np.abs(np.diff(steps)).max() < 1.1 * 6.0 * (1e-3 / 0.2) ** 2  # and no kink


def test_forces_are_those_of_each_soil_inside_and_mixed_by_shares_on_the_border():
    made, around, z = regions_of(SoilRegion(SQUARE, HARD, 0.2)), packed(SAND), 0.02
    inside, outside = resultant(packed(HARD), z), resultant(around, z)
    assert mixed_resultant(made, around, 0, 2.0, 0.0, z, 0.0)[:4] == pytest.approx(inside, rel=1e-12)
    assert mixed_resultant(made, around, 0, 0.0, 0.0, z, 0.0)[:4] == pytest.approx(outside, rel=1e-12)
    force, cosine, sine, limit, _ = mixed_resultant(made, around, 0, 1.0, 0.0, z, 0.0)
    modulus, _ = mixed_constants(made, around, 0, 1.0, 0.0)
    for mine, one, other in (
        (force * cosine, inside[0] * inside[1], outside[0] * outside[1]),
        (force * sine, inside[0] * inside[2], outside[0] * outside[2]),
        (limit, inside[3], outside[3]),
        (modulus, packed(HARD)[SLIP_MODULUS], around[SLIP_MODULUS]),
    ):
        assert mine == pytest.approx(0.5 * (one + other), rel=1e-12)
    later = regions_of(SoilRegion(SQUARE, SAND, 0.2), SoilRegion(SQUARE, HARD, 0.2))
    assert mixed_resultant(later, around, 0, 2.0, 0.0, z, 0.0)[:4] == pytest.approx(inside, rel=1e-12)


def test_rock_below_a_layer_is_not_felt_above_it_and_bears_with_it_below():
    made, around = regions_of(SoilRegion(SQUARE, ROCK, 0.2, under=0.03)), packed(SAND)
    soft, deep = resultant(around, 0.029), resultant(around, 0.031)
    assert mixed_resultant(made, around, 0, 2.0, 0.0, 0.029, 0.0)[:4] == pytest.approx(soft, rel=1e-12)
    rock = resultant(packed(ROCK), 0.001)
    vertical = mixed_resultant(made, around, 0, 2.0, 0.0, 0.031, 0.0)
    assert vertical[0] * vertical[1] == pytest.approx(deep[0] * deep[1] + rock[0] * rock[1], rel=1e-12)
    assert rock[0] > 0.5 * deep[0]


def test_each_soil_is_dug_by_its_own_constant_and_a_layer_of_rock_is_not(bench):
    digs, around, z, dug = replace(HARD, slip_sinkage=2.0), packed(SAND), 0.02, 0.3
    made = regions_of(SoilRegion(SQUARE, digs, 0.2), SoilRegion(SQUARE, ROCK, 0.2, under=0.01))
    left = math.exp(-2.0 * (0.9 + 0.5) * dug)
    force, cosine, *_ = mixed_resultant(made, around, 0, 2.0, 0.0, z, dug)
    rock, soil = resultant(packed(ROCK), 0.01), resultant(packed(HARD), z)
    assert force * cosine == pytest.approx(rock[0] * rock[1] + left * soil[0] * soil[1], rel=1e-12)
    assert mixed_resultant(made, around, 0, 0.0, 0.0, z, dug)[:4] == pytest.approx(resultant(around, z), rel=1e-12)
    assert mixed_constants(made, around, 0, 2.0, 0.0)[1] == pytest.approx(2.0 * 1.4)

    found = []
    digs = replace(bench.soil, slip_sinkage=1.5, slip_modulus=0.4)
    everywhere = [(-99.0, -99.0), (99.0, -99.0), (99.0, 99.0), (-99.0, 99.0)]
    for soil, regions in ((digs, ()), (HARD, (SoilRegion(everywhere, digs, 0.2),))):
        where, motion = bench.vehicle(drive=bench.free), bench.resting()
        parts = [[RigidWheel(bench.radius, 0.15, digs).parameters] * 6 for _ in regions]
        wheel = RigidWheel(bench.radius, 0.15, replace(soil, slip_modulus=0.4)).parameters
        where = where._replace(ground=where.ground._replace(wheel=wheel, regions=make_regions(regions, parts)))
        motion.drives.cut[:], motion.drives.set_speed[:], motion.pull[0] = 0.0, 0.9, -100.0
        run(where, motion, 5000, bench.dt)
        found.append([*motion.ground.sinkage, *motion.v])
        assert motion.ground.shear[:, 2].min() > 0.02
    assert found[0] == pytest.approx(found[1], rel=1e-9, abs=1e-12)


def test_a_region_with_two_corners_or_a_number_out_of_range_is_refused_by_its_number():
    with pytest.raises(ValueError, match="soil region 1: corners of shape"):
        regions_of(SoilRegion(SQUARE, HARD, 0.2), SoilRegion(SQUARE[:2], HARD, 0.2))
    with pytest.raises(ValueError, match="border"):
        regions_of(SoilRegion(SQUARE, HARD, 0.0))
    with pytest.raises(ValueError, match="under"):
        regions_of(SoilRegion(SQUARE, HARD, 0.2, under=-0.1))
    with pytest.raises(ValueError, match="corners"):
        regions_of(SoilRegion(((0.0, math.nan), *SQUARE[1:]), HARD, 0.2))


def test_a_rover_that_drives_onto_hard_soil_comes_out_of_the_soft_and_is_faster():
    nominal = nominal_rig(load_config("sim_scan", {"drive.steps": [{"for_s": 0.6, "speed_mps": 0.2}]}))
    hard = SoilRegion(((0.9, -3.0), (9.0, -3.0), (9.0, 3.0), (0.9, 3.0)), HARD, 0.3)
    level = replace(nominal.ground, relief=None, regions=(hard,))
    _, vehicle, state = replace(nominal, ground=level).build()
    state.drives.cut[:], state.drives.set_speed[:] = 0.0, 1.0
    bound, found = BoundArguments(Scene(vehicle, state)), []
    for _ in range(90):
        run_bound(bound, 500, 2e-4)
        found.append([state.q[0], state.v[0], *state.ground.sinkage])
    rows = np.array(found)
    before, after = (rows[np.abs(rows[:, 0] - way).argmin()] for way in (0.15, 1.7))
    assert after[2:].max() < 0.3 * before[2:].min()
    assert after[1] > 1.2 * before[1]
    assert np.abs(np.diff(rows[:, 2:], axis=0)).max() < 0.01  # it climbs out over the border, without a jump
