"""The published variant: the thesis's numbers, an independent form of its formulas, and their errors."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.wheel import RigidWheel, Soil, published
from references import wheel_stresses

RADIUS, WIDTH = 0.265, 0.22
SINKAGES = np.linspace(0.002, 0.1, 50)


def wheel(exponent: float, rebound: float = 0.1, variant: str = "published") -> RigidWheel:
    return RigidWheel(
        RADIUS, WIDTH, Soil(1.0e6, exponent, friction_angle=0.5, rebound=rebound, slip_modulus=0.2), variant
    )


def test_regression_gives_the_known_slope_and_intersection_volume() -> None:
    a_1, volume = published.regression(RADIUS, WIDTH)
    assert a_1 == pytest.approx(0.7136, abs=5e-5)
    assert volume / (WIDTH * RADIUS**2) == pytest.approx(16.19, abs=5e-3)


def test_slope_depends_on_the_sampling() -> None:
    assert published.regression(RADIUS, WIDTH, 10)[0] == pytest.approx(0.744, abs=5e-4)


@settings(deadline=None)
@given(st.floats(0.05, 0.5), st.floats(0.05, 0.5))
def test_scaled_regression_equals_the_regression_of_that_wheel(radius: float, width: float) -> None:
    z = radius * np.arange(1, 1001) / 1000
    a = np.sqrt(2 * radius * z - z**2)
    volume = width * (radius**2 * np.arccos(1 - z / radius) - (radius - z) * a)
    a_1, a_0 = np.polyfit(np.log(volume), np.log(2 * width * a / volume), 1)
    slope, intersection = published.regression(radius, width)
    assert slope == pytest.approx(-a_1, rel=1e-8)
    assert intersection == pytest.approx(math.exp(-a_0 / a_1), rel=1e-7)


@settings(deadline=None)
@given(st.floats(0.3, 1.75), st.floats(0.01, 1.0), st.floats(0.01, 1.0))
def test_kernel_equals_the_formulas_as_printed_and_mended(exponent: float, rebound: float, u: float) -> None:
    z = u * RADIUS
    a_1, v_int = published.regression(RADIUS, WIDTH)
    volume = wheel_stresses.hypervolume(RADIUS, WIDTH, 1.0, z)
    plastic = (-0.345 * rebound + 0.897 * math.sqrt(rebound) + 0.458) * v_int  # (4.28)
    force = 1.0e6 * (volume / plastic) ** (a_1 * (exponent - 1.0)) * volume  # (3.20)
    rear = 0.5 * wheel_stresses.hypervolume(RADIUS, WIDTH, 1.0, rebound * z) / rebound
    first = z**3 / 3 + (RADIUS - z) * z**2 / 2
    last = ((rebound * z) ** 3 / 3 + (RADIUS - rebound * z) * (rebound * z) ** 2 / 2) / rebound
    r_cx = WIDTH * (first - last) / (0.5 * volume + rear)
    shifted = (1 + (exponent - 1) ** 2) * v_int
    r_x = (v_int / shifted) ** (a_1 * (exponent - 1.0)) * r_cx  # (4.11)
    r_z = RADIUS - z + 0.5 * (volume / v_int) ** a_1  # (4.14) mended
    phi = math.atan(r_x / r_z)  # (4.6)
    vertical, horizontal = wheel(exponent, rebound).normal_force(z)
    assert vertical == pytest.approx(force * math.cos(phi), rel=1e-11)
    assert horizontal == pytest.approx(force * math.sin(phi), rel=1e-10, abs=1e-12 * force)


def test_hypervolume_equals_the_exact_one_at_exponent_one() -> None:
    assert wheel(1.0).hypervolume(SINKAGES) == pytest.approx(
        wheel(1.0, variant="exact").hypervolume(SINKAGES), rel=1e-15
    )


def test_hypervolume_is_up_to_14_percent_wrong_elsewhere() -> None:
    error = {
        exponent: np.max(
            np.abs(wheel(exponent).hypervolume(SINKAGES) / wheel(exponent, variant="exact").hypervolume(SINKAGES) - 1)
        )
        for exponent in np.linspace(0.5, 1.5, 11)
    }
    assert 0.12 < max(error.values()) < 0.15


def test_bekkers_formula_doubled_is_up_to_15_percent_wrong() -> None:
    error = [
        abs(wheel_stresses.bekker_hypervolume(RADIUS, WIDTH, float(exponent), float(z)) / exact - 1.0)
        for exponent in np.linspace(0.5, 1.5, 11)
        for z in SINKAGES[::7]
        for exact in [wheel_stresses.hypervolume(RADIUS, WIDTH, float(exponent), float(z))]
    ]
    assert 0.13 < max(error) < 0.155


def test_vertical_force_ignores_the_rebound_at_exponent_one_where_the_exact_one_halves() -> None:
    low, high = 1e-6, 1.0
    ratio = wheel(1.0, low, "exact").normal_force(0.02)[0] / wheel(1.0, high, "exact").normal_force(0.02)[0]
    assert ratio == pytest.approx(0.5, abs=2e-3)
    size = [math.hypot(*wheel(1.0, rebound).normal_force(0.02)) for rebound in (low, high)]
    assert size[0] == pytest.approx(size[1], rel=1e-15)


def test_resistance_vanishes_when_the_soil_rebounds_fully() -> None:
    for exponent in (0.5, 0.75, 1.0, 1.5):
        assert np.all(wheel(exponent, 1.0).normal_force(SINKAGES)[1] == 0.0)
        falling = [wheel(exponent, rebound).normal_force(0.02)[1] for rebound in (0.025, 0.1, 0.4, 0.9)]
        assert np.all(np.diff(falling) < 0.0)


def test_mean_depth_of_the_regression_is_up_to_30_percent_too_small() -> None:
    a_1, v_int = published.regression(RADIUS, WIDTH)
    for z in (0.002, 0.005, 0.02, 0.1, 0.26):
        volume = wheel_stresses.hypervolume(RADIUS, WIDTH, 1.0, z)
        mean = wheel_stresses.hypervolume(RADIUS, WIDTH, 2.0, z) / volume
        assert 0.7 < (volume / v_int) ** a_1 / mean < 1.0


@pytest.mark.parametrize("exponent", [0.5, 0.75, 1.0, 1.25, 1.5])
def test_normal_force_is_about_half_too_large_at_a_rebound_of_a_tenth(exponent: float) -> None:
    vertical, horizontal = wheel(exponent).normal_force(SINKAGES)
    ratio = np.hypot(vertical, horizontal) / wheel(exponent, variant="exact").normal_force(SINKAGES)[0]
    assert np.all((ratio > 1.38) & (ratio < 1.59))
