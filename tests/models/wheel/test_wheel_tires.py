"""Tire I, II and III side by side: against quadrature, and where the three must agree."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from models.wheel import RigidWheel, Soil, hypervolume
from references import wheel_stresses

TIRES = ("tire_1", "tire_2", "exact")
RADIUS, WIDTH = 0.125, 0.1


def tire(variant: str, exponent: float, rebound: float) -> RigidWheel:
    soil = Soil(1e6, exponent, friction_angle=0.5, rebound=rebound, slip_modulus=0.2)
    return RigidWheel(RADIUS, WIDTH, soil, variant)


@settings(deadline=None)
@given(st.sampled_from(TIRES), st.floats(0.3, 1.75), st.floats(1e-6, 1.0), st.floats(1e-9, 1.0))
@example("tire_1", 0.3, 1.0, 1.0)
@example("tire_1", 0.3, 1.0 - 1e-9, 1.0)
@example("tire_2", 1.75, 1e-6, 1e-9)
def test_both_resultants_match_quadrature(variant: str, exponent: float, rebound: float, u: float) -> None:
    wheel, z = tire(variant, exponent, rebound), u * RADIUS
    vertical, horizontal = wheel.normal_force(z)
    expected = wheel_stresses.normal_resultants(RADIUS, WIDTH, wheel.soil, z, variant)
    assert vertical == pytest.approx(expected[0], rel=1e-11)
    scale = 1e6 * WIDTH * z ** (exponent + 1.0)
    assert horizontal == pytest.approx(max(0.0, expected[1]), rel=0.0, abs=1e-12 * scale)


@pytest.mark.slow
@settings(deadline=None)
@given(st.floats(0.3, 1.75), st.floats(1e-3, 1.0))
def test_without_rebound_all_three_are_a_front_half(exponent: float, u: float) -> None:
    half = 0.5e6 * wheel_stresses.hypervolume(RADIUS, WIDTH, exponent, u * RADIUS)
    bekker = 1e6 * WIDTH * (u * RADIUS) ** (exponent + 1.0) / (exponent + 1.0)
    for variant in TIRES:
        found = tire(variant, exponent, 1e-14).normal_force(u * RADIUS)
        assert found == pytest.approx((half, bekker), rel=1e-6)


def test_with_full_rebound_tire_1_and_2_carry_on_both_halves_without_resistance() -> None:
    for exponent in (0.5, 0.8, 1.0, 1.5):
        whole = 1e6 * wheel_stresses.hypervolume(RADIUS, WIDTH, exponent, 0.02)
        for variant in ("tire_1", "tire_2"):
            assert tire(variant, exponent, 1.0).normal_force(0.02) == (pytest.approx(whole, rel=1e-12), 0.0)
    assert tire("exact", 1.0, 1.0).normal_force(0.02) == (pytest.approx(1e6 * 2 * segment(0.02), rel=1e-12), 0.0)


def segment(sinkage: float) -> float:
    """Width times half the area of the circular segment [m^3]."""
    rest = RADIUS - sinkage
    return WIDTH * 0.5 * (RADIUS**2 * math.acos(rest / RADIUS) - rest * math.sqrt(RADIUS**2 - rest**2))


def test_tire_1_carries_most_and_is_held_back_least_where_the_soil_rebounds_a_little() -> None:
    one, two, three = (tire(variant, 0.8, 0.1).normal_force(0.01) for variant in TIRES)
    assert one[0] > three[0] > two[0]
    assert one[1] < three[1] < two[1]


def test_fit_of_the_cut_half_is_within_1e_12_of_its_quadrature() -> None:
    u = np.concatenate([np.logspace(-12, -3, 20), np.linspace(1e-3, 1.0, 200)])
    for exponent in np.linspace(0.3, 1.75, 7):
        for rebound in (1e-6, 0.1, 0.5, 0.99, 1.0):
            fitted = np.polynomial.polynomial.polyval(u, hypervolume.fit_of_cut(float(exponent), rebound))
            exact = hypervolume.smooth_part_of_cut(u, float(exponent), rebound)
            assert np.max(np.abs(fitted / exact - 1.0)) < 1e-12


def test_tire_3_is_a_name_of_the_exact_variant() -> None:
    assert tire("tire_3", 0.8, 0.1) == tire("exact", 0.8, 0.1)
