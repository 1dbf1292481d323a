"""The full flexible wheel: energy stays, scaling changes nothing (App. B), and it settles at the quasi-static shape."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from models.gravity import GRAVITY_MPS2
from models.wheel import FlexibleWheel, Ring, Soil
from models.wheel.flexible_dynamics import OFFSET, SHAPES, TURN, FlexibleDynamics, Motion, MovingWheel, X, Z, scaled

R, B = 0.125, 0.1
SAND = Soil(1.783e6, 0.75, friction_angle=0.52, rebound=0.025, slip_modulus=0.185, shear_modulus=0.005)
RING = Ring(0.5, 3000.0, 5, 0.4)
WHEEL = MovingWheel(R, B, SAND, RING, hub_mass=3.0, hub_inertia=0.01, damping=2.0)
WEIGHT_N = (WHEEL.hub_mass + 2.0 * math.pi * R * RING.mass_per_length) * GRAVITY_MPS2


@pytest.mark.slow
def test_without_soil_energy_and_angular_momentum_stay() -> None:
    errors = []
    for dt in (4e-5, 2e-5):
        wheel = FlexibleDynamics(WHEEL._replace(gravity=0.0))
        wheel.q[Z], wheel.q[SHAPES:] = 10.0, 0.002
        wheel.v[:] = [1.0, 0.3, 40.0, 0.1, -0.2, 0.3, -0.2, 0.1, 0.05, -0.1, 0.2, 0.3, 0.1]
        before, (masses, _) = wheel.energy(), wheel._masses_and_bias()
        spin = masses[TURN] @ wheel.v
        wheel.run(0.02, dt, (0.0, 0.0, 0.0), ())
        masses, _ = wheel._masses_and_bias()
        errors.append((abs(wheel.energy() / before - 1.0), abs(masses[TURN] @ wheel.v / spin - 1.0)))
    assert np.all(np.array(errors) < 5e-3)
    assert np.all(np.array(errors[1]) < 0.7 * np.array(errors[0])), "of the first order in the step"


def roll(wheel: MovingWheel, length: float, time: float, force: float, slip: float, way: float, dt: float) -> Motion:
    """A single-wheel bed with the numbers in other units: 70 N, 0.1 m/s, hub at 12 mm of sinkage."""
    moving = FlexibleDynamics(wheel)
    speed = 0.1 * time / length
    moving.q[Z] = (R - 0.0122) / length
    moving.v[X], moving.v[TURN] = speed, speed / (1.0 - slip) / wheel.radius
    return moving.run(way / 0.1 / time, dt / time, (0.0, (WEIGHT_N - 70.0) / force, 0.0))


def test_scaled_and_unscaled_coordinates_of_all_modes_coincide_at_constant_speed_without_slip() -> None:
    """App. B; an exponent of 0.75 tells (5.40) for any exponent from the printed one for 1."""
    plain = roll(WHEEL, 1.0, 1.0, 1.0, 0.0, way=0.02, dt=5e-4)
    without_units, units = scaled(WHEEL)
    assert (without_units.ring.bending_stiffness, without_units.ring.mass_per_length) == (1.0, 1.0)
    other = roll(without_units, *units, 0.0, way=0.02, dt=5e-4)
    lengths = np.full(plain.coordinates.shape[1], units.length)
    lengths[TURN] = 1.0
    shapes = plain.coordinates[:, OFFSET:]
    assert np.abs(shapes).max() > 1e-3
    np.testing.assert_allclose(other.coordinates[:, OFFSET:] * lengths[OFFSET:], shapes, atol=1e-9)
    np.testing.assert_allclose(other.pull * units.force, plain.pull, atol=1e-4)


@pytest.mark.slow
def test_a_rolling_wheel_settles_at_the_pull_sinkage_and_torque_of_the_quasi_static_shape() -> None:
    slip, quasi = 0.3, FlexibleWheel(R, B, SAND, RING)
    hub = brentq(lambda z: float(quasi.stress_forces([z], [slip]).vertical[0]) - 70.0, 0.005, 0.02, xtol=1e-6)
    pull, _, torque = (float(one[0]) for one in quasi.stress_forces([hub], [slip]))
    run = roll(WHEEL, 1.0, 1.0, 1.0, slip, way=0.12, dt=5e-4)
    last = slice(-1200, None)
    assert run.vertical[last].mean() == pytest.approx(70.0, abs=1.0)
    assert run.pull[last].mean() == pytest.approx(pull, rel=0.08)
    assert run.torque[last].mean() == pytest.approx(torque, rel=0.06)
    assert R - run.coordinates[last, Z].mean() == pytest.approx(hub, rel=0.04)


def test_what_the_full_equations_need_is_asked_for() -> None:
    with pytest.raises(ValueError, match="mass_per_length is 0"):
        FlexibleDynamics(WHEEL._replace(ring=Ring(0.5, 3000.0)))
    with pytest.raises(ValueError, match="shear_modulus is None"):
        FlexibleDynamics(WHEEL._replace(soil=Soil(1e6, 0.7, friction_angle=0.5, rebound=0.1, slip_modulus=0.2)))
