"""Where a rim touches a plane, against the nearest of many points of its surface."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.contact.rim import rim_contact

R, B = 0.175, 0.15


def nearest(crown, normal, axle):
    """The point of a crowned rim that reaches farthest against a normal, of a fine net over the rim."""
    y = np.linspace(-0.5 * B, 0.5 * B, 4001)
    profile = R - crown + np.sqrt(crown**2 - y**2)
    down = -(normal - (normal @ axle) * axle)  # the point lies in the plane of axle and normal
    points = profile[:, None] * down / np.linalg.norm(down) + y[:, None] * axle
    best = points[np.argmin(points @ normal)]
    return -float(best @ normal), best


def leaning(angle, about=(1.0, 0.0, 0.0)):
    """Axle of a wheel that leans by an angle about a level direction."""
    x, y, _ = about
    side = np.array([-y, x, 0.0])
    return math.cos(angle) * side + math.sin(angle) * np.array([0.0, 0.0, 1.0])


@pytest.mark.parametrize("crown", [0.5 * B, 0.12, 0.3, 2.0])
@pytest.mark.parametrize("angle", [-0.5, -0.02, 0.0, 0.1, 0.3])
@pytest.mark.parametrize("slope", [0.0, 0.4])
def test_the_contact_is_the_nearest_point_of_the_rim(crown, angle, slope):
    normal, axle = np.array([-math.sin(slope), 0.0, math.cos(slope)]), leaning(angle, (0.8, 0.6, 0.0))
    reach, arm = rim_contact(np.array([(crown, 0.5 * B)]), 0, R, tuple(normal), tuple(axle))
    distance, point = nearest(crown, normal, axle)
    assert reach == pytest.approx(distance, abs=1e-8)
    assert np.array(arm) == pytest.approx(point, abs=1e-4)
    assert reach == pytest.approx(-float(np.array(arm) @ normal), abs=1e-15)


def test_the_contact_moves_over_the_crown_by_its_radius_times_the_lean():
    for angle in (0.05, 0.1, 0.15):
        _, arm = rim_contact(np.array([(0.3, 0.5 * B)]), 0, R, (0.0, 0.0, 1.0), tuple(leaning(angle)))
        assert np.array(arm) @ leaning(angle) == pytest.approx(-0.3 * math.sin(angle), abs=1e-15)


def test_beyond_its_crown_a_wheel_stands_on_its_edge():
    axle = leaning(0.6)
    _, arm = rim_contact(np.array([(0.3, 0.5 * B)]), 0, R, (0.0, 0.0, 1.0), tuple(axle))
    assert np.array(arm) @ axle == pytest.approx(-0.5 * B)


def test_without_a_crown_and_with_that_of_a_sphere_it_touches_below_its_centre():
    normal, axle = (-math.sin(0.3), 0.0, math.cos(0.3)), tuple(leaning(0.4))
    reach, arm = rim_contact(None, 0, R, normal, axle)
    assert reach == R
    assert arm == pytest.approx([-R * part for part in normal])
    sphere, beside = rim_contact(np.array([(R, math.inf)]), 0, R, normal, axle)
    assert sphere == pytest.approx(R, abs=1e-15)
    assert beside == pytest.approx(arm, abs=1e-15)
