"""Double-acting air cylinders, each on a joint of the rover: those of MacMahon 2016, 6.1, push the side bogies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from models.actuators.linkage import Linkage, piston, rub, stop
from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.dynamics import Workspace
from models.rover.rover import Rover


class Cylinder(NamedTuple):
    """One cylinder, its valve and its lever; all of a rover are alike.

    Attributes:
        area: piston area [m^2]; bore 38.1 mm.
        supply: regulated gauge pressure [Pa]; 0-207 kPa (30 psi). The highest one where regulators are moved.
        fill_time: time constant of filling through a quarter-inch line [s], an assumption.
        vent_time: time constant of venting to atmosphere [s], an assumption.
        lever: arm of the cylinder about its joint [m].
        rod_share: area of the rod's side of the piston over `area`.
    """

    area: float
    supply: float
    fill_time: float
    vent_time: float
    lever: float
    rod_share: float = 1.0


def check_cylinder(cylinder: Cylinder) -> None:
    """Raises ValueError with everything that is out of range: above 0 all, `supply` 0 or more, `rod_share` up to 1."""
    refuse(
        "cylinder",
        [
            problem(name, value, Range(0.0, 1.0 if name == "rod_share" else math.inf, "", open_low=name != "supply"))
            for name, value in cylinder._asdict().items()
        ],
    )


class CylinderMounts(NamedTuple):
    """Where a rover's cylinders push (cylinders,).

    Attributes:
        speed: tree speed of the joint (models.rover.reduction.Chain).
        area: piston area [m^2].
        lever: about the joint [m]; not used with a linkage.
        rod_share: area of the rod's side over `area`.
        linkage: pins, stroke and friction of each; None: a constant lever and none of these.
    """

    speed: IntArray
    area: FloatArray
    lever: FloatArray
    rod_share: FloatArray
    linkage: Linkage | None = None


NO_CYLINDERS = CylinderMounts(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), np.zeros(0))


def mount_cylinders(
    rover: Rover,
    joints: Sequence[str],
    cylinder: Cylinder,
    linkage: Linkage | None = None,
    areas: Sequence[float] = (),
) -> CylinderMounts:
    """A cylinder on each of these joints.

    Args:
        rover: that bears them.
        joints: by name.
        cylinder: each of them.
        linkage: of each; None: a constant lever.
        areas: (cylinders,) their piston areas [m^2] where these differ; empty: that of `cylinder`.

    Raises:
        ValueError: a joint that this rover does not have, or that is locked.
    """
    turning = rover.tree_joint_names
    unknown = [name for name in joints if name not in turning]
    if unknown:
        raise ValueError(f"cylinders on {', '.join(unknown)}, allowed: joints that turn: {', '.join(turning)}")
    speed = np.array([6 + turning.index(name) for name in joints], dtype=np.int64)
    lever, share = (np.full(speed.size, one) for one in (cylinder.lever, cylinder.rod_share))
    area = np.array(areas or (cylinder.area,) * speed.size, dtype=np.float64)
    return CylinderMounts(speed, area, lever, share, linkage)


class CylinderState(NamedTuple):
    """All cylinders of a rover, arrays over [cylinder, (extend, retract) chamber].

    Attributes:
        valve: 1.0 where the valve is powered and feeds the chamber, 0.0 where it is open to atmosphere.
        pressure: gauge pressure [Pa].
        torque: (cylinders,) of the pressures on the joint in the newest step [N m], positive pressing the front down,
            of a rear bogie its starboard side.
        supply: (cylinders,) gauge pressure that feeds each [Pa].
        bristle: (cylinders,) deflection of the friction's bristle [m] (models.actuators.linkage).
    """

    valve: FloatArray
    pressure: FloatArray
    torque: FloatArray
    supply: FloatArray
    bristle: FloatArray


def make_cylinders(count: int, supply: float = 0.0) -> CylinderState:
    """Allocate cylinders with both ports open to atmosphere: their joints are passive.

    Args:
        count: how many.
        supply: gauge pressure that feeds them [Pa].
    """
    pairs = (count, 2)
    return CylinderState(np.zeros(pairs), np.zeros(pairs), np.zeros(count), np.full(count, supply), np.zeros(count))


@kernel
def fill_cylinders(cylinder: Cylinder, state: CylinderState, dt: float) -> None:
    """Fill or vent all chambers for dt [s], each as its valve is set."""
    for which in range(state.torque.size):
        for chamber in range(2):
            powered = state.valve[which, chamber] > 0.0
            target = state.supply[which] if powered else 0.0
            time = cylinder.fill_time if powered else cylinder.vent_time
            state.pressure[which, chamber] += (target - state.pressure[which, chamber]) * (1.0 - np.exp(-dt / time))


@kernel
def push_cylinders(
    mounts: CylinderMounts, state: CylinderState, q: FloatArray, v: FloatArray, dt: float, work: Workspace
) -> None:
    """Add every cylinder's torque, from the present pressures, to work; friction and stops implicitly.

    Args:
        mounts: of the cylinders.
        state: of the cylinders.
        q: configuration, over all joints that turn; used with a linkage.
        v: velocity, likewise.
        dt: step [s].
        work: its right-hand side, and the mass matrix, which takes the damping.
    """
    for which in range(mounts.speed.size):
        pressure = state.pressure[which, 0] - state.pressure[which, 1] * mounts.rod_share[which]
        _push(mounts.linkage, mounts, state, which, pressure, q, v, dt, work)


@kernel
def _push(
    linkage: Linkage | None,
    mounts: CylinderMounts,
    state: CylinderState,
    which: int,
    pressure: float,
    q: FloatArray,
    v: FloatArray,
    dt: float,
    work: Workspace,
) -> None:
    """One cylinder, at the pressure [Pa] that acts on its piston."""
    speed = mounts.speed[which]
    if linkage is None:
        state.torque[which] = pressure * mounts.area[which] * mounts.lever[which]
        work.rhs[speed] += state.torque[which]
    else:
        extension, arm = piston(linkage, q[speed + 1])
        rate = arm * v[speed]
        state.torque[which] = pressure * mounts.area[which] * arm
        force, damping = stop(linkage, extension, rate, dt)
        if linkage.static > 0.0:
            friction, more = rub(linkage, state.bristle, which, rate, dt)
            force, damping = force + friction, damping + more
        work.rhs[speed] += state.torque[which] + arm * (force - damping * rate)
        work.mass_matrix[speed, speed] += arm * arm * damping * dt
