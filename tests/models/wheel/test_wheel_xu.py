"""The variant xu: closed forms against integrals of his linear stresses, and consequences."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from models.wheel import RigidWheel, Soil
from models.wheel.soil import Reece
from references import wheel_stresses

RADIUS, WIDTH = 0.15, 0.16

wheels = st.builds(
    lambda exponent, cohesion, modulus, c_1, c_2: RigidWheel(
        RADIUS,
        WIDTH,
        Soil(1e6, exponent, cohesion=cohesion, friction_angle=0.5, rebound=0.1, slip_modulus=0.2,
             shear_modulus=modulus, peak_offset=c_1, peak_slope=c_2, lateral_rate=3.0),
        "xu",
    ),
    st.floats(0.3, 1.75), st.floats(0.0, 1e5), st.floats(1e-3, 1.0), st.floats(1e-3, 0.7), st.floats(0.0, 0.29),
)  # fmt: skip


def stresses(
    wheel: RigidWheel, z: float, slip: float
) -> tuple[Callable[[float], float], Callable[[float], float], float, float]:
    """Normal and shear stress over the angle [Pa], Xu 2021 (24)-(27) written out, and theta_1, theta_m."""
    soil = wheel.soil
    assert soil.peak_offset is not None
    assert soil.peak_slope is not None
    assert soil.shear_modulus is not None
    entry = wheel_stresses.contact_angle(RADIUS, z)
    middle = (soil.peak_offset + soil.peak_slope * slip) * entry
    sigma = (
        soil.stiffness * (2 * RADIUS * math.sin((entry + middle) / 2) * math.sin((entry - middle) / 2)) ** soil.exponent
    )
    turned = entry - middle
    moved = 2 * math.cos((entry + middle) / 2) * math.sin(turned / 2)
    tau = (soil.cohesion + sigma * math.tan(soil.friction_angle)) * -math.expm1(
        -RADIUS / soil.shear_modulus * (turned - (1 - slip) * moved)
    )

    def normal(angle: float) -> float:
        return sigma * ((entry - angle) / (entry - middle) if angle > middle else angle / middle)

    def shear(angle: float) -> float:
        if angle > middle:
            return tau * (entry - angle) / (entry - middle)
        return soil.cohesion + angle / middle * (tau - soil.cohesion)

    return normal, shear, entry, middle


@settings(deadline=None)
@given(wheels, st.floats(1e-3, 1.0), st.floats(0.0, 1.0))
def test_normal_force_torque_and_horizontal_resultant_equal_their_integrals_to_1e_12(
    wheel: RigidWheel, u: float, slip: float
) -> None:
    normal, shear, entry, middle = stresses(wheel, u * RADIUS, slip)

    def integral(function: Callable[[float], float]) -> float:
        parts = ((0.0, middle), (middle, entry))
        return sum(quad(function, low, high, epsabs=0.0, epsrel=1e-13)[0] for low, high in parts)

    longitudinal, vertical, torque = wheel.forces(u * RADIUS, slip)
    patch = RADIUS * WIDTH
    assert vertical == pytest.approx(
        patch * integral(lambda t: normal(t) * math.cos(t) + shear(t) * math.sin(t)), rel=1e-12
    )
    assert torque == pytest.approx(RADIUS * patch * integral(shear), rel=1e-12)
    pulled = patch * integral(lambda t: shear(t) * math.cos(t))
    held = patch * integral(lambda t: normal(t) * math.sin(t))
    assert longitudinal == pytest.approx(pulled - held, rel=0.0, abs=1e-12 * (pulled + held))


def test_vertical_force_as_printed_in_28_is_the_same_number() -> None:
    soil = Soil(1e6, 0.9, cohesion=300.0, friction_angle=0.5, rebound=0.1, slip_modulus=0.2,
                shear_modulus=0.02, peak_offset=0.4, peak_slope=0.15)  # fmt: skip
    wheel = RigidWheel(RADIUS, WIDTH, soil, "xu")
    normal, shear, one, m = stresses(wheel, 0.03, 0.3)
    sin, cos = math.sin, math.cos
    printed = RADIUS * WIDTH / (m * (one - m)) * (
        normal(m) * (-m * cos(one) + one * cos(m) - one + m)
        - shear(m) * (m * sin(one) - one * sin(m))
        - 300.0 * (one * sin(m) - m * sin(m) - m * one + m**2)
    )  # fmt: skip
    assert wheel.forces(0.03, 0.3)[1] == pytest.approx(printed, rel=1e-11)


@settings(deadline=None)
@given(wheels, st.floats(1e-6, 0.9), st.floats(0.0, 1.0))
def test_vertical_force_grows_with_the_entry_angle(wheel: RigidWheel, u: float, slip: float) -> None:  # (29)
    assert wheel.forces(1.01 * u * RADIUS, slip)[1] > wheel.forces(u * RADIUS, slip)[1]


@settings(deadline=None)
@given(wheels, st.floats(1e-6, 1.0), st.floats(0.0, 1.0))
def test_a_driving_wheel_never_gains_energy(wheel: RigidWheel, u: float, slip: float) -> None:
    longitudinal, _, torque = wheel.forces(u * RADIUS, slip)
    assert torque / RADIUS >= longitudinal * (1.0 - slip) - 1e-12 * torque / RADIUS


def test_force_from_the_torque_alone_is_more_than_half_too_large() -> None:
    soil = Soil(1e6, 1.0, friction_angle=0.5, rebound=0.1, slip_modulus=0.2,
                shear_modulus=0.01, peak_offset=0.4, peak_slope=0.15)  # fmt: skip
    for z in (0.005, 0.01, 0.02, 0.03):
        longitudinal, _, torque = RigidWheel(RADIUS, WIDTH, soil, "xu").forces(z, 0.5)
        assert torque / RADIUS > 1.5 * longitudinal > 0.0


def test_lateral_force_is_his_exponential_of_the_slip_angle() -> None:
    soil = Soil(1e6, 1.0, cohesion=300.0, friction_angle=0.5, rebound=0.1, slip_modulus=0.2,
                shear_modulus=0.01, peak_offset=0.4, peak_slope=0.15, lateral_rate=4.0)  # fmt: skip
    wheel = RigidWheel(RADIUS, WIDTH, soil, "xu")
    _, vertical, _ = wheel.forces(0.02, 0.2)
    patch = RADIUS * WIDTH * math.acos(1.0 - 0.02 / RADIUS)
    for angle in (-0.5, 0.0, 0.01, 1.0):
        expected = -math.copysign(
            (300.0 * patch + vertical * math.tan(0.5)) * (1.0 - math.exp(-4.0 * abs(angle))), angle
        )
        assert wheel.forces_at_angle(0.02, 0.2, angle)[1] == pytest.approx(expected, rel=1e-12)


def test_stress_is_that_of_a_reece_soil() -> None:
    soil = Reece(0.8, 300.0, 15000.0, 20.0, 700.0).soil(
        RADIUS,
        WIDTH,
        friction_angle=0.5,
        rebound=0.1,
        slip_modulus=0.2,
        shear_modulus=0.02,
        peak_offset=0.4,
        peak_slope=0.15,
    )
    wheel = RigidWheel(RADIUS, WIDTH, soil, "xu")
    normal, _, entry, middle = stresses(wheel, 0.02, 0.0)
    k_1, k_2 = 300.0 * 20.0, 15000.0 * 700.0
    printed = (k_1 + k_2 * WIDTH) * (RADIUS / WIDTH) ** 0.8 * (math.cos(middle) - math.cos(entry)) ** 0.8
    assert normal(middle) == pytest.approx(printed, rel=1e-10)


def test_a_wheel_that_leaves_the_soil_gives_exactly_zero() -> None:
    soil = Soil(1e6, 1.0, cohesion=300.0, friction_angle=0.5, rebound=0.1, slip_modulus=0.2,
                shear_modulus=0.01, peak_offset=0.4, peak_slope=0.15, lateral_rate=4.0)  # fmt: skip
    wheel = RigidWheel(RADIUS, WIDTH, soil, "xu")
    for sinkage in (0.0, -0.0, -0.01):
        assert wheel.forces(sinkage, 0.5) == (0.0, 0.0, 0.0)
        assert wheel.normal_force(sinkage) == (0.0, 0.0)
        assert wheel.forces_at_angle(sinkage, 0.5, 0.2) == (0.0, 0.0, 0.0, 0.0)
    assert np.all(np.isfinite(wheel.forces([5e-324, 1e-300, 1e-12], 0.5)))
