"""The flexible wheel: its shape balances the soil, its table gives that shape, and a stiff one is the rigid wheel."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from models.wheel import FlexibleWheel, RigidWheel, Ring, Soil, flexible_table
from models.wheel.flexible_ring import (
    NoEquilibriumError,
    Rims,
    _imbalance,
    balance,
    balance_at_slip,
    resultants_of,
    rims,
    shear_strength,
)

R, B = 0.125, 0.1
SAND = Soil(1.783e6, 0.75, cohesion=200.0, friction_angle=0.52, rebound=0.1, slip_modulus=0.185, shear_modulus=0.005)
LOOSE = Soil(1.5e5, 0.5, friction_angle=0.52, rebound=0.08, slip_modulus=0.4)
SOFT = Ring(0.5, 3000.0)
STIFF = Ring(1e9, 1e12)


def wheels(*sinkages: float, ring: Ring = SOFT, soil: Soil = SAND) -> Rims:
    return rims(ring, R, B, soil, np.array(sinkages))


@pytest.mark.parametrize("soil", [SAND, LOOSE])
def test_a_stiff_wheel_is_the_rigid_one_in_pull_load_and_torque(soil: Soil) -> None:
    depth, slip = np.linspace(1e-4, 0.5 * R, 40)[:, None], np.linspace(-0.9, 0.9, 7)
    flexible, rigid = FlexibleWheel(R, B, soil, STIFF).forces(depth, slip), RigidWheel(R, B, soil).forces(depth, slip)
    for one, other in zip(flexible, rigid, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("soil", [SAND, LOOSE])
@pytest.mark.parametrize("slip", [0.1, 0.3, 0.7])
def test_at_one_load_a_flexible_wheel_sinks_less_and_pulls_more(soil: Soil, slip: float) -> None:
    rigid, sinks, pulls = RigidWheel(R, B, soil), [], []
    depth = brentq(lambda z: rigid.forces(z, slip).vertical - 70.0, 1e-6, 0.1)
    sinks.append(depth)
    pulls.append(rigid.forces(depth, slip).longitudinal)
    for stiffness in (1e5, 1e4, 3e3):
        wheel = FlexibleWheel(R, B, soil, Ring(1e-4 * stiffness, stiffness))
        hub = brentq(lambda z, wheel=wheel: wheel.forces(z, slip).vertical - 70.0, 1e-6, 0.1)
        sinks.append(wheel.deflection(hub, math.tanh(slip / soil.slip_modulus)).soil_sinkage)
        pulls.append(wheel.forces(hub, slip).longitudinal)
    assert sinks == sorted(sinks, reverse=True)
    assert pulls == sorted(pulls)
    assert sinks[-1] < 0.9 * sinks[0]


@pytest.mark.slow
@pytest.mark.parametrize("soil", [SAND, LOOSE])
@pytest.mark.parametrize("ring", [SOFT, Ring(0.05, 2000.0), Ring(0.5, 3000.0, modes=9)])
def test_the_table_gives_the_forces_of_the_balanced_shape(soil: Soil, ring: Ring) -> None:
    depth, wheel, rigid = np.geomspace(3e-4, 0.49 * R, 11), FlexibleWheel(R, B, soil, ring), RigidWheel(R, B, soil)
    for share in (-0.5, 0.0, 0.3, 1.0):
        under = wheels(*depth, ring=ring, soil=soil)
        shape = balance(under, np.array(share))
        bent, round_one = resultants_of(under, shape, np.array(share)), resultants_of(under, 0 * shape, np.array(share))
        found = wheel.normal_force(depth, share)
        exact = bent.vertical / round_one.vertical * rigid.normal_force(depth).vertical
        np.testing.assert_allclose(found.vertical, exact, rtol=0.02)
        np.testing.assert_allclose(found.resistance, bent.resistance, atol=0.004 * exact.max())


def test_the_force_has_a_continuous_derivative_at_the_nodes_of_the_table() -> None:
    wheel = FlexibleWheel(R, B, SAND, SOFT)
    for node in range(3, flexible_table.LEVELS):
        depth, step = 0.5 * R * (node / flexible_table.LEVELS) ** 4, 1e-6 * R
        below, here, above = wheel.normal_force(np.array([depth - step, depth, depth + step]), 0.4).vertical
        assert (above - here) / (here - below) == pytest.approx(1.0, rel=2e-3)


def test_undeflected_columns_carry_what_the_exact_integrals_say() -> None:
    under, none = wheels(0.002, 0.01, 0.04), np.array(0.0)
    found = resultants_of(under, np.zeros((3, SOFT.coordinates)), none)
    exact = RigidWheel(R, B, SAND).normal_force(under.sinkage)
    np.testing.assert_allclose(found.vertical, exact.vertical, rtol=2e-3)
    np.testing.assert_allclose(found.resistance, exact.resistance, rtol=3e-3)


@pytest.mark.parametrize("modes", [2, 5, 9])
def test_the_derivative_of_the_load_is_that_of_differences(modes: int) -> None:
    ring, share = Ring(0.5, 3000.0, modes), np.array(0.6)
    under, stiffness = wheels(0.012, ring=ring), ring.stiffnesses(R)
    shape = balance(under, share) + 1e-5 * np.random.default_rng(1).standard_normal((1, ring.coordinates))
    _, slope = _imbalance(under, shape, share, stiffness, 0.0)
    step = 1e-10
    for i in range(ring.coordinates):
        moved = np.zeros_like(shape)
        moved[0, i] = step
        above, _ = _imbalance(under, shape + moved, share, stiffness, 0.0)
        below, _ = _imbalance(under, shape - moved, share, stiffness, 0.0)
        np.testing.assert_allclose(slope[0, :, i], (above - below)[0] / (2 * step), atol=1e-4 * np.abs(slope).max())


def test_in_balance_the_torque_is_the_shear_along_the_rim_times_the_radius() -> None:
    """Pressure has a moment about the hub of a deflected rim, but does no work on one that runs along its shape."""
    under, share = wheels(0.004, 0.01, 0.02), np.array(0.9)
    shape = balance(under, share)
    _, slope, soil = under.at(shape)
    sheared = (share * shear_strength(SAND, soil.pressure) * np.abs(slope) * under.surface).sum(1)
    np.testing.assert_allclose(resultants_of(under, shape, share).torque, R * sheared, rtol=5e-3)


def test_weight_moves_the_ring_and_bends_nothing() -> None:
    under = wheels(1e-9)  # lifted off the soil: a weight upwards
    shape = balance(under, np.array(0.0), weight=-3.0)
    assert shape[0, 1] == pytest.approx(3.0 / (2 * math.pi * SOFT.hub_stiffness), rel=1e-6)
    assert np.abs(shape[0, 2:]).max() < 1e-9 * shape[0, 1]


def test_shear_by_displacement_reaches_its_limit_at_high_slip_and_is_less_before() -> None:
    under = wheels(0.012, 0.012, 0.012, 0.012)
    slips = np.array([0.05, 0.2, 0.6, 0.95])
    pull = resultants_of(under, *balance_at_slip(under, slips, 0.005)).longitudinal
    limit = resultants_of(under, balance(under, np.array(1.0)), np.array(1.0)).longitudinal[0]
    assert np.all(np.diff(pull) > 0.0)
    assert 0.85 * limit < pull[-1] < limit


@pytest.mark.parametrize(
    ("name", "value"),
    [("bending_stiffness", 0.0), ("bending_stiffness", math.nan), ("hub_stiffness", 0.5), ("hub_stiffness", math.inf),
     ("modes", 1), ("modes", 13), ("modes", 2.0), ("modes", True), ("mass_per_length", -1.0)],
)  # fmt: skip
def test_a_ring_refuses_a_bad_value_with_name_and_value(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"Ring: {name} is {value!r}, allowed: ".replace("+", r"\+")):
        Ring(**{"bending_stiffness": 1.0, "hub_stiffness": 1e4, name: value})


def test_a_wheel_refuses_what_is_no_length_no_soil_no_ring_and_soil_that_pushes() -> None:
    with pytest.raises(ValueError, match=r"radius is 0.0, .*width is -1, .*ring is None, .*soil is 'sand', allowed"):
        FlexibleWheel(0.0, -1, "sand", None)  # type: ignore[arg-type]
    pushing = Soil(1e6, 1.5, friction_angle=0.5, rebound=0.9, slip_modulus=0.2)
    with pytest.raises(ValueError, match=r"soil.rebound is 0.9, allowed: .*0.8"):
        FlexibleWheel(R, B, pushing, SOFT)
    wheel = FlexibleWheel(R, B, LOOSE, SOFT)
    with pytest.raises(ValueError, match=r"sinkage is 0\.2"):
        wheel.forces(0.2, 0.1)
    with pytest.raises(ValueError, match=r"share is 1\.5"):
        wheel.normal_force(0.01, 1.5)
    with pytest.raises(ValueError, match="shear_modulus is None"):
        wheel.stress_forces([0.01], [0.1])


def test_a_wheel_above_the_soil_feels_nothing() -> None:
    wheel = FlexibleWheel(R, B, SAND, SOFT)
    assert wheel.forces(0.0, 0.5) == wheel.forces(-0.01, 0.5) == (0.0, 0.0, 0.0)


def test_a_ring_that_no_shape_balances_is_refused_with_its_stiffnesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.wheel.flexible_ring._MOST_STEPS", 1)
    with pytest.raises(NoEquilibriumError, match=r"bending stiffness 0.5 N m\^2 and hub stiffness 3000 N/m a radian"):
        balance(wheels(0.02), np.array(0.0))
