"""Where there is something to gain from moving the wheels' loads: theory, against the wheel model."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from models.contact.ground import Ground
from models.plant.parameters import OFF
from models.rover import rcp
from models.statics import SteadyRover, best_torques, spread_of, unevenness
from models.vehicle import VehicleModel
from models.wheel import RigidWheel, Soil
from references.wheel_loads import traction_wrenches, wheel_loads
from references.wheel_under_load import wheel_under_load

DRY_SAND = Soil(1.783e6, 0.75, friction_angle=math.radians(30.0), rebound=0.07, slip_modulus=0.185)
COHESIVE = Soil(1.783e6, 0.75, cohesion=500.0, friction_angle=math.radians(30.0), rebound=0.07, slip_modulus=0.185)
JUNO = Soil(2.07e5, 0.583, friction_angle=math.radians(30.0), rebound=0.0674, slip_modulus=0.689)
ROVER = rcp()
SLIP = 0.2
WHOLE_N = 588.0  # on the three wheels of a side


def packed(soil):
    return np.array(RigidWheel(0.175, 0.15, soil).parameters)


def side_pull(soil, loads, ruts=False):
    """Net pull [N] of three wheels on one track."""
    total, depth = 0.0, 0.0
    for load in loads:
        sinkage, pull, _ = wheel_under_load(packed(soil), load, depth if ruts else 0.0, SLIP)
        total += pull
        depth = max(depth, sinkage)
    return total


def best_shares(soil, ruts=False):
    shares = [s for s in itertools.product(np.arange(0.2, 0.501, 0.02), repeat=2) if 1.0 - sum(s) > 0.15]
    return max(((*s, 1.0 - sum(s)) for s in shares), key=lambda s: side_pull(soil, np.array(s) * WHOLE_N, ruts))


@pytest.mark.parametrize(("soil", "pull_N", "moved_N"), [(DRY_SAND, 73.2, 132.0), (JUNO, 4.7, 25.0)])
def test_traction_moves_load_from_the_front_to_the_middle_wheel(soil, pull_N, moved_N):
    _, pull, tractive = wheel_under_load(packed(soil), WHOLE_N / 3.0, 0.0, SLIP)
    moment = 0.275 * pull + 0.175 * tractive  # about the pivot, 0.45 m above the ground; the drive takes R F_t
    assert pull == pytest.approx(pull_N, rel=0.01)
    assert 2.0 * moment / 0.5349 == pytest.approx(moved_N, rel=0.03)
    # the same in the balance of a side bogie: arms of its wheels 0.2678 and 0.2671 m, Table 4-1
    q = ROVER.neutral()
    wrenches = traction_wrenches(ROVER, (0.0, 0.0, 1.0), pull, 0.175 * tractive)
    change = wheel_loads(ROVER, q, np.zeros(3), wrenches=wrenches) - wheel_loads(ROVER, q, np.zeros(3))
    assert 0.2678 * change[0] - 0.2671 * change[2] == pytest.approx(-2.0 * moment, rel=0.002)


@pytest.mark.parametrize("soil", [DRY_SAND, COHESIVE, JUNO])
def test_on_even_soil_pull_is_concave_in_load_and_equal_loads_pull_most(soil):
    loads = np.linspace(50.0, 400.0, 29)
    pulls = np.array([wheel_under_load(packed(soil), load, 0.0, SLIP)[1] for load in loads])
    assert (np.diff(pulls, 2) < 0.0).all()
    assert best_shares(soil) == pytest.approx((1 / 3, 1 / 3, 1 / 3), abs=0.02)


def test_thrust_without_cohesion_is_proportional_to_the_resultant_and_resistance_convex_in_load():
    from models.wheel.kernels import normal_resultants

    p = packed(DRY_SAND)
    places = np.linspace(0.002, 0.02, 40)
    vertical, against = np.array([normal_resultants(p, z) for z in places]).T
    # Bekker's compaction resistance less the rear half's share (Tire III)
    closed = 1.783e6 * 0.15 * places**1.75 * (1.0 / 1.75 - 0.035)
    assert against == pytest.approx(closed, rel=1e-9)
    slopes = np.diff(against) / np.diff(vertical)
    assert (np.diff(slopes) > 0.0).all()


def test_cohesion_adds_pull_and_keeps_the_optimum():
    equal = np.full(3, WHOLE_N / 3.0)
    assert side_pull(COHESIVE, equal) > side_pull(DRY_SAND, equal) + 5.0
    assert sorted(best_shares(COHESIVE)) == pytest.approx(sorted(best_shares(DRY_SAND)))


@pytest.mark.parametrize(("soil", "gain"), [(DRY_SAND, 0.004), (JUNO, 0.031)])
def test_in_ruts_a_heavier_front_wheel_pulls_more(soil, gain):
    front, middle, rear = best_shares(soil, ruts=True)
    assert front > middle > rear
    assert front == pytest.approx(0.41, abs=0.03)
    best = side_pull(soil, np.array([front, middle, rear]) * WHOLE_N, ruts=True)
    assert best / side_pull(soil, np.full(3, WHOLE_N / 3.0), ruts=True) - 1.0 == pytest.approx(gain, rel=0.1)


def steady(ground, speed=0.05):
    """The RCP, held at the slip by a pull at the ground."""
    vehicle = VehicleModel(ROVER.chain, ground, OFF, None, np.array((0.0, 0.0, -9.81)))
    return SteadyRover(ROVER, vehicle, speed, held=np.array((-1.0, 0.0, 0.0, 0.0, 0.0, 0.0)), slip=SLIP)


def test_the_best_spread_is_that_of_the_loads_which_equilibrium_leaves_free():
    ground = Ground(packed(DRY_SAND), 2.0, 0.02, 0.001, 0.005)
    drive = steady(ground)
    three = ("left_bogie", "right_bogie", "rear_bogie")
    passive = drive.at(np.zeros(3))
    torque, best = best_torques(unevenness, drive, three, [-100.0] * 3, [100.0] * 3)
    assert spread_of(passive.load) > 0.3
    # sum and moments of loads are fixed: the least spread is linear in place, whatever torque gives it
    places = ROVER.wheel_positions(ROVER.neutral())[:, :2]
    plane = np.column_stack([np.ones(6), places])
    left_over = best.load - plane @ np.linalg.lstsq(plane, best.load, rcond=None)[0]
    assert np.abs(left_over).max() < 0.5
    assert 60.0 < np.abs(torque).max() < 80.0  # more than the thesis's cylinders give
    assert best.pull > passive.pull


def test_torques_short_of_the_best_stop_at_their_limit():
    ground = Ground(packed(DRY_SAND), 2.0, 0.02, 0.001, 0.005)
    drive = steady(ground)
    torque, best = best_torques(unevenness, drive, ("left_bogie",), [-20.0], [20.0], (20.0, np.inf))
    assert torque[drive.joint_names.index("left_bogie")] == pytest.approx(20.0, rel=1e-6)
    assert np.count_nonzero(torque) == 1
    assert best.load.min() >= 20.0
