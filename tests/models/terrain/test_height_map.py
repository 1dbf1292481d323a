"""Height maps: C1 patches, normals, foot points, a plane as on a slope, and no work from a closed way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from models.terrain import make_height_map, slope_of, surface, uneven_ground
from models.terrain.height_map import foot, local
from models.terrain.surface import axes, beyond_edge, clearance, contact_plane

ONE = 0.1
X, Y = -1.0 + ONE * np.arange(60), -2.0 + ONE * np.arange(45)
RANDOM = np.random.default_rng(4)
ROUGH = make_height_map(
    0.4 * np.exp(-((X[:, None] - 1.5) ** 2 + Y[None] ** 2) / 0.7) + 0.002 * RANDOM.standard_normal((60, 45)),
    X[0], Y[0], ONE,
)  # fmt: skip
PLACES = np.column_stack([RANDOM.uniform(0.0, 3.0, 40), RANDOM.uniform(-1.0, 1.5, 40)]).tolist()
RADIUS = 0.28


def test_the_map_has_the_heights_of_its_nodes():
    for i, j in [(1, 1), (7, 20), (30, 43), (58, 2)]:
        assert local(ROUGH, X[i], Y[j])[0] == pytest.approx(ROUGH.height[i, j], abs=1e-14)


def test_slopes_and_second_derivatives_are_those_of_the_heights():
    step = 1e-6
    for x, y in PLACES:
        sides = [
            (np.array(local(ROUGH, x + dx, y + dy)) - local(ROUGH, x - dx, y - dy)) / (2.0 * step)
            for dx, dy in ((step, 0.0), (0.0, step))
        ]
        _, by_x, by_y, xx, xy, yy = local(ROUGH, x, y)
        assert (sides[0][0], sides[1][0]) == pytest.approx((by_x, by_y), abs=1e-8)
        assert (sides[0][1], sides[0][2], sides[1][2]) == pytest.approx((xx, xy, yy), abs=1e-6)


def test_height_and_normal_are_continuous_at_the_edges_of_patches_and_of_the_map():
    beside = 1e-10
    x0, x1, y0, y1 = ROUGH.extent
    for x, y in [(0.3, 0.123), (0.456, -0.7), (0.3, -0.7), (x0, 0.11), (x1, 0.11), (0.11, y0), (0.11, y1), (x1, y1)]:
        here = np.array(local(ROUGH, x - beside, y - beside)[:3])
        assert np.array(local(ROUGH, x + beside, y + beside)[:3]) == pytest.approx(here, abs=1e-7)


def test_a_tilted_map_is_the_slope_to_rounding():
    slope = slope_of(math.radians(12.0), math.radians(-7.0))
    plane = uneven_ground(make_height_map([[surface(slope, x, y)[0] for y in Y] for x in X], X[0], Y[0], ONE))
    for x, y in PLACES:
        place = (x, y, 0.9)
        distance, normal = contact_plane(plane, place, 0)
        assert distance == pytest.approx(clearance(slope, place, 0), abs=1e-14)
        assert np.array(axes(plane, normal)) == pytest.approx(np.array(axes(slope, slope.normal)), abs=1e-13)


def test_the_foot_point_is_the_nearest_of_the_surface():
    for x, y in PLACES:
        z, p, q, *_ = local(ROUGH, x, y)
        up = np.array([-p, -q, 1.0]) / math.sqrt(1.0 + p * p + q * q)
        centre = np.array([x, y, z]) + 0.9 * RADIUS * up

        def away(at, centre=centre):
            return math.dist(centre, (*at, local(ROUGH, *at)[0]))

        nearest = minimize(away, centre[:2], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14}).fun
        distance, normal = foot(ROUGH, tuple(centre))
        assert distance == pytest.approx(nearest, abs=1e-9)
        assert distance == pytest.approx(0.9 * RADIUS, abs=1e-9)
        assert normal == pytest.approx(up, abs=1e-6)


def test_a_force_by_the_depth_along_the_normal_gives_no_work_on_a_closed_way():
    turn = np.linspace(0.0, 2.0 * math.pi, 20_001)
    x, y = 1.2 + 0.8 * np.cos(turn), 0.1 + 0.7 * np.sin(turn)
    height = np.array([local(ROUGH, a, b)[0] for a, b in zip(x, y, strict=True)])
    centres = np.column_stack([x, y, height + RADIUS - 0.02 + 0.005 * np.sin(3.0 * turn)])
    felt = [foot(ROUGH, tuple(place)) for place in centres.tolist()]
    forces = np.array([2e4 * max(RADIUS - distance, 0.0) * np.array(normal) for distance, normal in felt])
    work = (0.5 * (forces[1:] + forces[:-1]) * np.diff(centres, axis=0)).sum()
    moved = np.abs((0.5 * (forces[1:] + forces[:-1]) * np.diff(centres, axis=0)).sum(axis=1)).sum()
    assert moved > 10.0
    assert abs(work) < 1e-5 * moved


def test_how_far_a_place_lies_beyond_the_edge():
    x0, x1, y0, _ = ROUGH.extent
    ground = uneven_ground(ROUGH)
    assert beyond_edge(ground, 0.5, 0.5) == 0.0
    assert beyond_edge(ground, x1 + 0.3, 0.5) == pytest.approx(0.3)
    assert beyond_edge(ground, x0 - 0.1, y0 - 0.2) == pytest.approx(0.2)
    assert beyond_edge(None, 1e6, 0.0) == beyond_edge(slope_of(0.1, 0.0), 1e6, 0.0) == 0.0


@pytest.mark.parametrize(
    ("height", "words"), [(np.zeros((3, 9)), "allowed: 4 or more"), (np.full((5, 5), math.nan), "25 heights are not")]
)
def test_what_is_no_height_map_is_refused(height, words):
    with pytest.raises(ValueError, match=words):
        make_height_map(height, 0.0, 0.0, 0.1)
