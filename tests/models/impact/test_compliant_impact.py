"""T_c with springs in the legs: two masses integrated by scipy, and the rigid and the free limit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from models.impact import compliant_effective_kinetic_energy, effective_kinetic_energy
from models.rover import rcp

RIGID = rcp()
LEVER = 0.4711 - 0.175  # of a leg, from its walking joint down to the axle


@pytest.fixture
def on_legs(walking_rover):
    """The RCP's first hit on the plate, each leg a spring [N/m] at its wheel, held in its walking joint."""

    def hit(leg: float, contact: float, angle_deg: float, speed: float = 0.07):
        q, v = walking_rover.neutral(), np.zeros(walking_rover.nv)
        v[0] = speed
        stiffness = np.zeros(walking_rover.nv)
        for i, name in enumerate(walking_rover.joint_names):
            if name.endswith("_walking"):
                stiffness[6 + i] = leg * LEVER**2
        J = walking_rover.impact_jacobian(q, math.radians(angle_deg))
        return compliant_effective_kinetic_energy(walking_rover.mass_matrix(q), J, v, stiffness, contact)

    return hit


def rigid(rover, angle_deg, speed=0.07):
    q, v = rover.neutral(), np.zeros(rover.nv)
    v[0] = speed
    return effective_kinetic_energy(rover.mass_matrix(q), rover.impact_jacobian(q, math.radians(angle_deg)), v)


@pytest.mark.parametrize(("wheel", "body", "leg", "contact"), [
    (4.0, 20.0, 5e4, 1e5), (4.0, 20.0, 5e4, 1e7), (4.0, 20.0, 1e6, 1e4), (10.0, 10.0, 5e4, 5e4),
])  # fmt: skip
def test_two_masses_on_springs_are_as_integrated(wheel, body, leg, contact):
    """Coordinates: the wheel's place, and the leg's spring on the body's place relative to the wheel."""
    speed = 0.07
    # kinetic energy 1/2 wheel x'^2 + 1/2 body (x' + y')^2; only y has the spring
    M = np.array([[wheel + body, body], [body, body]])
    found = compliant_effective_kinetic_energy(M, [[1.0, 0.0]], [speed, 0.0], [0.0, leg], contact)

    def motion(_t, s):
        x, y, vx, vy = s
        return [vx, vy, *np.linalg.solve(M, [-contact * x, -leg * y])]

    def apart(t, s):
        return s[0] if t > 0.0 else 1.0

    apart.terminal, apart.direction = True, -1
    way = solve_ivp(motion, (0.0, 1.0), [0.0, 0.0, speed, 0.0], events=apart, rtol=1e-9, atol=1e-14, dense_output=True)
    times = np.linspace(0.0, way.t[-1], 20001)
    depth = way.sol(times)[0]
    assert found.energy == pytest.approx(0.5 * contact * depth.max() ** 2, rel=1e-5)
    assert found.peak_force == pytest.approx(contact * depth.max(), rel=1e-5)
    assert found.time == pytest.approx(times[depth.argmax()], rel=1e-3)


@pytest.mark.parametrize("angle_deg", [30.0, 60.0, 90.0])
def test_on_legs_stiff_against_the_contact_it_is_that_of_the_rigid_rover(angle_deg, on_legs):
    found = on_legs(1e9, 1e3, angle_deg)
    assert found.energy == pytest.approx(rigid(RIGID, angle_deg), rel=1e-3)
    # F = sqrt(2 T_c k) over two springs alike
    assert found.peak_force == pytest.approx(math.sqrt(4.0 * 1e3 * found.energy), rel=1e-6)


@pytest.mark.parametrize("angle_deg", [30.0, 60.0, 90.0])
def test_against_a_stiff_contact_it_is_that_of_the_rover_whose_legs_are_free(angle_deg, on_legs, walking_rover):
    found, free = on_legs(1e3, 1e9, angle_deg), rigid(walking_rover, angle_deg)
    assert found.energy == pytest.approx(free, rel=2e-3)
    assert free < rigid(RIGID, angle_deg)


def test_at_60_degrees_softer_legs_ask_less_of_the_contact(on_legs):
    energies = [on_legs(leg, 1e6, 60.0).energy for leg in (1e7, 1e6, 1e5, 1e4, 1e3)]
    assert np.all(np.diff(energies) < 0.0)


def test_springs_that_no_contact_feels_change_nothing():
    """A separate third mass, with the slowest spring of all, adds neither energy nor time."""
    M, J, v = np.diag([5.0, 2.0]), [[1.0, 0.0]], [0.1, 0.3]
    found = compliant_effective_kinetic_energy(M, J, v, [0.0, 1e-3], 1e4)
    assert found.energy == pytest.approx(0.5 * 5.0 * 0.01, rel=1e-9)
    assert found.time == pytest.approx(0.5 * math.pi * math.sqrt(5.0 / 1e4), rel=1e-6)


def test_it_grows_with_the_square_of_the_speed_and_its_force_in_proportion(on_legs):
    slow, fast = on_legs(5e4, 1e5, 60.0, speed=0.05), on_legs(5e4, 1e5, 60.0, speed=0.15)
    assert fast.energy == pytest.approx(9.0 * slow.energy, rel=1e-6)
    assert fast.peak_force == pytest.approx(3.0 * slow.peak_force, rel=1e-6)
    assert fast.time == pytest.approx(slow.time, rel=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stiffness": [0.0, -1.0]}, r"stiffness\[1\] is .*-1\.0.*, allowed: a finite number in \[0, inf"),
        ({"stiffness": [0.0, math.nan]}, r"stiffness\[1\] is .*nan.*, allowed"),
        ({"stiffness": [0.0]}, r"stiffness has shape \(1,\), needed: \(2,\)"),
        ({"contact_stiffness": 0.0}, r"contact_stiffness is 0\.0, allowed: a finite number in \(0, inf"),
        ({"velocity": [-0.1, 0.0]}, r"approach speeds are .*, allowed: one above 0 m/s"),
        ({"velocity": [math.nan, 0.0]}, r"velocity holds values that are not finite"),
        ({"mass_matrix": np.diag([1.0, -1.0])}, r"not positive definite"),
        ({"contact_stiffness": 1e10}, r"contact_stiffness is 10000000000\.0 N/m: the contact is .* times as fast"),
    ],
)
def test_bad_input_is_refused(change, message):
    good = {"mass_matrix": [[6.0, 2.0], [2.0, 2.0]], "jacobian": [[1.0, 0.0]], "velocity": [0.1, 0.0]}
    with pytest.raises(ValueError, match=message):
        compliant_effective_kinetic_energy(**{**good, "stiffness": [0.0, 10.0], "contact_stiffness": 1e4, **change})
