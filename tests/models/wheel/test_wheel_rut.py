"""A wheel in the rut of another: against quadrature of the soil with memory, and limits on its effect."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq

from models.wheel import RigidWheel, Soil, kernels, rut

RADIUS, WIDTH, STIFFNESS = 0.175, 0.15, 1e6


def wheel(exponent: float, rebound: float, cohesion: float = 0.0) -> RigidWheel:
    soil = Soil(STIFFNESS, exponent, cohesion=cohesion, friction_angle=0.5, rebound=rebound, slip_modulus=0.2)
    return RigidWheel(RADIUS, WIDTH, soil)


def by_quadrature(exponent: float, rebound: float, z: float, deepest: float) -> tuple[float, float]:
    """Vertical and horizontal force [N] column by column."""
    floor = (1.0 - rebound) * deepest
    most = max(z, deepest)

    def loading(depth: float) -> float:
        if depth >= deepest:
            return STIFFNESS * depth**exponent
        return STIFFNESS * deepest**exponent * max(depth - floor, 0.0) / (rebound * deepest)

    def relieved(depth: float) -> float:
        return STIFFNESS * most**exponent * max(depth - (1.0 - rebound) * most, 0.0) / (rebound * most)

    def depth_at(x: float) -> float:
        return math.sqrt(RADIUS**2 - x**2) - (RADIUS - z)

    def x_at(depth: float) -> float:
        return math.sqrt(max((z - depth) * (2.0 * RADIUS - z + depth), 0.0))

    def over(pressure: Callable[[float], float], *depths: float) -> float:
        edges = sorted({x_at(d) for d in depths if 0.0 <= d <= z} | {0.0})
        return sum(quad(lambda x: pressure(depth_at(x)), a, b, epsrel=1e-12)[0] for a, b in itertools.pairwise(edges))

    vertical = over(loading, floor, deepest) + over(relieved, (1.0 - rebound) * most)
    front = sum(quad(loading, a, b, epsrel=1e-12)[0] for a, b in ((floor, min(deepest, z)), (deepest, z)) if b > a)
    rear = quad(relieved, (1.0 - rebound) * most, z, epsrel=1e-12)[0] if z > (1.0 - rebound) * most else 0.0
    return WIDTH * vertical, WIDTH * (front - rear)


@settings(deadline=None, max_examples=60)
@given(st.floats(0.3, 1.75), st.floats(0.02, 1.0), st.floats(1e-3, 1.0), st.floats(0.01, 2.0))
@example(0.5, 0.07, 0.1, 0.94)
@example(0.5, 0.07, 0.1, 1.0)
@example(0.3, 0.07, 0.5, 0.01)
def test_both_resultants_match_quadrature(exponent: float, rebound: float, u: float, ratio: float) -> None:
    rebound = min(rebound, 2.0 / (exponent + 1.0))
    z = u * RADIUS
    deepest = min(ratio * z, RADIUS)
    found = wheel(exponent, rebound).normal_force_in_rut(z, deepest)
    vertical, horizontal = by_quadrature(exponent, rebound, z, deepest)
    assert found[0] == pytest.approx(vertical, rel=1e-7, abs=1e-9)
    scale = STIFFNESS * WIDTH * z ** (exponent + 1.0)
    assert found[1] == pytest.approx(horizontal, rel=0.0, abs=1e-9 * scale)


def test_fresh_soil_gives_the_wheel_without_memory_to_the_bit() -> None:
    model = wheel(0.8, 0.1, 300.0)
    p = model.parameters
    for z in (-0.1, 0.0, 1e-6, 0.02, 0.175):
        for deepest in (0.0, -0.0, -0.01):
            assert model.normal_force_in_rut(z, deepest) == model.normal_force(z)
            assert rut.resultant(p, z, deepest) == kernels.resultant(p, z)


def test_a_trace_of_a_rut_changes_next_to_nothing() -> None:
    model = wheel(0.8, 0.1, 300.0)
    assert model.normal_force_in_rut(0.02, 1e-9) == pytest.approx(model.normal_force(0.02), rel=1e-8)
    found, fresh = rut.resultant(model.parameters, 0.02, 1e-9), kernels.resultant(model.parameters, 0.02)
    assert found == pytest.approx(fresh, rel=1e-8)


def test_a_following_wheel_meets_the_soil_at_the_residual_depth() -> None:
    model = wheel(0.8, 0.1, 300.0)
    floor = 0.9 * 0.02
    assert rut.ground(model.parameters, 0.02) == pytest.approx(floor, rel=1e-15)
    for z in (-0.01, 0.0, 0.01, 0.9999 * floor):
        assert model.normal_force_in_rut(z, 0.02) == (0.0, 0.0)
        assert rut.resultant(model.parameters, z, 0.02) == (0.0, 1.0, 0.0, 0.0)
    assert model.normal_force_in_rut(1.0001 * floor, 0.02)[0] > 0.0


def test_each_following_wheel_under_the_same_load_digs_less_and_is_held_back_less() -> None:
    model = wheel(0.8, 0.1)
    load = model.normal_force(0.02)[0]
    reached, resistance = [0.0, 0.02], [model.normal_force(0.02)[1]]
    for _ in range(4):
        deepest = reached[-1]

        def missing(z: float, deepest: float = deepest) -> float:
            return float(model.normal_force_in_rut(z, deepest)[0]) - load

        z = brentq(missing, 0.9 * deepest, 0.1, xtol=1e-14)
        resistance.append(model.normal_force_in_rut(z, deepest)[1])
        reached.append(z)
    assert np.all(np.diff(np.diff(reached)) < 0.0)
    assert reached[2] - reached[1] < 0.3 * reached[1]
    assert np.all(np.diff(resistance) < 0.0)


def test_a_lighter_wheel_rolls_in_the_rut_without_resistance() -> None:
    model = wheel(0.8, 0.1)
    vertical, horizontal = model.normal_force_in_rut(0.0195, 0.02)
    assert 0.0 < vertical < 0.5 * model.normal_force(0.02)[0]
    assert horizontal == 0.0


def test_a_heavier_wheel_spends_only_what_the_wheels_before_have_not() -> None:
    model = wheel(0.8, 0.1)
    for z in (0.021, 0.03, 0.06):
        spent = model.normal_force_in_rut(z, 0.02)[1]
        assert spent == pytest.approx(model.normal_force(z)[1] - model.normal_force(0.02)[1], rel=1e-12)


@settings(deadline=None)
@given(st.floats(0.3, 1.75), st.floats(0.01, 1.0), st.floats(1e-3, 0.9))
def test_forces_are_continuous_where_fresh_soil_is_reached(exponent: float, rebound: float, u: float) -> None:
    model, deepest = wheel(exponent, rebound, 200.0), u * RADIUS
    p = model.parameters
    below = rut.resultant(p, deepest, deepest)
    above = rut.resultant(p, deepest * (1.0 + 1e-12), deepest)
    assert above == pytest.approx(below, rel=1e-5, abs=1e-9)


def test_vertical_force_grows_with_sinkage() -> None:
    model = wheel(0.5, 0.07)
    sinkages = np.linspace(0.0, 0.175, 400)
    vertical, _ = model.normal_force_in_rut(sinkages, 0.03)
    reached = sinkages > 0.93 * 0.03
    assert np.all(vertical[~reached] == 0.0)
    assert np.all(np.diff(vertical[reached]) > 0.0)


def test_resultant_carries_size_angle_and_limit_of_the_components() -> None:
    model = wheel(0.8, 0.1, 300.0)
    for z, exit_depth in ((0.0195, 0.0015), (0.03, 0.003)):
        vertical, horizontal = model.normal_force_in_rut(z, 0.02)
        force, cosine, sine, limit = rut.resultant(model.parameters, z, 0.02)
        assert (force * cosine, force * sine) == pytest.approx((vertical, horizontal), rel=1e-13)
        angles = math.acos(1.0 - (z - 0.018) / RADIUS) + math.acos(1.0 - exit_depth / RADIUS)
        assert limit == pytest.approx(300.0 * WIDTH * RADIUS * angles + force * math.tan(0.5), rel=1e-9)


def test_scalars_and_arrays_give_the_same_bits() -> None:
    model = wheel(0.8, 0.1)
    vertical, horizontal = model.normal_force_in_rut([0.01, 0.019, 0.05], [[0.02], [0.0]])
    assert vertical.shape == horizontal.shape == (2, 3)
    assert (vertical[0, 2], horizontal[0, 2]) == model.normal_force_in_rut(0.05, 0.02)
    assert (vertical[1, 1], horizontal[1, 1]) == model.normal_force(0.019)


@pytest.mark.parametrize("variant", ["tire_1", "published"])
def test_rut_memory_is_refused_where_it_is_not_modelled(variant: str) -> None:
    soil = Soil(1e6, 0.8, friction_angle=0.5, rebound=0.1, slip_modulus=0.2)
    with pytest.raises(ValueError, match=f"variant is '{variant}', allowed here: one of"):
        RigidWheel(RADIUS, WIDTH, soil, variant).normal_force_in_rut(0.02, 0.01)
