"""Double-acting air cylinders, each on a joint of the rover: those of MacMahon 2016, 6.1, push the side bogies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover import Rover
from models.rover.dynamics import Work
from models.wheel.checks import Range, problem, refuse


class Cylinder(NamedTuple):
    """One cylinder, its valve and its lever; all of a rover are alike.

    Attributes:
        area: piston area [m^2]; bore 38.1 mm.
        supply: regulated gauge pressure [Pa]; 0-207 kPa (30 psi).
        fill_time: time constant of filling through a quarter-inch line [s], an assumption.
        vent_time: time constant of venting to atmosphere [s], an assumption.
        lever: arm of the cylinder about its joint [m].
    """

    area: float
    supply: float
    fill_time: float
    vent_time: float
    lever: float


def check_cylinder(cylinder: Cylinder) -> None:
    """Raises ValueError with everything that is out of range: above 0 all, `supply` 0 or more."""
    refuse(
        "cylinder",
        [
            problem(name, value, Range(0.0, math.inf, "", open_low=name != "supply"))
            for name, value in cylinder._asdict().items()
        ],
    )


class CylinderMounts(NamedTuple):
    """Where a rover's cylinders push (cylinders,).

    Attributes:
        speed: tree speed of the joint (models.rover.reduction.Chain).
        area: piston area [m^2].
        lever: about the joint [m].
    """

    speed: IntArray
    area: FloatArray
    lever: FloatArray


def mount_cylinders(rover: Rover, joints: Sequence[str], cylinder: Cylinder) -> CylinderMounts | None:
    """A cylinder on each of these joints; None where there are none.

    Raises:
        ValueError: a joint that this rover does not have, or that is locked.
    """
    turning = rover.tree_joint_names
    unknown = [name for name in joints if name not in turning]
    if unknown:
        raise ValueError(f"cylinders on {', '.join(unknown)}, allowed: joints that turn: {', '.join(turning)}")
    if not joints:
        return None
    speed = np.array([6 + turning.index(name) for name in joints], dtype=np.int64)
    return CylinderMounts(speed, np.full(speed.size, cylinder.area), np.full(speed.size, cylinder.lever))


class CylinderState(NamedTuple):
    """All cylinders of a rover, arrays over [cylinder, (extend, retract) chamber].

    Attributes:
        valve: 1.0 where the valve is powered and feeds the chamber, 0.0 where it is open to atmosphere.
        pressure: gauge pressure [Pa].
        torque: (cylinders,) on the joint in the newest step [N m], positive pressing the front down.
    """

    valve: FloatArray
    pressure: FloatArray
    torque: FloatArray


def make_cylinders(count: int) -> CylinderState:
    """Allocate cylinders with both ports open to atmosphere: their joints are passive."""
    return CylinderState(np.zeros((count, 2)), np.zeros((count, 2)), np.zeros(count))


@kernel
def fill_cylinders(cylinder: Cylinder, state: CylinderState, dt: float) -> None:
    """Fill or vent all chambers for dt [s], each as its valve is set."""
    for which in range(state.torque.size):
        for chamber in range(2):
            powered = state.valve[which, chamber] > 0.0
            target = cylinder.supply if powered else 0.0
            time = cylinder.fill_time if powered else cylinder.vent_time
            state.pressure[which, chamber] += (target - state.pressure[which, chamber]) * (1.0 - np.exp(-dt / time))


@kernel
def push_cylinders(mounts: CylinderMounts, state: CylinderState, work: Work) -> None:
    """Add every cylinder's torque, from the present pressures, to work.rhs."""
    for which in range(mounts.speed.size):
        pressure = state.pressure[which, 0] - state.pressure[which, 1]
        state.torque[which] = pressure * mounts.area[which] * mounts.lever[which]
        work.rhs[mounts.speed[which]] += state.torque[which]
