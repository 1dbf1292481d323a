"""Hunt-Crossley's force against the formula by hand, and the restitution it really gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from models.contact.laws import SLOWEST_ONSET, hunt_crossley

IMPACT = 0.07  # m/s, MacMahon 2016


@pytest.mark.parametrize(
    ("k", "p", "e", "depth", "rate", "onset", "force"),
    [
        (1e5, 1.0, 0.9, 1e-3, 0.0, 0.07, 100.0),  # elastic: k delta
        (1e5, 1.0, 0.9, 1e-3, 0.07, 0.07, 115.0),  # 1 + 3/2 (1 - 0.9) = 1.15
        (1e5, 1.0, 0.9, 1e-3, -0.07, 0.07, 85.0),
        (1e5, 1.0, 0.6, 2e-3, 0.035, 0.07, 260.0),  # 200 (1 + 0.6 / 2)
        (1e6, 1.5, 0.8, 4e-4, 0.1, 0.1, 10.4),  # 1e6 8e-6 (1 + 0.3)
        (1e6, 1.5, 1.0, 4e-4, 0.1, 0.1, 8.0),  # e = 1 loses nothing
    ],
)
def test_force_equals_the_formula_by_hand(k, p, e, depth, rate, onset, force):
    assert hunt_crossley(k, p, e, depth, rate, onset) == pytest.approx(force, rel=1e-12)


@settings(deadline=None)
@given(st.floats(-1.0, 0.0), st.floats(-10.0, 10.0), st.sampled_from([1.0, 1.5]))
def test_apart_there_is_no_force_at_any_rate(depth, rate, exponent):
    assert hunt_crossley(1e5, exponent, 0.9, depth, rate, 0.07) == 0.0


@settings(deadline=None)
@given(st.floats(0.0, 0.1), st.floats(-100.0, 100.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_it_never_pulls_and_stays_finite(depth, rate, onset, restitution):
    force = hunt_crossley(1e5, 1.5, restitution, depth, rate, onset)
    assert force >= 0.0
    assert np.isfinite(force)


def test_fast_enough_leaving_is_let_go_at_zero_and_not_below():
    assert hunt_crossley(1e5, 1.0, 0.5, 1e-3, -0.07 / 0.75 * 0.99, 0.07) == pytest.approx(1.0)
    assert hunt_crossley(1e5, 1.0, 0.5, 1e-3, -0.07 / 0.75 * 1.01, 0.07) == 0.0


def test_a_slower_onset_than_the_slowest_counts_as_the_slowest():
    at_slowest = hunt_crossley(1e5, 1.0, 0.9, 1e-3, 1e-4, SLOWEST_ONSET)
    assert hunt_crossley(1e5, 1.0, 0.9, 1e-3, 1e-4, 1e-12) == at_slowest
    assert hunt_crossley(1e5, 1.0, 0.9, 1e-3, 1e-4, 2.0 * SLOWEST_ONSET) < at_slowest


def rebound(mass: float, k: float, p: float, e: float, onset: float) -> tuple[float, float]:
    """Restitution and largest depth [m] of a mass that hits the law at `onset`, integrated by scipy."""

    def rate(_t, state):
        return [state[1], -hunt_crossley(k, p, e, state[0], state[1], onset) / mass]

    def apart(t, state):
        return state[0] if t > 0.0 else onset

    apart.terminal, apart.direction = True, -1
    # half the period of the undamped linear spring is a measure of the contact's length
    found = solve_ivp(
        rate, (0.0, 100.0 * np.sqrt(mass / k)), [0.0, onset], events=apart, rtol=1e-9, atol=1e-12,
        max_step=0.02 * np.sqrt(mass / k),
    )  # fmt: skip
    assert found.t_events[0].size == 1
    return -found.y_events[0][0][1] / onset, found.y[0].max()


@pytest.mark.parametrize("onset", [IMPACT, 0.5])
@pytest.mark.parametrize(("mass", "k", "p"), [(60.0, 5.5e4, 1.0), (4.0, 1e9, 1.5)])
def test_a_dropped_mass_comes_back_with_the_restitution_asked_for(mass, k, p, onset):
    assert rebound(mass, k, p, 0.9, onset)[0] == pytest.approx(0.9, abs=0.03)


def test_restitution_follows_what_is_asked_for_and_one_is_elastic():
    found = [rebound(60.0, 5.5e4, 1.0, e, IMPACT)[0] for e in (0.7, 0.8, 0.9, 1.0)]
    assert np.all(np.diff(found) > 0.03)
    assert found[-1] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("k", "p"), [(5.5e4, 1.0), (1e9, 1.5)])
def test_elastic_depth_is_where_the_spring_holds_all_the_energy(k, p):
    mass = 60.0
    depth = ((p + 1.0) * 0.5 * mass * IMPACT**2 / k) ** (1.0 / (p + 1.0))
    assert rebound(mass, k, p, 1.0, IMPACT)[1] == pytest.approx(depth, rel=1e-3)
