"""Soils whose shear stress peaks and falls: the published laws at the displacement of (4.30), and steady traction."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar

from models.wheel import FlexibleWheel, RigidWheel, Ring, Soil
from models.wheel.shear_law import share_of_limit, slip_over_grip
from models.wheel.traction import shear_soil, slip_and_slide
from references import wheel_stresses

RADIUS, WIDTH, K = 0.125, 0.1, 0.2
LEVEL = Soil(1.783e6, 0.75, friction_angle=0.52, rebound=0.025, slip_modulus=K, shear_modulus=0.004)
LAWS = st.sampled_from(["oida", "wong"])
EXPONENTIAL = replace(LEVEL, shear="exponential")


def peaking(law: str, residual: float) -> Soil:
    return replace(LEVEL, shear=law, shear_residual=residual)


def packed(soil: Soil) -> np.ndarray:
    return RigidWheel(RADIUS, WIDTH, soil).parameters


def displacement(slip: float) -> float:
    """Of Janosi and Hanamoto's law, over its modulus, at which it gives the share tanh(slip/K) of (4.30)."""
    return float(brentq(lambda j: 1.0 - math.exp(-j) - math.tanh(slip / K), 0.0, 30.0, xtol=1e-14))


@given(LAWS, st.floats(0.01, 0.95), st.floats(0.001, 0.9))
@settings(deadline=None)
def test_the_share_of_the_limit_is_that_of_the_published_law_at_the_displacement_of_the_level_soil(law, residual, slip):
    soil = peaking(law, residual)
    expected = wheel_stresses.mobilised(soil, displacement(slip) / displacement(K))
    assert share_of_limit(packed(soil), slip) == pytest.approx(expected, rel=1e-9)
    assert share_of_limit(packed(soil), -slip) == pytest.approx(-expected, rel=1e-9)


@pytest.mark.parametrize("residual", [0.0, 0.3, 0.9])
def test_oidas_law_is_largest_at_the_slip_modulus_and_wongs_is_one_there(residual):
    oida, wong = (packed(peaking(law, residual)) for law in ("oida", "wong"))
    most = minimize_scalar(lambda s: -share_of_limit(oida, s), bounds=(0.01, 1.0), options={"xatol": 1e-9})
    assert (most.x, -most.fun) == pytest.approx((K, 1.0), abs=1e-6)
    assert share_of_limit(wong, K) == pytest.approx(1.0)
    shares = [share_of_limit(wong, slip) for slip in np.linspace(0.0, 1.0, 500)]
    assert 1.0 <= max(shares) < 1.08
    assert share_of_limit(oida, 1e300) == share_of_limit(wong, 1e300) == residual


def test_without_a_peak_traction_is_the_tanh_to_the_last_bit():
    p = packed(LEVEL)
    for slip in (-0.7, 0.0, 1e-12, 0.05, 3.0):
        assert share_of_limit(p, slip) == math.tanh(slip / K)


@pytest.mark.parametrize("relative", [1e-12, 1e-3, 0.4, 3.0, 800.0])
def test_an_exponential_soil_takes_janosi_and_hanamotos_law_at_a_displacement_in_proportion_to_the_slip(relative):
    p = packed(EXPONENTIAL)
    expected = wheel_stresses.mobilised(EXPONENTIAL, relative)
    assert share_of_limit(p, relative * K) == pytest.approx(expected, rel=1e-12)
    assert share_of_limit(p, -relative * K) == -share_of_limit(p, relative * K)
    assert slip_over_grip(p, relative) == pytest.approx(relative / expected, rel=1e-9)


@given(LAWS, st.floats(0.0, 0.95), st.floats(1e-12, 2.0))
@settings(deadline=None)
def test_slip_over_grip_is_smooth_down_to_no_slip(law, residual, relative):
    p = packed(peaking(law, residual))
    if relative > 1e-6:
        assert slip_over_grip(p, relative) == pytest.approx(relative / share_of_limit(p, relative * K), rel=1e-9)
    assert slip_over_grip(p, 1e-12) == pytest.approx(slip_over_grip(p, 1e-6), rel=1e-4)


# Largest deviation over the largest torque, and that of the level soil; docs/explanation/wheel.md states them.
@pytest.mark.parametrize(
    ("law", "residual", "most"),
    [("janosi_hanamoto", None, 0.14), ("exponential", None, 0.09), ("oida", 0.6, 0.25), ("wong", 0.8, 0.15)],
)
def test_the_lumped_law_is_as_near_to_the_integral_of_the_stresses_as_stated(law, residual, most):
    """The same law at each point of the contact, integrated: there the front is sheared less than the rear."""
    soil = replace(LEVEL, shear=law, shear_residual=residual)
    slips, sinkage = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.9]), 0.006
    stresses = np.array([wheel_stresses.wheel_forces(RADIUS, WIDTH, soil, sinkage, slip)[2] for slip in slips])

    def deviation(modulus: float) -> float:
        lumped = RigidWheel(RADIUS, WIDTH, replace(soil, slip_modulus=modulus)).forces(sinkage, slips).torque
        return float(np.abs(lumped - stresses).max() / stresses.max())

    best = minimize_scalar(deviation, bounds=(0.03, 0.5), method="bounded").fun
    assert 0.3 * most < best < most
    if residual is not None:  # both fall beyond a peak, and end apart by less than that
        assert stresses.argmax() in (1, 2, 3)
        assert stresses[-1] < 0.95 * stresses.max()


@pytest.mark.parametrize("dt", [2e-3, 0.1, 10.0])
@pytest.mark.parametrize("slip", [0.05, 0.2, 0.7])
@pytest.mark.parametrize(("law", "residual"), [("exponential", None), ("oida", 0.3), ("wong", 0.0)])
def test_steady_sliding_ends_on_the_curve_on_both_sides_of_the_peak(law, residual, slip, dt):
    p, sheared, limit = packed(peaking(law, residual)), np.zeros(2), 50.0
    speeds = slip_and_slide(0.02 * (1.0 - slip), 0.0, 0.02, 1e-12)
    forces = []
    for _ in range(max(20, round(20.0 * 1e-3 / (0.02 * slip) / dt))):
        forces.append(shear_soil(p, sheared, *speeds, limit, K, (1.0 / K, 1e3), 0.005, dt)[0])
    assert forces[-1] == pytest.approx(limit * share_of_limit(p, slip), rel=1e-3)
    # the force grows to its end without passing it, however long the step
    assert max(forces) <= forces[-1] * (1.0 + 1e-9)
    assert min(forces) >= 0.0


def test_the_peaking_soil_pulls_more_before_its_peak_and_less_beyond():
    level, peaks = (RigidWheel(RADIUS, WIDTH, soil) for soil in (LEVEL, peaking("oida", 0.5)))
    slips = np.array([0.05, 0.2, 0.8])
    more = peaks.forces(0.004, slips).longitudinal - level.forces(0.004, slips).longitudinal
    assert more[0] > 0.0
    assert more[1] > 0.0
    assert more[2] < 0.0
    assert peaks.forces(0.004, slips).vertical == pytest.approx(level.forces(0.004, slips).vertical, rel=0.05)


def test_a_flexible_wheel_takes_the_law_too():
    ring = Ring(1e9, 1e9)
    for soil in (peaking("oida", 0.5), peaking("wong", 0.0)):
        stiff, rigid = FlexibleWheel(RADIUS, WIDTH, soil, ring), RigidWheel(RADIUS, WIDTH, soil)
        slips = np.array([0.05, 0.15, 0.6])
        assert stiff.forces(0.004, slips).torque == pytest.approx(rigid.forces(0.004, slips).torque, rel=1e-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: replace(LEVEL, shear="oida"), "shear_residual is None, allowed with shear 'oida': a number"),
        (lambda: replace(LEVEL, shear_residual=0.5), "shear_residual is 0.5, allowed with shear 'janosi_hanamoto'"),
        (lambda: replace(EXPONENTIAL, shear_residual=0.5), "shear_residual is 0.5, allowed with shear 'exponential'"),
        (lambda: replace(LEVEL, shear="mohr"), "shear is 'mohr', allowed: one of"),
        (lambda: peaking("wong", 1.0), "shear_residual is 1"),
        (
            lambda: RigidWheel(RADIUS, WIDTH, replace(peaking("oida", 0.5), peak_offset=0.4, peak_slope=0.0), "xu"),
            "soil.shear is 'oida', allowed with variant 'xu'",
        ),
        (
            lambda: FlexibleWheel(RADIUS, WIDTH, peaking("oida", 0.5), Ring(2.0, 1e4)).stress_forces(0.004, 0.1),
            "soil.shear is 'oida', allowed for stresses",
        ),
    ],
)
def test_what_does_not_go_with_a_peak_is_refused_in_words(make, message):
    with pytest.raises(ValueError, match=message):
        make()
