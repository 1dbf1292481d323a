"""Allocation: from a wanted distribution of the wheels' loads to torques of the cylinders, the nearest within limits.

Twice as many wheels as cylinders bear the weight, and equilibrium fixes three combinations of their loads; the
cylinders move the others. The torques are those of a small quadratic program (hil.control.load_program), solved by
DAQP (Arnstrom, Bemporad and Axehill 2022). Its program is about the change from the present loads, so whatever the
tractions do to the loads is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import daqp
import msgspec
import numpy as np

from hil.control.load_program import fill_program, hold_torques, make_program, read_solution
from hil.messages.load_limits import (
    CYLINDERS,
    EQUILIBRIUM,
    LEAST_LOAD,
    MOST_LOAD,
    PRESSURE,
    SLEW,
    SOLVER,
    TORQUE,
    LoadLimits,
    require_shares,
)
from hil.messages.loads import LoadGoal, LoadMode
from models.kernels.bound import BoundArguments
from models.rover import Rover
from models.statics import RoverStatics
from models.statics.pull import PullTable, aim_at_traction

# Lower and upper torque [N m] of each cylinder at the highest pressures, by the angles of their joints [rad].
Reach = Callable[[Sequence[float]], tuple[Sequence[float], Sequence[float]]]
# DAQP's marks of a hard and of a soft constraint.
_HARD, _SOFT = 0, 8
# Deviation from a goal, over the mean load, from which on it counts as missed.
_MISSED = 0.01
# With a wheel to be unloaded, the weight of the others' deviation from their mean.
_OTHERS = 0.01


class Allocation(msgspec.Struct, frozen=True, gc=False):
    """A distribution of the wheels' loads and how to get there.

    Attributes:
        load_N: (wheels,) the nearest distribution to the goal within the limits.
        torque_Nm: (cylinders,) wanted now, on the way there.
        binding: limits that keep the goal from being reached, a bit each of `LIMIT_NAMES`; 0: none.
    """

    load_N: tuple[float, ...]
    torque_Nm: tuple[float, ...]
    binding: int


class Allocator:
    """Distributes the wheels' loads by the cylinders of a rover; one call each period, with the state of that moment.

    Attributes:
        unreachable: (joints without a cylinder, wheels) change of the loads [N] by 1 N m on each of them, on level
            ground: the directions in which this rig cannot move its loads.

    Args:
        rover: as it stands on the rig, with grousers and payload.
        joints: of the cylinders.
        limits: of loads and torques.
        reach: torques that the cylinders' pressures allow.
        period_s: time between two calls.
        ground_normal: of the ground in world axes, with x in the rover's heading.
        traction: pull of the wheels on the twin's soil, for the goal max_traction; None: that goal is refused.

    Raises:
        ValueError: a joint that this rover lacks, or a rover whose loads do not follow from equilibrium.
    """

    def __init__(
        self,
        rover: Rover,
        joints: Sequence[str],
        limits: LoadLimits,
        reach: Reach,
        period_s: float,
        ground_normal: Sequence[float] = (0.0, 0.0, 1.0),
        traction: PullTable | None = None,
    ) -> None:
        statics = RoverStatics(rover)
        self._wheels, self._limits, self._reach = rover.wheel_names, limits, reach
        self._pull = None if traction is None else BoundArguments(traction)
        self._step_Nm = limits.slew_Nmps * period_s
        self._count = len(joints)
        bounds = np.array((limits.least_load_N, limits.most_load_N))
        ground = np.array(ground_normal, dtype=np.float64)
        self._program = p = make_program(statics.balance, statics.columns(joints), ground, bounds)
        self.unreachable = statics.influence(rover.neutral())[:, p.open_joint].T
        self._joints_without = tuple(statics.joint_names[j] for j in p.open_joint)
        self._bound = BoundArguments(p)
        self._sense = np.array([_HARD] * self._count + [_SOFT] * len(self._wheels), dtype=np.int32)
        self._no_torque = np.zeros(self._count)
        self._last: tuple[float, ...] = ()
        self._held: tuple[float, ...] = ()
        self._model = daqp.Model()
        p.upper[: self._count], p.lower[: self._count] = limits.torque_Nm, -limits.torque_Nm
        fill_program(self._bound)
        self._model.setup(p.H, p.f, p.A, p.upper, p.lower, self._sense)
        self._model.solve()
        read_solution(self._bound, self._no_torque)

    @property
    def unreachable_names(self) -> tuple[str, ...]:
        """What this rig cannot do, a sentence for each joint without a cylinder."""
        return tuple(
            f"no cylinder on {joint}: the loads of {_signed(self._wheels, change)} cannot be moved against each other"
            for joint, change in zip(self._joints_without, self.unreachable, strict=True)
        )

    def require(self, goal: LoadGoal) -> None:
        """Raises ValueError with everything that is wrong with a goal for this rig."""
        if goal.mode == LoadMode.SHARE:
            require_shares(goal.share, self._wheels)
        if goal.mode == LoadMode.UNLOAD and not 0 <= goal.wheel < len(self._wheels):
            raise ValueError(f"the wheel to unload is number {goal.wheel}, allowed: 0 to {len(self._wheels) - 1}")
        if goal.mode == LoadMode.MAX_TRACTION and self._pull is None:
            raise ValueError("the goal max_traction needs soil under the rover, found: other ground")

    def reset(self) -> None:
        """Forget the torques of earlier calls: the next one starts from the present torques."""
        self._last = self._held = ()

    def allocate(
        self,
        load_N: Sequence[float],
        torque_Nm: Sequence[float],
        angle_rad: Sequence[float],
        gravity: Sequence[float],
        slip: Sequence[float],
        goal: LoadGoal,
    ) -> Allocation:
        """The distribution nearest to the goal, and the torques of this moment.

        Args:
            load_N: (wheels,) present loads, tractions and present torques included.
            torque_Nm: (cylinders,) present torques.
            angle_rad: (cylinders,) of their joints.
            gravity: (3,) direction of gravity in base axes.
            slip: (wheels,) present.
            goal: one that `require` accepts.
        """
        p = self._program
        p.load[:], p.torque[:], p.angle[:], p.gravity[:], p.slip[:] = load_N, torque_Nm, angle_rad, gravity, slip
        whole_N = sum(load_N)
        self._aim(goal, whole_N)
        reached = self._set_bounds(angle_rad)
        fill_program(self._bound)
        start = self._last or tuple(torque_Nm)
        if goal.mode == LoadMode.HOLD:
            self._held = self._held or start
            hold_torques(p.H, p.f, self._held)
        else:
            self._held = ()
        multipliers: Sequence[float] = ()
        x = self._no_torque
        if goal.mode != LoadMode.PASSIVE:
            self._model.update(p.H, p.f, p.A, p.upper, p.lower, self._sense)
            x, _, flag, info = self._model.solve()
            if flag <= 0:
                self.reset()
                return Allocation(tuple(load_N), tuple(torque_Nm), SOLVER)
            multipliers = info["lam"].tolist()
        read_solution(self._bound, x)
        binding = self._missed(goal.mode, whole_N) | _at_bounds(multipliers, reached)
        self._last, slewing = _toward(start, x.tolist(), self._step_Nm)
        return Allocation(tuple(p.aimed.tolist()), self._last, binding | (SLEW if slewing else 0))

    def _aim(self, goal: LoadGoal, whole_N: float) -> None:
        """Loads aimed at and their weights; for PASSIVE and HOLD they have no meaning."""
        p, mean_N = self._program, whole_N / len(self._wheels)
        p.weight[:], p.target[:] = 1.0, mean_N
        if goal.mode == LoadMode.SHARE:
            p.target[:] = [share * whole_N for share in goal.share]
        elif goal.mode == LoadMode.UNLOAD:
            p.weight[:], p.target[:] = _OTHERS, whole_N / (len(self._wheels) - 1)
            p.weight[goal.wheel], p.target[goal.wheel] = 1.0, 0.0
        elif goal.mode == LoadMode.MAX_TRACTION and self._pull is not None:
            aim_at_traction(self._pull, p.load, p.slip, p.target, p.weight)

    def _set_bounds(self, angle_rad: Sequence[float]) -> list[tuple[int, int]]:
        """Bounds of the torques; the limit that each is, lower and upper."""
        p, most_Nm = self._program, self._limits.torque_Nm
        reached = []
        for cylinder, (low, high) in enumerate(zip(*self._reach(angle_rad), strict=True)):
            p.lower[cylinder], p.upper[cylinder] = max(low, -most_Nm), min(high, most_Nm)
            reached.append((PRESSURE if low > -most_Nm else TORQUE, PRESSURE if high < most_Nm else TORQUE))
        return reached

    def _missed(self, mode: int, whole_N: float) -> int:
        """Whether equilibrium, or a joint without a cylinder, keeps the loads from their target."""
        if mode not in (LoadMode.UNIFORM, LoadMode.SHARE):
            return 0
        least_N = _MISSED * whole_N / len(self._wheels)
        by_equilibrium, by_cylinders = self._program.missed.tolist()
        return (EQUILIBRIUM if by_equilibrium > least_N else 0) | (CYLINDERS if by_cylinders > least_N else 0)


def _at_bounds(multipliers: Sequence[float], reached: Sequence[tuple[int, int]]) -> int:
    """Limits whose constraint pushes on the solution: a positive multiplier is one of the upper bound."""
    binding = 0
    for which, multiplier in enumerate(multipliers):
        low, high = reached[which] if which < len(reached) else (LEAST_LOAD, MOST_LOAD)
        binding |= high if multiplier > 0.0 else low if multiplier < 0.0 else 0
    return binding


def _toward(start: Sequence[float], end: Sequence[float], step: float) -> tuple[tuple[float, ...], bool]:
    """As far from start to end as no part moves more than a step; whether that is short of the end.

    The way is straight: between two distributions within the limits, all are.
    """
    farthest = max(abs(b - a) for a, b in zip(start, end, strict=True))
    if farthest <= step:
        return tuple(end), False
    share = step / farthest
    return tuple(a + share * (b - a) for a, b in zip(start, end, strict=True)), True


def _signed(wheels: Sequence[str], change: Sequence[float]) -> str:
    """The wheels whose loads a change moves, those that gain first."""
    most = max(map(abs, change))
    gain = [wheel for wheel, value in zip(wheels, change, strict=True) if value > 0.1 * most]
    lose = [wheel for wheel, value in zip(wheels, change, strict=True) if value < -0.1 * most]
    return f"{', '.join(gain)} and {', '.join(lose)}"
