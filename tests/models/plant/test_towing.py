"""Drawbar pull in the plant: it settles at the wanted slip, and it is the sum of the wheels' pulls at their loads."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.plant import Plant, Towing
from models.plant.drive_commands import DriveCommands
from models.plant.towing import TowingWinch
from models.wheel import RigidWheel

pytestmark = pytest.mark.slow

MS = 1_000_000
BACK = np.array((-1.0, 0.0, 0.0, 0.0, -0.35, 0.0))


@pytest.fixture(scope="module")
def nominal():
    return nominal_rig(load_config("sim_drawbar", ["drawbar.measure_s=0.5"]))


@pytest.fixture(scope="module")
def settled(nominal):
    """A plant whose winch can still be chosen."""
    return Plant(nominal, np.random.default_rng(1))


def towed(settled, nominal, seconds=3.0, duty=0.45, **towing):
    plant = copy.deepcopy(settled)
    made = replace(nominal.towing, **towing)
    plant._tow = TowingWinch(made, nominal.drawbar.backwards(), plant._tow._pull)
    for tick in range(round(seconds * 1000)):
        plant.set_drives((0.0,) * 6, False, (duty * max(min(tick / 500, 1.0), 1e-3),) * 6)
        plant.advance((tick + 1) * MS)
    return plant


def pull_of(plant) -> float:
    """The force that pulls the rover back now [N]."""
    return -float(plant._tow._pull[0])


def expected_pull(nominal, loads, slips) -> float:
    """Sum of models.wheel over wheels with these loads [N]: the sinkage that bears a load, then the pull there."""
    wheel = RigidWheel(0.175, 0.15, nominal.ground.soil)
    total = 0.0
    for load, slip in zip(loads, slips, strict=True):
        sinkage = brentq(lambda z, load=load, slip=slip: wheel.forces(z, slip)[1] - load, 1e-7, 0.1)
        total += wheel.forces(sinkage, slip)[0]
    return total


@pytest.mark.parametrize("slip", [0.1, 0.4])
def test_the_slip_settles_and_the_pull_is_that_of_the_wheels_at_their_loads(settled, nominal, slip):
    plant = towed(settled, nominal, slip=slip)
    ground = plant._state.ground
    assert plant.traction.slip == pytest.approx(slip, abs=0.002)
    assert pull_of(plant) == pytest.approx(expected_pull(nominal, ground.vertical, ground.slip), rel=0.01)
    assert plant.traction.pull == pytest.approx(pull_of(plant), rel=0.02)
    weight = 9.81 * sum(body.mass for body in plant.rover.tree.bodies)
    assert ground.vertical.sum() == pytest.approx(weight, rel=0.005)


def test_the_pull_grows_no_faster_than_it_may(settled, nominal):
    plant = towed(settled, nominal, seconds=0.5, slip=0.95, rate=200.0)
    assert 0.95 < pull_of(plant) / (0.5 * 200.0) <= 1.001


def test_a_winch_with_a_speed_of_its_own_sets_that_of_the_rover(settled, nominal):
    plant = towed(settled, nominal, cable=0.05)
    assert plant.traction.speed == pytest.approx(0.05, rel=0.01)
    assert plant.traction.pull > 100.0
    with pytest.raises(ValueError, match="cable"):
        Towing(cable=0.0)


def test_a_winch_that_may_not_pull_only_measures(settled, nominal):
    plant = towed(settled, nominal, seconds=1.5, largest=0.0)
    assert pull_of(plant) == plant.traction.pull == 0.0
    assert 0.0 < plant.traction.slip < 0.1


def test_at_the_cut_the_winch_lets_go_and_what_was_measured_stays(settled, nominal):
    plant = towed(settled, nominal, seconds=1.5)
    before = plant.traction
    plant.set_drives((0.0,) * 6, True)
    plant.advance(plant.t_ns + 20 * MS)
    assert pull_of(plant) == 0.0
    assert plant.traction == before


def test_a_step_of_any_length_is_the_same_motion(settled, nominal):
    fine, coarse = (copy.deepcopy(settled) for _ in range(2))
    for plant, step in ((fine, 1), (coarse, 10)):
        plant.set_drives((0.4,) * 6, False)
        for tick in range(0, 100, step):
            plant.advance((tick + step) * MS)
    assert (fine._state.q == coarse._state.q).all()


def test_a_duty_of_zero_is_a_cut(settled):
    plant = copy.deepcopy(settled)
    plant.set_drives((0.4,) * 6, False, (0.5, 0.0, 0.5, 0.5, 0.5, 0.5))
    assert plant._state.drives.cut.tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    plant.set_drives((0.4,) * 6, False)  # the speeds hold again
    assert not plant._state.drives.cut.any()
    assert np.isnan(plant._state.drives.duty).all()


def test_a_duty_for_drives_without_motor_parameters_is_refused(settled):
    commands = DriveCommands(settled._state.drives, None, None)
    with pytest.raises(ValueError, match="the drives have no motor parameters"):
        commands.set((0.0,) * 6, (False,) * 6, (0.5,) * 6)


def test_the_winch_never_pushes():
    pull = np.zeros(6)
    tow = TowingWinch(Towing(slip=0.2, largest=1000.0), BACK, pull)
    tow.act(0.001, 0.0, 0.1, cut=False)  # far slower than the cable
    assert not pull.any()
    tow.act(0.001, 0.1, 0.1, cut=False)
    assert pull == pytest.approx(-pull[0] * BACK)
    assert pull[0] < 0.0


def test_what_cannot_be_is_refused_with_all_its_numbers():
    with pytest.raises(ValueError, match=r"slip is 1\.5.*rate is 0.*largest is -1.*over is 0"):
        Towing(slip=1.5, rate=0.0, largest=-1.0, over=0.0)


def test_an_error_of_the_drives_makes_no_more_than_the_supply(settled):
    state, motor = copy.deepcopy(settled._state.drives), settled.parameters.drive.motor
    commands = DriveCommands(state, motor, np.array([1.2, 1.2, 1.2, 0.8, 0.8, 0.8]))
    commands.set((math.nan,) * 6, (False,) * 6, (1.0, 0.5, -1.0, 1.0, 0.5, -1.0))
    assert state.duty == pytest.approx([1.0, 0.6, -1.0, 0.8, 0.4, -0.8])
