"""Crowned wheels in soil against quadrature of the columns over the patch, closed forms, and the cylinder."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from models.wheel import CrownedWheel, RigidWheel, Soil
from models.wheel.crown_table import SIZE, slices

SAND = Soil(1.783e6, 0.75, cohesion=500.0, friction_angle=0.52, rebound=0.07, slip_modulus=0.185)
DENSE = Soil(4e5, 1.3, friction_angle=0.6, rebound=0.4, slip_modulus=0.3)
R, B = 0.175, 0.15
TORUS, DOMED = 0.5 * B, 0.3


def over_the_rim(crown, soil, z):
    """Vertical force and compaction resistance [N], hypervolume, and contact area by adaptive quadrature.

    Over the angle about the axle and across the rim, with pressure at right angles to the circle of each slice.
    """
    eta, gamma = soil.exponent, soil.rebound

    def slice_(y):
        radius = R - crown + math.sqrt(crown**2 - y**2)
        deep = z - (R - radius)
        if deep <= 0.0:
            return np.zeros(4)
        entry, leave = math.acos(1.0 - deep / radius), math.acos(1.0 - gamma * deep / radius)

        def depth(angle):
            return max(radius * math.cos(angle) - (radius - deep), 0.0)

        def front(angle):
            return soil.stiffness * depth(angle) ** eta

        def rear(angle):
            return soil.stiffness * deep ** (eta - 1.0) / gamma * max(depth(angle) - (1.0 - gamma) * deep, 0.0)

        def over(function, end):
            return quad(function, 0.0, end, epsabs=1e-10, epsrel=1e-10)[0]

        vertical = over(lambda a: front(a) * math.cos(a), entry) + over(lambda a: rear(a) * math.cos(a), leave)
        against = over(lambda a: front(a) * math.sin(a), entry) - over(lambda a: rear(a) * math.sin(a), leave)
        whole = 2.0 * over(lambda a: depth(a) ** eta * math.cos(a), entry)
        return radius * np.array([vertical, against, whole, entry + leave])

    half = min(0.5 * B, math.sqrt(max(crown**2 - (crown - z) ** 2, 0.0)) if z < crown else 0.5 * B)
    largest = math.asin(half / crown)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    turned = 0.25 * math.pi * (nodes + 1.0)  # y = rho sin(phi), phi = largest sin(turned)
    phi = largest * np.sin(turned)
    each = np.array([slice_(crown * math.sin(angle)) for angle in phi])
    step = 2.0 * crown * largest * np.cos(turned) * 0.25 * math.pi * weights
    across = step * np.cos(phi)
    return (*(each[:, :3].T @ across), each[:, 3] @ step)


@pytest.mark.parametrize(("crown", "soil"), [(TORUS, SAND), (DOMED, SAND), (DOMED, DENSE)])
@pytest.mark.parametrize("z", [0.004, 0.03])
def test_forces_are_those_of_quadrature_over_the_patch(crown, soil, z):
    wheel = CrownedWheel(R, B, soil, crown)
    vertical, against, whole, area = over_the_rim(crown, soil, z)
    assert wheel.normal_force(z) == pytest.approx((vertical, against), rel=2e-4)
    assert wheel.hypervolume(z) == pytest.approx(whole, rel=1e-6)
    limit = soil.cohesion * area + math.hypot(vertical, against) * math.tan(soil.friction_angle)
    torque = wheel.forces(z, 50.0).torque  # beyond any slip all of the shear limit acts
    assert torque == pytest.approx(R * limit, rel=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("crown", [TORUS, DOMED, 3.0])
@pytest.mark.parametrize("soil", [SAND, DENSE])
def test_the_table_is_within_a_ten_thousandth_of_its_quadrature(crown, soil):
    z = np.concatenate([np.geomspace(1e-6, 0.0874, 200), np.linspace(0.005, 0.015, 100)])
    found = slices(R, B, crown, soil.exponent, soil.rebound, z)
    forces = CrownedWheel(R, B, soil, crown).normal_force(z)
    assert forces.vertical == pytest.approx(soil.stiffness * found.vertical, rel=1e-4)
    assert forces.resistance == pytest.approx(soil.stiffness * found.resistance, rel=1e-4)


@pytest.mark.parametrize("exponent", [0.3, 1.0, 1.7])
def test_a_shallow_contact_is_the_closed_form_of_a_paraboloid(exponent):
    wheel, z = CrownedWheel(R, B, Soil(1e6, exponent, friction_angle=0.5, rebound=0.1, slip_modulus=0.2), DOMED), 1e-7
    closed = 2.0 * math.pi * math.sqrt(R * DOMED) * z ** (exponent + 1.0) / (exponent + 1.0)
    assert wheel.hypervolume(z) == pytest.approx(closed, rel=1e-5)


@pytest.mark.parametrize("soil", [SAND, DENSE])
def test_a_flat_crown_is_the_cylinder_to_rounding(soil):
    z, flat, cylinder = np.geomspace(1e-4, 0.08, 40), CrownedWheel(R, B, soil, 1e15), RigidWheel(R, B, soil)
    np.testing.assert_allclose(flat.normal_force(z), cylinder.normal_force(z), rtol=1e-12)
    np.testing.assert_allclose(flat.forces(z, 0.3), cylinder.forces(z, 0.3), rtol=1e-12)
    assert flat.hypervolume(z) == pytest.approx(cylinder.hypervolume(z), rel=1e-12)


def test_the_rounder_the_rim_the_less_it_bears_at_one_sinkage():
    z = np.linspace(1e-3, 0.08, 50)
    torus, domed = (CrownedWheel(R, B, SAND, crown).normal_force(z).vertical for crown in (TORUS, DOMED))
    assert (torus < domed).all()
    assert (domed < RigidWheel(R, B, SAND).normal_force(z).vertical).all()


def test_no_contact_bears_nothing_and_parameters_are_a_copy():
    wheel = CrownedWheel(R, B, SAND, DOMED)
    assert wheel.normal_force([-0.01, 0.0]).vertical.tolist() == [0.0, 0.0]
    wheel.parameters[:] = 0.0
    assert wheel.parameters.shape == (SIZE,)
    assert wheel.normal_force(0.01).vertical > 0.0
    assert eval(repr(wheel), {"CrownedWheel": CrownedWheel, "Soil": Soil}) == wheel


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"crown": 0.07}, r"crown is 0\.07, allowed: .*from half the width"),
        ({"crown": math.nan}, "crown is nan"),
        ({"radius": 0.07, "crown": 0.075}, r"crown is 0\.075 m, allowed: .*outside the axle"),
        ({"soil": Soil(1e6, 1.5, friction_angle=0.5, rebound=0.9, slip_modulus=0.2)}, r"soil\.rebound is 0\.9"),
        ({"soil": None}, "soil is None, allowed: a Soil"),
    ],
)
def test_a_wheel_that_cannot_be_is_refused_in_words(given, said):
    with pytest.raises(ValueError, match=said):
        CrownedWheel(**{"radius": R, "width": B, "soil": SAND, "crown": DOMED, **given})


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"sinkage has shape \(2,\) and slip has shape \(3,\)"):
        CrownedWheel(R, B, SAND, DOMED).forces([0.01, 0.02], [0.1, 0.2, 0.3])
