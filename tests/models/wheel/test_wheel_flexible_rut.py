"""A flexible wheel in ruts: stiff it is the rigid one, the table has the balanced shape, and no work comes of it."""

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.optimize import brentq

from models.wheel import FlexibleWheel, RigidWheel, Ring, Soil, flexible_rut, kernels
from models.wheel.flexible_ring import NoEquilibriumError, balance, resultants_of, rims

R, B = 0.175, 0.15
SAND = Soil(1.783e6, 0.75, cohesion=200.0, friction_angle=0.52, rebound=0.07, slip_modulus=0.185)
LOOSE = Soil(1.5e5, 0.5, cohesion=200.0, friction_angle=0.52, rebound=0.08, slip_modulus=0.4)
RING, SOFTER, STIFF = Ring(2.0, 1e4), Ring(2.0, 5e3), Ring(1e9, 1e12)

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs


def in_ruts(soil: Soil = SAND, ring: Ring = RING) -> FlexibleWheel:
    return FlexibleWheel(R, B, soil, ring, ruts=True)


def places(wheel: FlexibleWheel, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Ruts and sinkages of the hub, between the nodes of the table as well as near its ends."""
    random, most = np.random.default_rng(5), wheel.parameters[flexible_rut.LAST]
    ruts = most * random.uniform(0.1, 1.0, count) ** 2
    floor = (1.0 - wheel.soil.rebound) * ruts
    return ruts, floor + (0.5 * R - floor) * random.uniform(0.05, 1.0, count) ** 2


@pytest.mark.parametrize("soil", [SAND, LOOSE])
def test_a_stiff_wheel_is_the_rigid_one_in_a_rut(soil: Soil) -> None:
    wheel = in_ruts(soil, STIFF)
    ruts, hub = places(wheel, 200)
    found, rigid = wheel.normal_force_in_rut(hub, ruts, 0.5), RigidWheel(R, B, soil).normal_force_in_rut(hub, ruts)
    np.testing.assert_allclose(found.vertical, rigid.vertical, rtol=1e-5)
    np.testing.assert_allclose(found.resistance, rigid.resistance, rtol=1e-5, atol=1e-6 * rigid.resistance.max())


@pytest.mark.parametrize("soil", [SAND, LOOSE])
@pytest.mark.parametrize("ring", [RING, SOFTER])
def test_between_its_nodes_the_table_has_the_forces_and_the_depth_of_the_balanced_shape(soil: Soil, ring: Ring) -> None:
    wheel = in_ruts(soil, ring)
    ruts, hub = places(wheel, 40)
    for share in (-0.5, 0.0, 0.7):
        shape, floor = None, (1.0 - soil.rebound) * ruts
        for part in np.linspace(0.1, 1.0, 20) ** 2:  # grows on, as under a wheel that is lowered
            under = rims(ring, R, B, soil, floor + part * (hub - floor), 257, ruts)
            shape = balance(under, np.full((40, 1), share), shape)
        exact = resultants_of(under, shape, np.full((40, 1), share))
        found = wheel.normal_force_in_rut(hub, ruts, share)
        most = exact.vertical.max()
        np.testing.assert_allclose(found.vertical, exact.vertical, rtol=0.05)
        assert np.median(np.abs(found.vertical / exact.vertical - 1.0)) < 1.5e-3
        np.testing.assert_allclose(found.resistance, exact.resistance, atol=0.003 * most)
        each = [flexible_rut.resultant(wheel.parameters, *one, share) for one in zip(hub, ruts, strict=True)]
        np.testing.assert_allclose([one[-1] for one in each], np.maximum(exact.deepest, ruts), atol=5e-4)
        limit = SAND.cohesion * exact.area + np.hypot(exact.vertical, exact.resistance) * np.tan(soil.friction_angle)
        np.testing.assert_allclose([one[3] for one in each], limit, rtol=0.05)


@pytest.mark.parametrize("soil", [SAND, LOOSE])
def test_without_a_rut_it_is_fresh_soil_to_the_bit_and_a_trace_of_a_rut_changes_little(soil: Soil) -> None:
    hub = np.linspace(-0.01, 0.5 * R, 60)
    wheel, fresh = in_ruts(soil), FlexibleWheel(R, B, soil, RING)
    for share in (-0.4, 0.0, 0.9):
        exact, found = fresh.normal_force(hub, share), wheel.normal_force_in_rut(hub, 0.0, share)
        np.testing.assert_allclose(found, exact, rtol=1e-12)
        for z in hub:
            whole = flexible_rut.resultant(wheel.parameters, z, 0.0, share)[:4]
            assert whole == kernels.flexible_resultant(fresh.parameters, z, share)
        trace = wheel.normal_force_in_rut(hub, 1e-7, share)
        np.testing.assert_allclose(trace.vertical, exact.vertical, rtol=0.015, atol=0.5)
        np.testing.assert_allclose(trace.resistance, exact.resistance, atol=0.002 * exact.vertical.max())
    np.testing.assert_array_equal(wheel.forces(0.02, 0.2), fresh.forces(0.02, 0.2))


@pytest.mark.parametrize("soil", [SAND, LOOSE])
def test_no_cycle_of_pressing_and_lifting_gains_work_as_a_rut_only_gets_deeper(soil: Soil) -> None:
    """Work of a cycle is at least 0 if at each sinkage the load falls with the depth of the rut, and none pulls."""
    wheel = in_ruts(soil)
    hub, most = np.linspace(0.0, 0.5 * R, 300), wheel.parameters[flexible_rut.LAST]
    work = []
    for deepest in np.linspace(0.0, most, 25):
        force = wheel.normal_force_in_rut(hub, deepest)
        assert force.vertical.min() >= 0.0
        assert force.resistance.min() >= 0.0
        work.append(cumulative_trapezoid(force.vertical, hub))
    assert (np.diff(work, axis=0) <= 0.002 * work[0]).all()
    assert work[0][-1] > 1.1 * work[-1][-1]


def test_each_following_flexible_wheel_under_the_same_load_is_held_back_less() -> None:
    for soil, ring in ((SAND, RING), (LOOSE, RING), (LOOSE, SOFTER)):
        wheel, deepest, resistance, depths = in_ruts(soil, ring), 0.0, [], []
        for _ in range(4):

            def over(z: float, rut: float = deepest, wheel: FlexibleWheel = wheel) -> float:
                return float(wheel.normal_force_in_rut(z, rut).vertical) - 150.0

            hub = brentq(over, 1e-6, 0.4 * R)
            resistance.append(float(wheel.normal_force_in_rut(hub, deepest).resistance))
            deepest = flexible_rut.resultant(wheel.parameters, hub, deepest, 0.0)[-1]
            depths.append(deepest)
        assert depths == sorted(depths)
        assert resistance == sorted(resistance, reverse=True)
        assert resistance[1] < 0.8 * resistance[0]


def test_the_load_has_no_step_where_the_rim_reaches_the_bottom_of_the_rut() -> None:
    wheel = in_ruts()
    for deepest in (0.0015, 0.004, 0.009):
        hub = np.linspace((1.0 - SAND.rebound) * deepest, 0.06, 20001)
        load = wheel.normal_force_in_rut(hub, deepest, 0.3).vertical
        assert np.diff(load).min() > -1e-6 * load.max()
        assert np.diff(load).max() < 3e-4 * load.max()


def test_a_wheel_without_ruts_and_a_rim_that_bends_up_in_ruts_are_refused() -> None:
    with pytest.raises(ValueError, match="ruts is False, allowed in a rut: True"):
        FlexibleWheel(R, B, SAND, RING).normal_force_in_rut(0.01, 0.005)
    with pytest.raises(NoEquilibriumError, match="the middle of the rim bends up as the hub sinks"):
        FlexibleWheel(0.125, 0.1, SAND, Ring(0.05, 2000.0), ruts=True)
