"""Steps of time: long in a steady drive on soil, short near the obstacle and until the drives have settled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.plant import Plant
from models.plant.advance import LAST_NS, StepLengths, longest_step_ns

BRIEF, STEADY = 100_000, 1_000_000
TICK_NS = 1_000_000


@pytest.fixture
def plant():
    return Plant(replace(nominal_rig(load_config("sim_impact")), piezo=None), np.random.default_rng(0))


def allowed(plant):
    """Longest step of a plant now [ns]."""
    chain = plant.rover.chain
    return longest_step_ns(
        StepLengths(BRIEF, STEADY), chain.motor_wheel, chain.wheel_body, plant.scene.value.state._replace(servos=None)
    )


def drive(plant, seconds, speed=0.4, *, cut=False):
    plant.set_drives((speed,) * 6, cut=cut)
    for _ in range(round(seconds * 1000)):
        plant.advance(plant.t_ns + TICK_NS)


def test_a_standing_rover_takes_one_step_a_tick(plant):
    drive(plant, 0.1, 0.0, cut=True)
    assert allowed(plant) == STEADY


def test_steps_are_short_from_a_command_on_until_the_drives_have_settled(plant):
    plant.set_drives((0.4,) * 6, cut=False)
    assert allowed(plant) == BRIEF
    drive(plant, 2.0)
    assert allowed(plant) == STEADY
    plant.set_drives((0.4,) * 6, cut=True)
    assert allowed(plant) == BRIEF


def test_steps_are_short_while_small_commands_speed_the_rover_up(plant):
    """A ramp in steps so small that each drive is at its set speed within the tick."""
    for tick in range(1, 400):
        plant.set_drives((1e-3 * tick,) * 6, cut=False)
        plant.advance(plant.t_ns + TICK_NS)
        assert plant.t_ns - plant._log.counts[LAST_NS] == BRIEF


def test_an_axle_that_the_ground_speeds_up_takes_one_step_a_tick(plant):
    drive(plant, 2.0)
    plant.scene.value.state.work.rhs[5:] = 1.0
    drive(plant, 0.001)
    assert plant.t_ns - plant._log.counts[LAST_NS] == STEADY


def test_steps_are_short_before_the_obstacle_and_on_it(plant):
    drive(plant, 2.0)
    plant.scene.value.state.obstacle.gap[:] = 0.01
    assert allowed(plant) == STEADY
    for gap in (1e-4, 0.0, -1e-3):
        plant.scene.value.state.obstacle.gap[:] = 0.01, gap
        assert allowed(plant) == BRIEF


def test_only_soil_has_long_steps_and_shorter_ones_shorten_both():
    assert nominal_rig(load_config("sim_impact")).step_lengths == (BRIEF, STEADY)
    assert nominal_rig(load_config("sim_impact", {"plant.substep_us": 20})).step_lengths == (20_000, 200_000)
    for name in ("sim_drop", "sim_step", "sim_step_nonsmooth", "sim_capture"):
        assert nominal_rig(load_config(name)).step_lengths == (BRIEF, BRIEF)


def test_stiff_soil_gets_no_longer_steps_than_half_of_what_it_can_be_integrated_with():
    damped = nominal_rig(load_config("sim_impact", {"soil.damping_spm": 15.0}))
    assert BRIEF < damped.step_lengths.steady < STEADY


def test_the_way_of_a_standing_start_hardly_depends_on_the_steps(plant):
    ways = []
    for step_ns in (10_000, 100_000, 1_000_000):
        parameters = replace(plant.parameters, substep_ns=step_ns, stretch=1, start_distance=5.0)
        one = Plant(parameters, np.random.default_rng(0))
        start = float(one.scene.value.state.q[0])
        drive(one, 3.0)
        ways.append(float(one.scene.value.state.q[0]) - start)
    assert ways[1:] == pytest.approx([ways[0]] * 2, rel=2e-4)  # a lead of one step of 1 ms would be 3.3e-4
