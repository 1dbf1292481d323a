"""The torques that bring the wheels' loads to a goal, against an exhaustive search, and the limits that bind."""

from __future__ import annotations

import numpy as np
import pytest

from hil.control.load_state import SteadyLoads
from hil.control.normal_force import Allocator
from hil.messages.loads import LIMIT_NAMES, LoadGoal, LoadLimits, LoadMode, binding_names
from models.actuators.linkage import CylinderForces, Linkage
from models.rover import rcp
from models.statics import RoverStatics

THREE = ("left_bogie", "right_bogie", "rear_bogie")
DOWN = (0.0, 0.0, -1.0)
ROVER = rcp()
STATICS = RoverStatics(ROVER)
PASSIVE_N = np.array([150.0, 170.0, 240.0, 220.0, 180.0, 217.0])


def influence(joints=THREE):
    return STATICS.influence(ROVER.neutral())[:, STATICS.columns(joints)]


def forces(cylinders=3, reach_Nm=58.0, area_m2=1e-3):
    """Cylinders with an arm of 0.25 m."""
    area, force = np.full(cylinders, area_m2), np.full(cylinders, 4.0 * reach_Nm)
    return CylinderForces(Linkage(np.zeros(2), np.zeros(2), 0.25, 0.25, 0.15), area, area, force, force)


def allocator(joints=THREE, limits=None, reach_Nm=58.0):
    limits = limits or LoadLimits(slew_Nmps=1e6)
    return Allocator(ROVER, joints, limits, forces(len(joints), reach_Nm), 0.01)


def steady(by_traction=None, traction_share=(1 / 6,) * 6):
    """What a steady drive would say; without tractions that follow the loads."""
    nothing = np.zeros((6, len(STATICS.joint_names)))
    shares = tuple(traction_share), np.zeros(0), np.zeros((6, 0))
    return SteadyLoads(nothing if by_traction is None else by_traction, *shares)


def allocate(one, goal, torque_Nm=None, joints=THREE):
    """One call, in the state that these torques give."""
    torque = np.zeros(len(joints)) if torque_Nm is None else np.array(torque_Nm)
    load = PASSIVE_N + influence(joints) @ torque
    return one.allocate(tuple(load), tuple(torque), (0.0,) * len(joints), DOWN, goal)


def best_of_grid(goal_N, joints, most_Nm, least_N):
    """The nearest loads to a goal among torques on a fine grid: an independent reference."""
    axis = np.linspace(-most_Nm, most_Nm, 117)
    torques = np.stack(np.meshgrid(*[axis] * len(joints)), axis=-1).reshape(-1, len(joints))
    loads = PASSIVE_N + torques @ influence(joints).T
    error = ((loads - goal_N) ** 2).sum(axis=1) + 1e9 * (loads.min(axis=1) < least_N)
    return loads[error.argmin()]


@pytest.mark.slow
@pytest.mark.parametrize("joints", [THREE, THREE[:2]], ids=["three", "two"])
@pytest.mark.parametrize("share", [(1 / 6,) * 6, (0.3, 0.14, 0.14, 0.14, 0.14, 0.14), (0.02, 0.38, 0.0, 0.3, 0.3, 0.0)])
def test_loads_are_the_nearest_ones_to_the_shares_within_all_limits(joints, share):
    found = allocate(allocator(joints), LoadGoal(LoadMode.SHARE, share), joints=joints)
    goal_N = np.array(share) * PASSIVE_N.sum()
    best = best_of_grid(goal_N, joints, 58.0, 20.0)
    distance = np.linalg.norm(np.array(found.load_N) - goal_N)
    assert distance <= np.linalg.norm(best - goal_N) + 0.01
    assert min(found.load_N) >= 20.0 - 1e-3
    assert np.abs(found.torque_Nm).max() <= 58.0 + 1e-6
    assert found.load_N == pytest.approx(PASSIVE_N + influence(joints) @ found.torque_Nm, abs=1e-6)


@pytest.mark.parametrize("mode", [LoadMode.UNIFORM, LoadMode.UNLOAD, LoadMode.PASSIVE])
def test_the_result_does_not_depend_on_the_present_torques(mode):
    goal = LoadGoal(mode, wheel=3)
    first = allocate(allocator(), goal)
    second = allocate(allocator(), goal, (20.0, -10.0, 15.0))
    assert second.torque_Nm == pytest.approx(first.torque_Nm, abs=1e-4)
    assert second.load_N == pytest.approx(first.load_N, abs=1e-3)


def test_passive_means_no_torque():
    found = allocate(allocator(), LoadGoal(LoadMode.PASSIVE), (20.0, -10.0, 15.0))
    assert found.torque_Nm == (0.0, 0.0, 0.0)
    assert found.load_N == pytest.approx(PASSIVE_N)


def test_pressures_give_the_torques_and_only_one_chamber_of_a_cylinder_is_filled():
    found = allocate(allocator(), LoadGoal(LoadMode.UNIFORM))
    pressure = np.array(found.pressure_Pa).reshape(3, 2)
    assert 0.25 * 1e-3 * (pressure[:, 0] - pressure[:, 1]) == pytest.approx(np.array(found.torque_Nm))
    assert (pressure >= 0.0).all()
    assert (pressure.min(axis=1) == 0.0).all()


def test_a_heavy_front_and_a_heavy_rear_axle_are_the_same_loads_because_no_torque_moves_weight_along_the_rover():
    """Axles of the RCP are evenly spaced: front and rear gain together what the middle loses."""
    front = allocate(allocator(), LoadGoal(LoadMode.SHARE, (0.25, 0.25, 0.125, 0.125, 0.125, 0.125)))
    rear = allocate(allocator(), LoadGoal(LoadMode.SHARE, (0.125, 0.125, 0.125, 0.125, 0.25, 0.25)))
    assert front.load_N == pytest.approx(rear.load_N, abs=0.5)
    uneven = sum(front.load_N[:2]) - sum(front.load_N[4:])
    assert uneven == pytest.approx(PASSIVE_N[:2].sum() - PASSIVE_N[4:].sum(), abs=0.5)
    assert "equilibrium" in binding_names(front.binding)


def test_hold_keeps_the_torques_of_its_first_moment():
    one, hold = allocator(), LoadGoal(LoadMode.HOLD)
    assert allocate(one, hold, (20.0, -10.0, 15.0)).torque_Nm == pytest.approx((20.0, -10.0, 15.0), abs=1e-5)
    assert allocate(one, hold, (12.0, 3.0, 0.0)).torque_Nm == pytest.approx((20.0, -10.0, 15.0), abs=1e-5)
    allocate(one, LoadGoal(LoadMode.UNIFORM))
    one.reset()
    assert allocate(one, hold, (12.0, 3.0, 0.0)).torque_Nm == pytest.approx((12.0, 3.0, 0.0), abs=1e-5)


def test_a_goal_in_the_direction_that_two_cylinders_lack_is_missed_for_want_of_a_cylinder():
    two, change = allocator(THREE[:2]), influence(THREE[2:])[:, 0]
    assert change[5] > 0.0 > change[4]  # the rear bogie's port wheel is raised by a positive torque about x
    wish = LoadGoal(LoadMode.SHARE, tuple((PASSIVE_N + 20.0 * change) / PASSIVE_N.sum()))
    assert binding_names(allocate(two, wish, joints=THREE[:2]).binding) == ("cylinders",)
    assert allocate(allocator(), wish).binding == 0


def test_each_limit_is_named_when_it_binds():
    def names(goal, limits, reach_Nm=58.0):
        return set(binding_names(allocate(allocator(THREE, limits, reach_Nm), goal).binding))

    uniform = LoadGoal(LoadMode.UNIFORM)
    assert names(uniform, LoadLimits(slew_Nmps=1e6)) == {"equilibrium"}  # the centre of mass is not in the middle
    assert names(uniform, LoadLimits(5.0, 1e6)) == {"equilibrium", "torque"}
    assert names(uniform, LoadLimits(slew_Nmps=1e6), 5.0) == {"equilibrium", "pressure"}
    assert names(uniform, LoadLimits(slew_Nmps=10.0)) == {"equilibrium", "slew"}
    unload = LoadGoal(LoadMode.UNLOAD, wheel=0)
    assert names(unload, LoadLimits(200.0, 1e6, 60.0), 200.0) == {"least_load"}
    front = LoadGoal(LoadMode.SHARE, (0.3, 0.14, 0.14, 0.14, 0.14, 0.14))
    assert "most_load" in names(front, LoadLimits(200.0, 1e6, 20.0, 250.0), 200.0)
    assert LIMIT_NAMES[-1] == "solver"


def test_torques_move_no_faster_than_the_slew_allows_and_arrive():
    one, goal = allocator(limits=LoadLimits(slew_Nmps=100.0)), LoadGoal(LoadMode.UNIFORM)
    end = np.array(allocate(allocator(), goal).torque_Nm)
    torques = [np.zeros(3)]
    while len(torques) < 100:
        torques.append(np.array(allocate(one, goal, torques[-1]).torque_Nm))
    steps = np.abs(np.diff(torques, axis=0))
    assert steps.max() == pytest.approx(1.0)
    assert torques[-1] == pytest.approx(end, abs=1e-4)


SIDES = pytest.mark.parametrize("side", [-1.0, 1.0], ids=["low", "high"])
CYLINDER = pytest.mark.parametrize("cylinder", [0, 1, 2])


def wish_for(torque_Nm):
    """Shares that these torques would give."""
    return LoadGoal(LoadMode.SHARE, tuple((PASSIVE_N + influence() @ torque_Nm) / PASSIVE_N.sum()))


@SIDES
@CYLINDER
@pytest.mark.parametrize(("name", "limit_Nm", "reach_Nm"), [("torque", 20.0, 200.0), ("pressure", 200.0, 20.0)])
def test_a_torque_goes_to_its_limit_on_either_side_and_no_further(cylinder, side, name, limit_Nm, reach_Nm):
    one = allocator(limits=LoadLimits(limit_Nm, 1e6), reach_Nm=reach_Nm)
    within = 19.0 * side * np.eye(3)[cylinder]
    found = allocate(one, wish_for(within))
    assert found.torque_Nm == pytest.approx(within, abs=1e-3)
    assert binding_names(found.binding) == ()
    found = allocate(one, wish_for(40.0 * side * np.eye(3)[cylinder]))
    assert found.torque_Nm[cylinder] == pytest.approx(20.0 * side, abs=1e-9)
    assert np.abs(found.torque_Nm).max() <= 20.0 + 1e-9
    assert name in binding_names(found.binding)


@SIDES
@CYLINDER
def test_a_torque_rises_and_falls_by_the_same_step(cylinder, side):
    one, goal = allocator(limits=LoadLimits(slew_Nmps=100.0)), wish_for(30.0 * side * np.eye(3)[cylinder])
    for call in (1.0, 2.0, 3.0):
        found = allocate(one, goal)
        assert found.torque_Nm[cylinder] == pytest.approx(call * side, abs=1e-3)
        assert "slew" in binding_names(found.binding)


@SIDES
@pytest.mark.parametrize("wheel", range(6))
def test_a_load_goes_to_its_limit_on_either_side_and_no_further(wheel, side):
    """From even loads; the wish moves this wheel by 60 N and the limit is at 30 N."""
    even, limit_N = np.full(6, 196.0), 196.0 + 30.0 * side
    limits = LoadLimits(500.0, 1e6, limit_N, np.inf) if side < 0.0 else LoadLimits(500.0, 1e6, 0.0, limit_N)
    change = influence() @ influence()[wheel]
    wish = even + 60.0 * side * change / change[wheel]
    goal = LoadGoal(LoadMode.SHARE, tuple(wish / wish.sum()))
    one = allocator(limits=limits, reach_Nm=500.0)
    found = one.allocate(tuple(even), (0.0,) * 3, (0.0,) * 3, DOWN, goal)
    assert side * (side * np.array(found.load_N)).max() == pytest.approx(limit_N, abs=1e-3)
    assert binding_names(found.binding)[-1] == ("least_load" if side < 0.0 else "most_load")
    free = allocator(limits=LoadLimits(500.0, 1e6, 0.0), reach_Nm=500.0)
    found = free.allocate(tuple(even), (0.0,) * 3, (0.0,) * 3, DOWN, goal)
    assert found.load_N == pytest.approx(wish, abs=0.1)


def test_limits_that_the_present_state_breaks_give_the_nearest_loads_and_say_so():
    limits = LoadLimits(slew_Nmps=1e6, least_load_N=190.0)
    found = allocate(allocator(limits=limits, reach_Nm=5.0), LoadGoal(LoadMode.UNIFORM))
    assert {"least_load", "pressure"} <= set(binding_names(found.binding))
    assert np.isfinite(found.load_N).all()


def test_a_state_that_is_not_a_number_has_no_solution_and_no_pressures_and_is_forgotten():
    one, goal = allocator(), LoadGoal(LoadMode.UNIFORM)
    good = allocate(one, goal)
    found = one.allocate(tuple(PASSIVE_N), (0.0,) * 3, (0.0, np.nan, 0.0), DOWN, goal)
    assert binding_names(found.binding) == ("solver",)
    assert found.pressure_Pa == (0.0,) * 6
    assert allocate(one, goal) == good


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        (LoadGoal(LoadMode.SHARE, (0.2,) * 6), r"add up to 1\.2, needed: 1"),
        (LoadGoal(LoadMode.SHARE, (0.5, 0.5)), "2 shares, needed: 6"),
        (LoadGoal(LoadMode.SHARE, (-0.1, 0.3, 0.2, 0.2, 0.2, 0.2)), r"front_left is -0\.1, allowed: 0 to 1"),
        (LoadGoal(LoadMode.UNLOAD, wheel=6), "number 6, allowed: 0 to 5"),
        (LoadGoal(LoadMode.MAX_TRACTION), "max_traction needs soil"),
    ],
)
def test_a_goal_that_this_rig_cannot_have_is_refused_with_its_numbers(goal, message):
    with pytest.raises(ValueError, match=message):
        allocator().require(goal)


def test_a_joint_that_the_rover_lacks_is_refused():
    with pytest.raises(ValueError, match="tail are not suspension joints of this rover, which has left_bogie"):
        allocator(("left_bogie", "tail"))


def test_max_traction_aims_at_the_loads_of_the_steady_state_and_keeps_aiming_at_them():
    share = np.array((0.18, 0.17, 0.16, 0.15, 0.16, 0.18))
    one = Allocator(ROVER, THREE, LoadLimits(slew_Nmps=1e6), forces(), 0.01, steady=steady(traction_share=share))
    goal = LoadGoal(LoadMode.MAX_TRACTION)
    one.require(goal)
    torque, aimed = np.zeros(3), []
    for _ in range(5):
        found = allocate(one, goal, torque)
        torque = np.array(found.torque_Nm)
        aimed.append(found.load_N)
    assert np.ptp(aimed, axis=0).max() < 1e-3
    missing = share * PASSIVE_N.sum() - PASSIVE_N
    assert aimed[0] == pytest.approx(PASSIVE_N + influence() @ np.linalg.lstsq(influence(), missing)[0], abs=0.01)


def test_torques_are_right_for_loads_that_follow_with_the_tractions():
    """A rover whose tractions take back a part of what the torques do; the program is told, or it stops short."""
    at_rest, rear = STATICS.influence(ROVER.neutral()), ("rear_bogie",)
    by_traction = -0.2 * at_rest
    by_traction[:2] -= 1.0
    by_traction[2:4] += 1.0
    truly = (at_rest + by_traction)[:, STATICS.columns(rear)]

    def settled(steady_drive):
        one = Allocator(ROVER, rear, LoadLimits(500.0, 1e6, 0.0), forces(1, reach_Nm=500.0), 0.01, steady=steady_drive)
        torque = np.zeros(1)
        for _ in range(60):
            state = tuple(PASSIVE_N + truly @ torque), tuple(torque), (0.0,), DOWN
            torque = np.array(one.allocate(*state, LoadGoal(LoadMode.UNIFORM)).torque_Nm)
        return PASSIVE_N + truly @ torque

    best = PASSIVE_N + truly @ np.linalg.lstsq(truly, PASSIVE_N.mean() - PASSIVE_N)[0]
    assert settled(steady(by_traction)) == pytest.approx(best, abs=0.01)
    assert settled(None).std() > best.std() + 1.0
