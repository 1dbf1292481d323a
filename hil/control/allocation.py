"""Allocation: from a wanted distribution of the wheels' loads to torques of the cylinders, the nearest within limits.

Twice as many wheels as cylinders bear the weight, and equilibrium fixes three combinations of their loads; the
cylinders move the others. The torques are those of a small quadratic program (hil.control.load_program) about the
change from the present loads, so whatever the tractions do to the loads is in it. What a change of the torques does to
the tractions, and they to the loads, comes from the steady state of the rover twin (hil.control.load_state), as do
the loads of the goal max_traction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from hil.control.load_program import find_torques, make_program
from hil.control.load_state import SteadyLoads
from hil.messages.loads import SOLVER, LoadGoal, LoadLimits, LoadMode, require_shares
from models.actuators.linkage import CylinderForces
from models.kernels.bound import BoundArguments
from models.rover.rover import Rover
from models.statics import RoverStatics

# With a wheel to be unloaded, the weight of the others' deviation from their mean.
_OTHERS = 0.01


class Allocation(msgspec.Struct, frozen=True, gc=False):
    """A distribution of the wheels' loads and how to get there."""

    load_N: tuple[float, ...]  #: (wheels,) the nearest distribution to the goal within the limits
    torque_Nm: tuple[float, ...]  #: (cylinders,) wanted now, on the way there
    #: (2 cylinders,) gauge pressures that give them, by (extend, retract) of each, one of the two 0
    pressure_Pa: tuple[float, ...]
    binding: int  #: limits that keep the goal from being reached, a bit each of `LIMIT_NAMES`; 0: none


class Allocator:
    """Distributes the wheels' loads by the cylinders of a rover; one call each period, with the state of that moment.

    Args:
        rover: as it stands on the rig, with grousers and payload.
        joints: of the cylinders.
        limits: of loads and torques.
        forces: of the cylinders.
        period_s: time between two calls.
        ground_normal: of the ground in world axes, with x in the rover's heading.
        steady: what tractions do to the loads while it drives steadily; None: they count as constant, and the goal
            max_traction is refused.

    Raises:
        ValueError: a joint that this rover lacks, or a rover whose loads do not follow from equilibrium.
    """

    def __init__(
        self,
        rover: Rover,
        joints: Sequence[str],
        limits: LoadLimits,
        forces: CylinderForces,
        period_s: float,
        ground_normal: Sequence[float] = (0.0, 0.0, 1.0),
        steady: SteadyLoads | None = None,
    ) -> None:
        statics = RoverStatics(rover)
        self._wheels = rover.wheel_names
        self._steady, self._traction_share = steady, steady.traction_share if steady else ()
        n, w = len(joints), len(self._wheels)
        self._ends = w, w + n
        ground, step_Nm = np.array(ground_normal, dtype=np.float64), limits.slew_Nmps * period_s
        by_traction = np.zeros((w, len(statics.joint_names))) if steady is None else steady.by_traction
        columns = statics.columns(joints)
        self._program = p = make_program(statics.balance, forces, columns, ground, limits, step_Nm, by_traction)
        self._bound = BoundArguments(p)
        self._goal: LoadGoal | None = None
        find_torques(self._bound, True, False, True)  # it compiles here, and not in a tick
        self.reset()

    def require(self, goal: LoadGoal) -> None:
        """Raises ValueError with everything that is wrong with a goal for this rig."""
        if goal.mode == LoadMode.SHARE:
            require_shares(goal.share, self._wheels)
        if goal.mode == LoadMode.UNLOAD and not 0 <= goal.wheel < len(self._wheels):
            raise ValueError(f"the wheel to unload is number {goal.wheel}, allowed: 0 to {len(self._wheels) - 1}")
        if goal.mode == LoadMode.MAX_TRACTION and not self._traction_share:
            raise ValueError("the goal max_traction needs soil under the rover, found: other ground")

    def reset(self) -> None:
        """Forget the torques of earlier calls: the next one starts from the present torques."""
        self._program.last[:] = self._program.held[:] = math.nan

    def take_soil(self, values: Sequence[float] | None) -> None:
        """From now on max_traction means the loads for this soil.

        Args:
            values: of the estimated parameters of the soil, as `SteadyLoads.share_on` takes them; None: the soil of
                the config.
        """
        if self._steady is not None and self._steady.traction_share:
            self._traction_share = self._steady.traction_share if values is None else self._steady.share_on(values)
            self._goal = None

    def allocate(
        self,
        load_N: Sequence[float],
        torque_Nm: Sequence[float],
        angle_rad: Sequence[float],
        gravity: Sequence[float],
        goal: LoadGoal,
    ) -> Allocation:
        """The distribution nearest to the goal, and the torques of this moment.

        Args:
            load_N: (wheels,) present loads, tractions and present torques included.
            torque_Nm: (cylinders,) present torques.
            angle_rad: (cylinders,) of their joints.
            gravity: (3,) direction of gravity in base axes.
            goal: one that `require` accepts.
        """
        p, mode = self._program, goal.mode
        p.state[:] = (*load_N, *torque_Nm, *angle_rad, *gravity)
        if goal is not self._goal:
            self._aim(goal)
        passive, hold = mode == LoadMode.PASSIVE, mode == LoadMode.HOLD
        binding = find_torques(self._bound, passive, hold, not (passive or hold or mode == LoadMode.UNLOAD))
        if binding == SOLVER:
            self.reset()
            return Allocation(tuple(load_N), tuple(torque_Nm), (0.0,) * len(p.pressure), SOLVER)
        values, (loads, torques) = p.result.tolist(), self._ends
        return Allocation(tuple(values[:loads]), tuple(values[loads:torques]), tuple(values[torques:]), binding)

    def _aim(self, goal: LoadGoal) -> None:
        """Shares aimed at and their weights; for PASSIVE and HOLD they have no meaning."""
        p, self._goal = self._program, goal
        p.weight[:], p.share[:] = 1.0, 1.0 / len(self._wheels)
        if goal.mode == LoadMode.SHARE:
            p.share[:] = goal.share
        elif goal.mode == LoadMode.MAX_TRACTION:
            p.share[:] = self._traction_share
        elif goal.mode == LoadMode.UNLOAD:
            p.weight[:], p.share[:] = _OTHERS, 1.0 / (len(self._wheels) - 1)
            p.weight[goal.wheel], p.share[goal.wheel] = 1.0, 0.0
