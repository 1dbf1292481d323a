"""Xu's wheel at any speeds: his own forces when it drives, and a reading for braking, standing and reverse."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from models.wheel import RigidWheel, Soil

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

RADIUS, WIDTH = 0.15, 0.16
SOIL = Soil(1e6, 1.0, cohesion=300.0, friction_angle=0.5, rebound=0.1, slip_modulus=0.2,
            shear_modulus=0.01, peak_offset=0.4, peak_slope=0.15, lateral_rate=3.0)  # fmt: skip
WHEEL = RigidWheel(RADIUS, WIDTH, SOIL, "xu")

wheels = st.builds(
    lambda stiffness, exponent, cohesion, friction, modulus, c_1, c_2: RigidWheel(
        RADIUS,
        WIDTH,
        Soil(stiffness, exponent, cohesion=cohesion, friction_angle=friction, rebound=0.1, slip_modulus=0.2,
             shear_modulus=modulus, peak_offset=c_1, peak_slope=c_2, lateral_rate=3.0),
        "xu",
    ),
    st.floats(1e4, 1e7), st.floats(0.3, 1.75), st.floats(0.0, 1e5), st.floats(0.0, 1.2), st.floats(1e-3, 1.0),
    st.floats(1e-3, 0.7), st.floats(0.0, 0.29),
)  # fmt: skip
speeds = st.floats(-1.0, 1.0)


@pytest.mark.parametrize("slip", [0.0, 0.05, 0.3, 0.9])
@pytest.mark.parametrize("angle", [0.0, 0.2, -0.6])
def test_driving_straight_and_at_an_angle_it_has_his_forces(slip: float, angle: float) -> None:
    forward = 0.1 * (1.0 - slip)
    found = WHEEL.moving_forces(0.02, forward, 0.1, forward * math.tan(angle), slip_speed=1e-6)
    assert found == pytest.approx(WHEEL.forces_at_angle(0.02, slip, angle), rel=1e-8, abs=1e-8)


def test_reverse_is_the_mirror_image() -> None:
    for forward, rolling, sideways in ((0.08, 0.1, 0.01), (0.1, 0.08, -0.02), (-0.03, 0.1, 0.0), (0.1, -0.02, 0.01)):
        ahead = WHEEL.moving_forces(0.02, forward, rolling, sideways)
        back = WHEEL.moving_forces(0.02, -forward, -rolling, sideways)
        assert (-back[0], back[1], back[2], -back[3]) == pytest.approx(tuple(ahead), rel=1e-12)


def test_a_braking_wheel_has_no_torque_where_its_shear_has_no_power() -> None:
    """R omega = kappa v, with kappa the mean of the cosine over the shear at slip 0 by quadrature."""
    z = 0.02
    entry = math.acos(1.0 - z / RADIUS)
    middle = 0.4 * entry
    sigma = 1e6 * RADIUS * (math.cos(middle) - math.cos(entry))
    moved = RADIUS * (entry - middle - math.sin(entry) + math.sin(middle))
    tau = (300.0 + sigma * math.tan(0.5)) * (1.0 - math.exp(-moved / 0.01))

    def shear(angle: float) -> float:
        if angle > middle:
            return tau * (entry - angle) / (entry - middle)
        return 300.0 + angle / middle * (tau - 300.0)

    def integral(weight: float) -> float:
        return sum(
            quad(lambda t: shear(t) * (math.cos(t) if weight else 1.0), low, high, epsabs=0.0, epsrel=1e-12)[0]
            for low, high in ((0.0, middle), (middle, entry))
        )

    whole = integral(0)
    kappa = integral(1) / whole
    at_rest = WHEEL.moving_forces(z, 0.1, 0.1, slip_speed=1e-6)[3]
    assert at_rest == pytest.approx(RADIUS**2 * WIDTH * whole, rel=1e-8)
    assert abs(WHEEL.moving_forces(z, 0.1, kappa * 0.1, slip_speed=1e-6)[3]) < 1e-6 * at_rest
    torques = WHEEL.moving_forces(z, 0.1, np.linspace(0.1, 0.0, 400), slip_speed=1e-6)[3]
    assert (np.diff(torques) <= 1e-12).all()


def test_a_locked_wheel_bears_the_whole_shear_limit() -> None:
    entry = math.acos(1.0 - 0.02 / RADIUS)
    sigma = 1e6 * RADIUS * (math.cos(0.4 * entry) - math.cos(entry))
    limit = 300.0 + sigma * math.tan(0.5)
    torque = WHEEL.moving_forces(0.02, 0.1, 0.0, slip_speed=1e-6)[3]
    assert torque == pytest.approx(-0.5 * RADIUS**2 * WIDTH * (limit * entry + 300.0 * 0.4 * entry), rel=1e-9)


def test_forces_are_continuous_over_all_pairs_of_speeds_and_through_rest() -> None:
    """Around circles of speeds, standing still included: a quarter of the step has a quarter of the largest jump."""
    for size in (1.0, 0.01, 1e-4):
        jumps = []
        for count in (20_000, 80_000):
            turn = np.linspace(0.0, 2.0 * math.pi, count)
            found = np.array(WHEEL.moving_forces(0.02, size * np.cos(turn), size * np.sin(turn), slip_speed=1e-3))
            jumps.append(np.abs(np.diff(found, axis=1)).max())
        assert jumps[1] < 0.35 * jumps[0]
    assert WHEEL.moving_forces(0.02, 0.0, 0.0)[0] == 0.0
    near = np.array(WHEEL.moving_forces(0.02, [1e-9, -1e-9], [1e-9, 1e-9], slip_speed=1e-3))
    assert np.abs(near[[0, 1, 3]]).max() < 1e-3


@settings(deadline=None)
@given(wheels, st.floats(1e-3, 1.0), speeds, speeds, speeds)
def test_soil_never_gives_energy(wheel: RigidWheel, u: float, forward: float, rolling: float, sideways: float) -> None:
    longitudinal, lateral, _, torque = wheel.moving_forces(u * RADIUS, forward, rolling, sideways, slip_speed=1e-4)
    turned, moved = torque / RADIUS * rolling, longitudinal * forward
    assert turned - moved - lateral * sideways >= -1e-9 * (abs(turned) + abs(moved) + 1e-12)


@settings(deadline=None)
@given(wheels, st.floats(1e-3, 1.0), st.floats(0.7, 1.05))
def test_soil_gives_no_energy_near_slip_0(wheel: RigidWheel, u: float, ratio: float) -> None:
    longitudinal, _, _, torque = wheel.moving_forces(u * RADIUS, 0.5, 0.5 * ratio, slip_speed=1e-4)
    turned, moved = torque / RADIUS * 0.5 * ratio, longitudinal * 0.5
    assert turned - moved >= -1e-9 * (abs(turned) + abs(moved) + 1e-12)
