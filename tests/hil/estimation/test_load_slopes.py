"""Loads of a standing rover by its tilt and its masses, against the equilibria of models.statics."""

from __future__ import annotations

import numpy as np
import pytest

from hil.config import load_config
from hil.config.rig import Rig
from hil.estimation.observer.filter_setup import load_errors, load_slopes, resting_loads
from models.rover.registry import ROVERS
from models.statics import SteadyRover

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs


def standing(*settings: str):
    """Rig, rover and equilibrium on firm ground."""
    bare = "telemetry.endpoint=''", "experiment=drive", "ground.kind=firm"
    rig = Rig(load_config("sim_impact", [*bare, *settings]))
    rover, vehicle, _ = rig.nominal.assemble()
    return rig, rover, SteadyRover(rover, vehicle, 0.0).at()


@pytest.fixture(scope="module")
def level():
    return standing()


def test_resting_loads_are_those_of_the_equilibrium_and_bear_the_weight(level):
    rig, rover, state = level
    loads = resting_loads(rover, state.q, 9.81)
    np.testing.assert_allclose(loads, state.load, rtol=2e-3)
    assert loads.sum() == pytest.approx(9.81 * sum(body.mass for body in rover.tree.bodies), rel=1e-6)
    assert len(rig.layout.wheels) == loads.size


@pytest.mark.parametrize("axis", [0, 1], ids=["roll", "pitch"])
def test_loads_change_with_the_tilt_as_on_ground_of_other_heights(level, axis):
    # level ground under each wheel, at heights at which the rover is turned about one axis
    _, rover, state = level
    place = rover.wheel_positions(rover.neutral())
    turned = 0.01
    slopes = load_slopes(rover, state.q, ("left_bogie", "right_bogie", "rear_bogie"), 9.81)
    heights = turned * (place[:, 1] if axis == 0 else -place[:, 0])
    loads = []
    for sign in (1.0, -1.0):
        _, _, found = standing(f"ground.wheel_height_m={(sign * heights).round(6).tolist()}")
        assert 2.0 * found.q[3 + axis] == pytest.approx(sign * turned, rel=0.02)
        loads.append(found.load)
    expected = (loads[0] - loads[1]) / (2.0 * turned)
    assert np.abs(expected).max() > 50.0
    np.testing.assert_allclose(slopes[:, axis], expected, atol=0.03 * np.abs(expected).max())


def test_a_joint_that_turns_moves_loads_between_wheels_and_adds_none(level):
    _, rover, state = level
    slopes = load_slopes(rover, state.q, ("left_bogie", "right_bogie", "rear_bogie"), 9.81)
    np.testing.assert_allclose(slopes.sum(axis=0), 0.0, atol=0.5)


def test_heavier_parts_make_heavier_loads_by_their_masses(level):
    rig, _, state = level
    loads, total = load_errors(rig.nominal, state.q, 0.05)
    assert 0.01 < total < 0.05  # independent masses: less than each of them
    assert 0.01 < (loads / state.load).max() < 0.1
    twice, total_twice = load_errors(rig.nominal, state.q, 0.10)
    np.testing.assert_allclose(twice, 2.0 * loads)
    assert total_twice == pytest.approx(2.0 * total)


@pytest.mark.parametrize("name", sorted(ROVERS))
def test_every_rover_has_loads_that_bear_it_or_none_that_change(name):
    rover = ROVERS[name]().build()
    loads = resting_loads(rover, rover.neutral(), 9.81)
    if loads is None:
        assert not load_slopes(rover, rover.neutral(), (), 9.81).any()
    else:
        weight = 9.81 * sum(body.mass for body in rover.tree.bodies)
        assert loads.sum() == pytest.approx(weight, rel=1e-6)
