"""Each bound of hil.control.load_program holds on its own side: just inside passes, just beyond is held."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space

from hil.control.normal_force import Allocation, Allocator
from hil.messages.loads import LoadGoal, LoadLimits, LoadMode, binding_names
from models.actuators.linkage import CylinderForces, Linkage
from models.rover import rcp
from models.statics import RoverStatics

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

THREE = ("left_bogie", "right_bogie", "rear_bogie")
ROVER = rcp()
STATICS = RoverStatics(ROVER)
B = STATICS.influence(ROVER.neutral())[:, STATICS.columns(THREE)]  # (wheels, cylinders) loads by 1 N m
PASSIVE_N = np.array([200.0, 190.0, 205.0, 195.0, 188.0, 199.0])
MEAN_N = PASSIVE_N.mean()
FREE = LoadLimits(torque_Nm=1e3, slew_Nmps=1e9, least_load_N=0.0)
EXTEND_NM, RETRACT_NM, ARM_M = 40.0, 30.0, 0.25


def forces(cylinders=3, extend_Nm=1e3, retract_Nm=1e3):
    """Cylinders with an arm of 0.25 m that reach so much each way."""
    ones = np.ones(cylinders)
    linkage = Linkage(np.zeros(2), np.zeros(2), ARM_M, ARM_M, 0.15)
    return CylinderForces(linkage, 1e-3 * ones, 1e-3 * ones, extend_Nm / ARM_M * ones, retract_Nm / ARM_M * ones)


def aim_at(goal_N, limits=FREE, by=None, joints=THREE) -> tuple[Allocation, set[str]]:
    """The allocation for these loads, from no torques, and the names of the limits that bind."""
    share, none = tuple(np.asarray(goal_N) / PASSIVE_N.sum()), (0.0,) * len(joints)
    one = Allocator(ROVER, joints, limits, by or forces(len(joints)), 0.01)
    found = one.allocate(tuple(PASSIVE_N), none, none, (0.0, 0.0, -1.0), LoadGoal(LoadMode.SHARE, share))
    return found, set(binding_names(found.binding))


def loads_by(cylinder: int, torque_Nm: float):
    """The loads that this torque of one cylinder alone gives: no other torques reach them."""
    return PASSIVE_N + B[:, cylinder] * torque_Nm


@pytest.mark.parametrize("cylinder", range(3))
@pytest.mark.parametrize("way", [1.0, -1.0], ids=["up", "down"])
@pytest.mark.parametrize("bound", ["torque", "pressure"])
def test_a_torque_stops_at_its_own_bound_and_not_before(cylinder, way, bound):
    """Of the rig (normal_force.torque_limit_Nm), or of the supply, which reaches less where the cylinders retract."""
    most = 35.0 if bound == "torque" else EXTEND_NM if way > 0.0 else RETRACT_NM
    limits = FREE._replace(torque_Nm=35.0) if bound == "torque" else FREE
    by = forces() if bound == "torque" else forces(3, EXTEND_NM, RETRACT_NM)
    inside, names = aim_at(loads_by(cylinder, way * 0.99 * most), limits, by)
    assert names == set()
    assert inside.torque_Nm[cylinder] == pytest.approx(way * 0.99 * most, abs=1e-3)
    beyond, names = aim_at(loads_by(cylinder, way * 1.01 * most), limits, by)
    assert names - {"equilibrium", "cylinders"} == {bound}
    assert beyond.torque_Nm[cylinder] == pytest.approx(way * most, abs=1e-6)


@pytest.mark.parametrize(("side", "load_N"), [("least_load", 150.0), ("most_load", 250.0)])
@pytest.mark.parametrize("wheel", [0, 1])
def test_a_load_stops_at_its_own_bound_and_gives_way_by_no_more_than_a_millionth(side, load_N, wheel):
    limits = FREE._replace(**{f"{side}_N": load_N})
    out = np.sign(load_N - MEAN_N)

    def goal(own_N):
        return PASSIVE_N + B @ (B[wheel] * (own_N - PASSIVE_N[wheel]) / (B[wheel] @ B[wheel]))

    inside, names = aim_at(goal(load_N - 0.5 * out), limits)
    assert names == set()
    assert inside.load_N == pytest.approx(goal(load_N - 0.5 * out), abs=1e-3)
    for beyond_N in (0.5, 30.0):
        beyond, names = aim_at(goal(load_N + beyond_N * out), limits)
        assert names == {side}
        assert beyond.load_N[wheel] == pytest.approx(load_N, abs=1e-3)


@pytest.mark.parametrize("cylinder", range(3))
@pytest.mark.parametrize("way", [1.0, -1.0], ids=["up", "down"])
def test_a_torque_moves_by_its_step_in_a_period_and_no_further(cylinder, way):
    limits = FREE._replace(slew_Nmps=100.0)  # 1 N m in the 10 ms between two calls
    inside, names = aim_at(loads_by(cylinder, way * 0.99), limits)
    assert names == set()
    assert inside.torque_Nm[cylinder] == pytest.approx(way * 0.99, abs=1e-4)
    for wanted_Nm in (1.01, 1.2, 20.0):
        beyond, names = aim_at(loads_by(cylinder, way * wanted_Nm), limits)
        assert names == {"slew"}
        assert beyond.torque_Nm[cylinder] == pytest.approx(way, abs=1e-6)


def test_a_goal_counts_as_missed_by_equilibrium_from_a_hundredth_of_the_mean_load_on():
    off = null_space(np.column_stack([B, np.ones(6)]).T)[:, 0]
    off *= 0.01 * MEAN_N / np.abs(off).max()
    assert aim_at(PASSIVE_N + 0.99 * off)[1] == set()
    assert aim_at(PASSIVE_N + 1.01 * off)[1] == {"equilibrium"}


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_goal_counts_as_missed_for_want_of_a_cylinder_from_a_hundredth_of_the_mean_load_on(way):
    two = B[:, :2]
    off = B[:, 2] - two @ np.linalg.lstsq(two, B[:, 2], rcond=None)[0]
    off *= way * 0.01 * MEAN_N / np.abs(off).max()
    assert aim_at(PASSIVE_N + 0.99 * off, joints=THREE[:2])[1] == set()
    assert aim_at(PASSIVE_N + 1.01 * off, joints=THREE[:2])[1] == {"cylinders"}


def test_the_wheel_to_unload_is_one_of_the_rovers_wheels():
    one = Allocator(ROVER, THREE, FREE, forces(), 0.01)
    for wheel in range(6):
        one.require(LoadGoal(LoadMode.UNLOAD, wheel=wheel))
    for wheel in (-1, 6):
        with pytest.raises(ValueError, match=rf"number {wheel}, allowed: 0 to 5"):
            one.require(LoadGoal(LoadMode.UNLOAD, wheel=wheel))
