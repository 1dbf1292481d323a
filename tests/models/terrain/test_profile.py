"""Places where a circle touches a line, against the distance to its segments; shapes and what lies behind them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.terrain import shapes
from models.terrain.profile import COLUMNS, GAP, MOST_TOUCHED, NORMAL_X, NORMAL_Z, make_profile, moved, touched

RADIUS = 0.15
SHAPES = {
    "step": shapes.ended(shapes.step(0.1), "plateau"),
    "high step": shapes.ended(shapes.step(0.3), "drop", top=0.2, drop=0.3),
    "inclined step": shapes.ended(shapes.step(0.1, math.radians(50.0)), "nothing", top=0.3),
    "ledge": shapes.ended(shapes.ledge(0.1, math.radians(20.0), 0.3), "plateau"),
    "slope": shapes.ended(shapes.faces_from([(0.3, 0.2), (0.3, 0.5)]), "plateau"),
    "trough": shapes.ended(shapes.faces_from([(0.3, -0.5), (0.3, 0.5)]), "plateau"),
}


def found_at(corners, x, z, reach=0.0):
    place = np.zeros((MOST_TOUCHED, COLUMNS))
    count = touched(make_profile(corners, 0.5, 0.0), x, z, RADIUS, reach, place)
    return place[:count]


def distance(corners, x, z):
    """To the nearest segment of the line."""
    points, at = np.array(corners), np.array([x, z])
    step = np.diff(points, axis=0)
    along = np.clip(((at - points[:-1]) * step).sum(axis=1) / (step**2).sum(axis=1), 0.0, 1.0)
    return float(np.hypot(*(points[:-1] + along[:, None] * step - at).T).min())


@pytest.mark.parametrize("name", SHAPES)
def test_the_nearest_place_is_as_far_as_the_nearest_segment(name):
    corners, random = SHAPES[name], np.random.default_rng(1)
    line = np.array(corners)
    for x in random.uniform(-0.3, 0.8, 300).tolist():
        height = float(np.interp(x, line[:, 0], line[:, 1]))
        if x > line[-1, 0]:
            continue
        z = height + random.uniform(0.5, 1.2) * RADIUS
        gap = distance(corners, x, z) - RADIUS
        found = found_at(corners, x, z)
        if gap >= 0.0:
            assert len(found) == 0
        elif distance(corners, x, z) > 0.4 * RADIUS:
            assert found[:, GAP].min() == pytest.approx(gap, abs=1e-12)
            assert np.hypot(found[:, NORMAL_X], found[:, NORMAL_Z]) == pytest.approx(1.0)


def test_a_wheel_touches_ground_and_edge_of_a_step_at_once_and_both_faces_of_a_high_one():
    depth = 1e-3
    edge_x = -math.sqrt(RADIUS**2 - (RADIUS - 0.1) ** 2)
    low = found_at(SHAPES["step"], edge_x + depth, RADIUS - depth)
    assert len(low) == 2
    sine = math.sqrt(RADIUS**2 - (RADIUS - 0.1) ** 2) / RADIUS
    assert sorted(low[:, NORMAL_X]) == pytest.approx([-sine, 0.0], abs=0.02)
    high = found_at(SHAPES["high step"], -RADIUS + depth, RADIUS - depth)
    assert sorted(high[:, NORMAL_X]) == pytest.approx([-1.0, 0.0])


def test_the_normal_of_a_wheel_that_rolls_over_an_edge_turns_without_a_jump():
    corners, last = shapes.ended(shapes.ledge(1.0), "plateau"), (0.0, 1.0)
    for angle in np.linspace(-0.2, 1.2, 50).tolist():  # of the centre about the edge, from upright
        x, z = (RADIUS * angle, RADIUS) if angle < 0.0 else (RADIUS * math.sin(angle), RADIUS * math.cos(angle))
        (found,) = found_at(corners, x, z - 1e-6)
        assert found[NORMAL_X] * last[0] + found[NORMAL_Z] * last[1] > 0.998
        last = found[NORMAL_X], found[NORMAL_Z]


def test_behind_a_shape_is_a_plateau_a_drop_or_nothing():
    over = RADIUS - 1e-3
    assert len(found_at(shapes.ended(shapes.step(0.1), "plateau"), 5.0, 0.1 + over)) == 1
    ended = shapes.ended(shapes.step(0.1), "drop", top=0.5, drop=0.2)
    assert len(found_at(ended, 0.4, 0.1 + over)) == 1
    assert len(found_at(ended, 1.0, -0.1 + over)) == 1
    nothing = shapes.ended(shapes.step(0.1), "nothing", top=0.5)
    assert len(found_at(nothing, 0.4, 0.1 + over)) == 1
    assert len(found_at(nothing, 1.0, over)) == 0


def test_a_moved_profile_is_touched_where_it_was_moved_to():
    profile = moved(make_profile(SHAPES["step"], 0.5, 0.0), 2.0)
    assert touched(profile, 2.1, 0.1 + RADIUS - 1e-3, RADIUS, 0.0, np.zeros((MOST_TOUCHED, COLUMNS))) == 1
    assert profile.point[1].tolist() == [2.0, 0.0]


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda: shapes.step(0.0), "length of face 0 is 0"),
        (lambda: shapes.step(0.1, 0.0), "angle is 0"),
        (lambda: shapes.ledge(0.1, 2.0), "angle of face 1 is 2"),
        (lambda: shapes.ended(shapes.step(0.1), "drop", drop=0.0), "drop is 0"),
        (lambda: shapes.ended(shapes.step(0.1), "nothing", top=-1.0), "top is -1"),
        (lambda: make_profile([(0.0, 0.0)], 0.5, 0.0), "1 points"),
        (lambda: make_profile([(0.0, 0.0), (1.0, 0.0)], -0.5, 0.0), "friction is -0.5"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(make, wrong):
    with pytest.raises(ValueError, match=wrong):
        make()
