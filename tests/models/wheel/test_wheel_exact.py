"""The exact variant against quadrature, two independent kinds of it."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from models.wheel import RigidWheel, Soil, hypervolume
from references import wheel_stresses

exponents = st.floats(0.3, 1.75)
rebounds = st.floats(1e-6, 1.0)
radii = st.floats(0.02, 2.0)
depths = st.one_of(st.floats(1e-9, 1e-3), st.floats(1e-3, 1.0))  # sinkage over radius


def soil(exponent: float, rebound: float, stiffness: float = 1.0e6) -> Soil:
    return Soil(stiffness, exponent, cohesion=500.0, friction_angle=0.6, rebound=rebound, slip_modulus=0.2)


def tanh_sinh(function: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]) -> float:
    """Integrates over (0, 1) a function of (y, 1 - y), both exact to the last digit at their end."""
    step = 1.0 / 64.0
    t = np.arange(-300, 301) * step
    inner = np.pi * np.sinh(t)
    y, rest = 1.0 / (1.0 + np.exp(-inner)), 1.0 / (1.0 + np.exp(inner))
    return float(np.sum(function(y, rest) * y * rest * np.pi * np.cosh(t)) * step)


def column_integral(radius: float, sinkage: float, exponent: float) -> float:
    """Integral of f^eta over 0 <= x <= a, in x, by tanh-sinh: shares neither variable nor scheme with the model."""
    a = math.sqrt(sinkage * (2.0 * radius - sinkage))

    def integrand(y: NDArray[np.float64], rest: NDArray[np.float64]) -> NDArray[np.float64]:
        x = a * y
        root = np.sqrt((radius - a + a * rest) * (radius + x))
        return np.asarray((a * rest * (a + x) / (root + (radius - sinkage))) ** exponent * a)

    return tanh_sinh(integrand)


@settings(deadline=None)
@given(exponents, rebounds, radii, depths)
@example(0.3, 1.0, 0.265, 1.0)
@example(0.3, 1e-6, 0.265, 1e-9)
@example(1.75, 1.0, 0.265, 1.0)
def test_vertical_force_matches_quadrature_to_1e_11(exponent: float, rebound: float, radius: float, u: float) -> None:
    ground = soil(exponent, rebound)
    vertical, _ = RigidWheel(radius, 0.1, ground).normal_force(u * radius)
    assert vertical == pytest.approx(wheel_stresses.normal_resultants(radius, 0.1, ground, u * radius)[0], rel=1e-11)


@settings(deadline=None)
@given(exponents, rebounds, radii, depths)
def test_vertical_force_matches_an_independent_scheme_to_1e_11(
    exponent: float, rebound: float, radius: float, u: float
) -> None:
    z = u * radius
    front = column_integral(radius, z, exponent)
    rear = z ** (exponent - 1.0) / rebound * column_integral(radius, rebound * z, 1.0)
    vertical, _ = RigidWheel(radius, 0.1, soil(exponent, rebound)).normal_force(z)
    assert vertical == pytest.approx(1.0e6 * 0.1 * (front + rear), rel=1e-11)


@settings(deadline=None)
@given(exponents, rebounds, radii, depths)
@example(1.75, 1.0, 0.265, 0.5)
def test_horizontal_force_matches_quadrature_to_1e_12(exponent: float, rebound: float, radius: float, u: float) -> None:
    z = u * radius
    ground = soil(exponent, rebound)
    _, horizontal = RigidWheel(radius, 0.1, ground).normal_force(z)
    expected = max(0.0, wheel_stresses.normal_resultants(radius, 0.1, ground, z)[1])
    # front and rear nearly cancel near gamma = 2/(eta+1), so the scale is the front's own resistance
    assert horizontal == pytest.approx(expected, rel=0.0, abs=1e-12 * 1.0e6 * 0.1 * z ** (exponent + 1.0))


@pytest.mark.slow
@settings(deadline=None)
@given(exponents, radii, depths)
@example(0.3, 0.265, 1.0)
@example(1.75, 0.265, 1e-9)
def test_hypervolume_matches_two_quadratures_to_1e_11(exponent: float, radius: float, u: float) -> None:
    z = u * radius
    found = RigidWheel(radius, 0.1, soil(exponent, 0.1)).hypervolume(z)
    assert found == pytest.approx(wheel_stresses.hypervolume(radius, 0.1, exponent, z), rel=1e-11)
    assert found == pytest.approx(0.2 * column_integral(radius, z, exponent), rel=1e-11)


def test_fit_is_within_1e_12_of_its_quadrature_over_the_whole_range() -> None:
    u = np.concatenate([np.logspace(-12, -3, 50), np.linspace(1e-3, 1.0, 2000)])
    for exponent in np.linspace(0.3, 1.75, 59):
        fitted = np.polynomial.polynomial.polyval(u, hypervolume.fit(float(exponent)))
        assert np.max(np.abs(fitted / hypervolume.smooth_part(u, float(exponent)) - 1.0)) < 1e-12


@settings(deadline=None)
@given(exponents)
def test_small_sinkage_limit_is_the_beta_function(exponent: float) -> None:
    beta = math.exp(math.lgamma(0.5) + math.lgamma(exponent + 1.0) - math.lgamma(exponent + 1.5))
    assert hypervolume.fit(exponent)[0] == pytest.approx(math.sqrt(2.0) * beta, rel=1e-12)


@settings(deadline=None)
@given(st.floats(1e-9, 1.0))
def test_hypervolume_at_exponent_one_is_the_circular_segment(u: float) -> None:
    radius, width = 0.265, 0.22
    half_angle = 2.0 * math.asin(math.sqrt(u / 2.0))
    # (2w - sin 2w)/2 by its series where the difference would cancel
    x = 2.0 * half_angle
    area = (
        0.5 * (x - math.sin(x))
        if x > 0.3
        else 0.5 * sum((-1) ** k * x ** (2 * k + 3) / math.factorial(2 * k + 3) for k in range(6))
    )
    found = RigidWheel(radius, width, soil(1.0, 0.1)).hypervolume(u * radius)
    assert found == pytest.approx(width * radius**2 * area, rel=1e-12)


@settings(deadline=None)
@given(exponents, radii, depths)
def test_resistance_without_rebound_is_bekkers(exponent: float, radius: float, u: float) -> None:
    z = u * radius
    _, horizontal = RigidWheel(radius, 0.1, soil(exponent, 1e-13)).normal_force(z)
    assert horizontal == pytest.approx(1.0e6 * 0.1 * z ** (exponent + 1.0) / (exponent + 1.0), rel=1e-12)


@settings(deadline=None)
@given(st.floats(1.0, 1.75), st.floats(0.0, 1.0), depths)
def test_resistance_is_never_negative(exponent: float, part: float, u: float) -> None:
    least = 2.0 / (exponent + 1.0)
    rebound = least + part * (1.0 - least)
    vertical, horizontal = RigidWheel(0.265, 0.22, soil(exponent, rebound)).normal_force(u * 0.265)
    assert vertical > 0.0
    assert horizontal == pytest.approx(0.0, abs=1e-15 * vertical)
    assert horizontal >= 0.0


@settings(deadline=None)
@given(exponents, rebounds)
def test_force_goes_to_zero_with_the_sinkage_as_its_leading_term(exponent: float, rebound: float) -> None:
    wheel = RigidWheel(0.265, 0.22, soil(exponent, rebound))
    sinkages = 0.265 * np.logspace(-14, -6, 9)
    vertical, _ = wheel.normal_force(sinkages)
    leading = vertical / sinkages ** (exponent + 0.5)
    assert leading == pytest.approx(np.full(9, leading[0]), rel=1e-5)
    assert np.all(np.diff(vertical) > 0.0)


@settings(deadline=None)
@given(exponents, rebounds, st.floats(1e-6, 1.0), st.floats(1.0001, 2.0))
def test_vertical_force_grows_with_sinkage(exponent: float, rebound: float, u: float, factor: float) -> None:
    wheel = RigidWheel(0.265, 0.22, soil(exponent, rebound))
    assert wheel.normal_force(0.265 * min(1.0, u))[0] <= wheel.normal_force(0.265 * min(1.0, u * factor))[0]
