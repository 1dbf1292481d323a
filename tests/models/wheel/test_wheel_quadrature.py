"""Stresses by quadrature: the reference against limits in closed form, the closed forms against the split rule."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from models.wheel import RigidWheel, Soil, kernels, many, split_quadrature
from references import wheel_stresses

RADIUS, WIDTH = 0.175, 0.15


def wheel(exponent: float, rebound: float, modulus: float, cohesion: float = 0.0) -> RigidWheel:
    soil = Soil(
        1e6, exponent, cohesion=cohesion, friction_angle=0.5, rebound=rebound, slip_modulus=0.2, shear_modulus=modulus
    )
    return RigidWheel(RADIUS, WIDTH, soil)


@settings(deadline=None, max_examples=60)
@given(st.floats(0.3, 1.75), st.floats(1e-4, 1.0), st.floats(0.0, 1e4), st.floats(1e-4, 1.0), st.floats(-1.0, 1.0))
@example(0.3, 0.05, 0.0, 1.0, 1.0)
@example(1.75, 1.0, 0.0, 1.0, 0.0)
def test_the_closed_forms_are_within_1e_8_of_the_same_law_by_quadrature(
    exponent: float, rebound: float, cohesion: float, u: float, slip: float
) -> None:
    model, z = wheel(exponent, rebound, 0.01, cohesion), u * RADIUS
    longitudinal, vertical, torque = split_quadrature.wheel_forces(model.parameters, z, slip)
    expected = kernels.wheel_forces(model.parameters, z, slip)
    # each is a difference: its scale is that of its terms
    scale = abs(expected[1]) + abs(expected[2]) / RADIUS
    assert longitudinal == pytest.approx(expected[0], rel=0.0, abs=1e-8 * scale)
    assert vertical == pytest.approx(expected[1], rel=0.0, abs=1e-8 * scale)
    assert torque / RADIUS == pytest.approx(expected[2] / RADIUS, rel=0.0, abs=1e-8 * scale)


def test_fully_sheared_soil_gives_the_limit_of_mohr_and_coulomb() -> None:
    soil = wheel(0.8, 0.2, 1e-9, cohesion=700.0).soil
    z = 0.02
    _, _, torque = wheel_stresses.wheel_forces(RADIUS, WIDTH, soil, z, 1.0)
    angles = wheel_stresses.contact_angle(RADIUS, z) + wheel_stresses.contact_angle(RADIUS, 0.2 * z)
    weight = wheel_stresses.integrate(lambda t: 1e6 * wheel_stresses.depth(t, RADIUS, z) ** 0.8, angles_of(z))
    rear = 1e6 * z**-0.2 / 0.2
    weight += wheel_stresses.integrate(lambda t: rear * wheel_stresses.depth(t, RADIUS, 0.2 * z), angles_of(0.2 * z))
    assert torque == pytest.approx(WIDTH * RADIUS**2 * (700.0 * angles + math.tan(0.5) * weight), rel=1e-5)


def angles_of(sinkage: float) -> float:
    return math.acos(1.0 - sinkage / RADIUS)


def test_torque_of_a_shallow_wheel_in_stiff_shear_follows_the_series() -> None:
    # K_x -> inf: tau = (c + p tan) j / K_x; for eta = 1, small angles and slip 1, j = R (theta_1 - theta)
    model = wheel(1.0, 1e-9, 1e3)
    z = 1e-4
    entry = wheel_stresses.contact_angle(RADIUS, z)
    # integral of 1/2 (t1^2 - t^2) (t1 - t) over (0, t1) is t1^4 5/24
    expected = WIDTH * RADIUS**2 * 1e6 * RADIUS * math.tan(0.5) * RADIUS / 1e3 * entry**4 * 5.0 / 24.0
    assert wheel_stresses.wheel_forces(RADIUS, WIDTH, model.soil, z, 1.0)[2] == pytest.approx(expected, rel=1e-3)


def test_braking_shears_the_soil_forward_at_the_lowest_point_and_backward_never() -> None:
    soil = wheel(0.8, 0.1, 0.005).soil
    normal = wheel_stresses.pressure(RADIUS, soil, 0.02)
    driven = wheel_stresses.shear(RADIUS, soil, 0.02, 0.3, normal)
    braked = wheel_stresses.shear(RADIUS, soil, 0.02, -0.3, normal)
    for angle in np.linspace(-0.1, 0.45, 12):
        assert driven(float(angle)) >= 0.0
    assert braked(0.0) < 0.0
    assert braked(-0.1) < 0.0


def test_no_contact_is_exactly_zero() -> None:
    p = wheel(0.8, 0.1, 0.01).parameters
    for sinkage in (0.0, -0.0, -1.0):
        assert split_quadrature.wheel_forces(p, sinkage, 0.5) == (0.0, 0.0, 0.0)


def test_loops_give_the_numbers_of_single_calls() -> None:
    p = wheel(0.8, 0.1, 0.01).parameters
    sinkages, slips = np.linspace(-0.01, 0.175, 20), np.linspace(0.0, 1.0, 20)
    forces = np.empty((3, 20))
    many.split_quadrature_forces(p, sinkages, slips, forces)
    for i, (z, s) in enumerate(zip(sinkages, slips, strict=True)):
        assert tuple(forces[:, i]) == split_quadrature.wheel_forces(p, z, s)


def test_reference_asks_for_the_shear_modulus() -> None:
    soil = Soil(1e6, 0.8, friction_angle=0.5, rebound=0.1, slip_modulus=0.2)
    with pytest.raises(ValueError, match="shear_modulus is None, allowed"):
        wheel_stresses.wheel_forces(RADIUS, WIDTH, soil, 0.02, 0.1)
