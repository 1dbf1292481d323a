"""Every contact law against its formula by hand, and limits that hold for all laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.contact.laws import LAWS, SLOWEST_ONSET, Law, law_force, make_law
from models.contact.obstacle import Obstacle

IMPACT = 0.07  # m/s, MacMahon 2016
HYSTERETIC = ["hunt_crossley", "lankarani_nikravesh", "lee_wang", "gonthier"]


def law(name: str, k: float = 1e5, p: float = 1.0, e: float = 0.9, b: float = 0.0) -> Law:
    return Law(LAWS[name], k, p, e, b)


@pytest.mark.parametrize(
    ("name", "k", "p", "e", "b", "depth", "rate", "onset", "force"),
    [
        ("hunt_crossley", 1e5, 1.0, 0.9, 0.0, 1e-3, 0.0, 0.07, 100.0),  # elastic: k delta
        ("hunt_crossley", 1e5, 1.0, 0.9, 0.0, 1e-3, 0.07, 0.07, 115.0),  # 1 + 3/2 (1 - 0.9) = 1.15
        ("hunt_crossley", 1e5, 1.0, 0.9, 0.0, 1e-3, -0.07, 0.07, 85.0),
        ("hunt_crossley", 1e5, 1.0, 0.6, 0.0, 2e-3, 0.035, 0.07, 260.0),  # 200 (1 + 0.6 / 2)
        ("hunt_crossley", 1e6, 1.5, 0.8, 0.0, 4e-4, 0.1, 0.1, 10.4),  # 1e6 8e-6 (1 + 0.3)
        ("hunt_crossley", 1e6, 1.5, 1.0, 0.0, 4e-4, 0.1, 0.1, 8.0),  # e = 1 loses no energy
        ("lankarani_nikravesh", 1e5, 1.0, 0.6, 0.0, 1e-3, 0.07, 0.07, 148.0),  # 1 + 3/4 (1 - 0.36)
        ("lee_wang", 1e5, 1.0, 0.6, 0.0, 1e-3, 0.07, 0.07, 130.0),  # 1 + 3/4 (1 - 0.6)
        ("lee_wang", 1e6, 1.5, 0.6, 0.0, 4e-4, 0.1, 0.1, 10.4),  # delta^p, which (5.8) prints as delta
        ("gonthier", 1e5, 1.0, 0.6, 0.8, 1e-3, 0.035, 0.07, 140.0),  # 1 + 0.8 / 2
        ("hertz", 1e6, 1.5, 0.6, 0.0, 4e-4, 0.1, 0.1, 8.0),
        ("kelvin_voigt", 1e5, 1.0, 0.6, 200.0, 1e-3, 0.1, 0.1, 120.0),  # 100 + 200 0.1
        ("visco_elastic", 1e6, 1.5, 0.6, 2e6, 4e-4, 0.1, 0.1, 9.6),  # 8e-6 (1e6 + 2e6 0.1)
    ],
)
def test_force_equals_the_formula_by_hand(name, k, p, e, b, depth, rate, onset, force):
    assert law_force(law(name, k, p, e, b), depth, rate, onset) == pytest.approx(force, rel=1e-12)


@settings(deadline=None)
@given(st.sampled_from(list(LAWS)), st.floats(-1.0, 0.0), st.floats(-10.0, 10.0), st.floats(0.0, 1e6))
def test_apart_there_is_no_force_at_any_rate(name, depth, rate, damping):
    assert law_force(law(name, b=damping), depth, rate, 0.07) == 0.0


@settings(deadline=None)
@given(
    st.sampled_from(list(LAWS)), st.floats(0.0, 0.1), st.floats(-100.0, 100.0), st.floats(0.0, 1.0),
    st.floats(0.0, 1.0), st.floats(0.0, 1e6), st.sampled_from([1.0, 1.5, 2.0]),
)  # fmt: skip
@pytest.mark.slow
def test_no_law_pulls_and_all_stay_finite(name, depth, rate, onset, restitution, damping, exponent):
    force = law_force(law(name, 1e5, exponent, restitution, damping), depth, rate, onset)
    assert force >= 0.0
    assert np.isfinite(force)


@settings(deadline=None)
@given(st.sampled_from(list(LAWS)), st.floats(1e-6, 0.1), st.floats(-1.0, 1.0), st.floats(0.0, 0.5))
def test_force_never_falls_with_the_rate(name, depth, rate, more):
    """So damping only removes energy: over a cycle it works against the motion."""
    chosen = law(name, b=3.0)
    assert law_force(chosen, depth, rate + more, 0.07) >= law_force(chosen, depth, rate, 0.07)


def test_fast_enough_leaving_is_let_go_at_zero_and_not_below():
    chosen = law("hunt_crossley", e=0.5)
    assert law_force(chosen, 1e-3, -0.07 / 0.75 * 0.99, 0.07) == pytest.approx(1.0)
    assert law_force(chosen, 1e-3, -0.07 / 0.75 * 1.01, 0.07) == 0.0


@pytest.mark.parametrize("name", HYSTERETIC)
def test_a_slower_onset_than_the_slowest_counts_as_the_slowest(name):
    chosen = law(name, e=0.5, b=1.0)
    at_slowest = law_force(chosen, 1e-3, 1e-4, SLOWEST_ONSET)
    assert law_force(chosen, 1e-3, 1e-4, 1e-12) == at_slowest
    assert law_force(chosen, 1e-3, 1e-4, 2.0 * SLOWEST_ONSET) < at_slowest


@pytest.mark.parametrize("name", LAWS)
def test_a_made_law_is_what_an_obstacle_takes(name):
    made = make_law(name, 5e4, restitution=0.8, damping=30.0 if name in ("kelvin_voigt", "visco_elastic") else None)
    obstacle = Obstacle(angle=1.0, foot=0.0, friction=0.0, friction_speed=0.005, **made._asdict())
    assert Law(obstacle.law, obstacle.stiffness, obstacle.exponent, obstacle.restitution, obstacle.damping) == made
    assert made.law == LAWS[name]


def test_without_a_choice_the_obstacle_is_hunt_crossleys():
    assert Obstacle(1.0, 0.0, 5e4, 1.0, 0.9, 0.0, 0.005).law == LAWS["hunt_crossley"]


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "stiff", None, True])
def test_a_stiffness_out_of_range_is_refused(bad):
    with pytest.raises(ValueError, match=r"contact law hertz: stiffness is .*, allowed: a finite number in \(0, inf"):
        make_law("hertz", bad)


@pytest.mark.parametrize("bad", [0.0, -0.1, 1.0001, math.nan, math.inf])
@pytest.mark.parametrize("name", [*HYSTERETIC, "kelvin_voigt"])
def test_a_restitution_out_of_range_is_refused(name, bad):
    with pytest.raises(ValueError, match=r"restitution is .*, allowed: a finite number in \(0, 1\]"):
        make_law(name, 1e5, restitution=bad, mass=4.0 if name == "kelvin_voigt" else None)


@pytest.mark.parametrize("bad", [0.5, 3.5, math.nan, -1.0])
def test_an_exponent_out_of_range_is_refused(bad):
    with pytest.raises(ValueError, match=r"exponent is .*, allowed: a finite number in \[1, 3\]"):
        make_law("hunt_crossley", 1e5, exponent=bad)


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(ValueError, match=r"stiffness is -1.*exponent is 9.*restitution is 2"):
        make_law("gonthier", -1.0, exponent=9.0, restitution=2.0)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("rubber", {}, r"name is 'rubber', allowed: hunt_crossley, "),
        ("kelvin_voigt", {"damping": 1.0, "exponent": 1.5}, r"exponent is 1\.5, allowed: a finite number in \[1, 1\]"),
        ("kelvin_voigt", {}, r"damping is None, allowed: a number, or mass instead"),
        ("kelvin_voigt", {"damping": 1.0, "mass": 1.0}, r"damping is 1\.0, allowed: a number, or mass instead"),
        ("kelvin_voigt", {"damping": -1.0}, r"damping is -1\.0, allowed: a finite number in \[0, inf"),
        ("kelvin_voigt", {"mass": 0.0}, r"mass is 0\.0, allowed: a finite number in \(0, inf"),
        ("visco_elastic", {}, r"damping is None, allowed: a number$"),
        ("visco_elastic", {"mass": 1.0}, r"mass is 1\.0, allowed: none"),
        ("hertz", {"damping": 1.0}, r"damping is 1\.0, allowed: none"),
        ("gonthier", {"mass": 1.0}, r"mass is 1\.0, allowed: none"),
    ],
)
def test_a_parameter_that_does_not_belong_to_the_law_is_refused(name, given, message):
    with pytest.raises(ValueError, match=message):
        make_law(name, 1e5, **given)
