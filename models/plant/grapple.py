"""The grapple of a space arm: contact with the payload, a soft latch, and a rigid hold, between the steps of a vehicle.

The payload's point of contact meets the seat in one direction, along the wrist: the impact of Cyril, Jaar and Misra
1993, section 3, with one row, D u_f = -e D u_i. A closed latch is a spring and a damper that draw the payload to the
seat. The rigid hold is a plastic capture in all three directions of the plane, (35)-(39), kept by a damper so large
that nothing moves. Each impulse is of the joint between effector and payload, so momentum is that of one tree.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray
from models.rover.arm_names import LATCH
from models.rover.rover import Rover
from models.vehicle import VehicleModel, VehicleState

# Of the joints of a rigid hold [N s/m, N m s/rad]: 1 kN moves them by 1e-9 m/s.
RIGID_DAMPING = 1e12
Rows = NDArray[np.int64]


class CaptureParameters(NamedTuple):
    """How a payload comes, and when the grapple acts.

    Attributes:
        gap: of the payload's point of contact to the seat at the start, along the wrist [m].
        speed: at which the payload comes, along the wrist [m/s].
        offset: of that point across the wrist, to its left [m].
        spin: of the payload about the normal of the plane, against the wrist [rad/s].
        restitution: e of the contact, 0 (plastic) to 1 (elastic).
        latch_way: travel of the grapple's drive at which the latch is closed [m].
        hold_way: travel at which it holds rigidly [m].
        reach: of an open latch around its seat [m].
    """

    gap: float
    speed: float
    offset: float = 0.0
    spin: float = 0.0
    restitution: float = 0.0
    latch_way: float = 0.03
    hold_way: float = 0.09
    reach: float = 0.15


def check_capture(parameters: CaptureParameters) -> None:
    """Raises ValueError with everything that is out of range."""
    positive, finite = Range(0.0, math.inf, "m", open_low=True), Range(-math.inf, math.inf, "")
    ranges = {
        "gap": positive,
        "speed": Range(0.0, math.inf, "m/s", open_low=True),
        "restitution": Range(0.0, 1.0, ""),
        "latch_way": positive,
        "hold_way": Range(parameters.latch_way, math.inf, "m", open_low=True),
        "reach": positive,
    }
    numbers = parameters._asdict()
    refuse("CaptureParameters", [problem(name, value, ranges.get(name, finite)) for name, value in numbers.items()])


class CaptureTruth(NamedTuple):
    """What a grapple has done so far.

    Attributes:
        missed: the latch closed on nothing.
        contact_ns: time of the first impact on the seat [ns], or None.
        contact_speed: closing speed there [m/s].
        contact_loss: energy that all impacts took [J], 0 or more.
        latched_ns: when the latch closed on the payload, or None.
        held_ns: when it held rigidly, or None.
        hold_loss: energy that the rigid hold took [J], 0 or more.
        ahead: of the payload from the seat when it was held [m]; NaN before.
        across: likewise [m].
    """

    missed: bool = False
    contact_ns: int | None = None
    contact_speed: float = 0.0
    contact_loss: float = 0.0
    latched_ns: int | None = None
    held_ns: int | None = None
    hold_loss: float = 0.0
    ahead: float = math.nan
    across: float = math.nan


class Grapple:
    """Contact, latch and hold of one vehicle, whose state it changes.

    The grapple's drive moves a carriage along the wrist. From `latch_way` on the latch is closed; from `hold_way` on it
    holds rigidly. A latch that closes while the payload is out of its reach closes on nothing, and stays so.

    Args:
        rover: of `models.rover.space_arm`.
        vehicle: of it; its springs of the latch are changed.
        state: of it; the payload is put before the seat.
        parameters: how the payload comes, and when the grapple acts.

    Attributes:
        contacts: number of impacts on the seat.
        contact_ns: time of the first [ns], or None.
        contact_speed: closing speed there [m/s].
        latched_ns: when the latch closed on the payload, or None.
        missed: it closed on nothing.
        held_ns: when it held rigidly, or None.
        contact_loss: energy that the impacts took [J], 0 or more.
        hold_loss: energy that the rigid hold took [J], 0 or more.
        offset_at_hold: of the payload from the seat when it was held: ahead [m], across [m], turn [rad].

    Raises:
        ValueError: a rover without latch, or a number out of range.
    """

    def __init__(self, rover: Rover, vehicle: VehicleModel, state: VehicleState, parameters: CaptureParameters) -> None:
        check_capture(parameters)
        springs, names = vehicle.springs, rover.tree_joint_names
        if springs is None or not set(LATCH) <= set(names):
            raise ValueError(f"Grapple: rover {rover.tree.name} has no joints {', '.join(LATCH)}, allowed: space_arm")
        self._rover, self._state, self._springs = rover, state, springs
        self._speeds = np.array([6 + names.index(name) for name in LATCH])  # tree speeds
        independent = rover.chain.independent.tolist()
        self._own = np.array([independent.index(speed) for speed in self._speeds.tolist()])
        rows = springs.speed.tolist()
        self._rows = np.array([rows.index(speed) for speed in self._speeds.tolist()])
        self._latch = springs.stiffness[self._rows].copy(), springs.damping[self._rows].copy()
        self._set_springs(0.0, 0.0)
        state.q[self._speeds + 1] = parameters.gap, parameters.offset, 0.0
        state.v[self._speeds] = -parameters.speed, 0.0, parameters.spin
        self._parameters = parameters
        self.contacts, self.contact_speed, self.contact_loss, self.hold_loss = 0, 0.0, 0.0, 0.0
        self.contact_ns: int | None = None
        self.latched_ns: int | None = None
        self.held_ns: int | None = None
        self.missed = False
        self.offset_at_hold = (math.nan, math.nan, math.nan)

    @property
    def gap(self) -> float:
        """From the payload's point of contact to the seat, along the wrist [m]; below 0: it is in the seat."""
        return float(self._state.q[self._speeds[0] + 1])

    @property
    def closing_speed(self) -> float:
        """At which the payload comes nearer, along the wrist [m/s]."""
        return -float(self._state.v[self._speeds[0]])

    @property
    def outcome(self) -> CaptureTruth:
        """What it has done so far."""
        return CaptureTruth(
            self.missed, self.contact_ns, self.contact_speed, self.contact_loss, self.latched_ns, self.held_ns,
            self.hold_loss, *self.offset_at_hold[:2],
        )  # fmt: skip

    def energy_of_capture(self) -> float:
        """T_c [J]: the kinetic energy that a plastic capture at this moment would take, (3.27) of MacMahon 2016."""
        _, u, stopped = self._impulse(np.arange(3))
        return float(0.5 * u @ stopped)

    def warm_up(self) -> None:
        """Compile or load what contact and hold run, without changing anything."""
        change, _, _ = self._impulse(np.arange(3))
        self._rover.tree_speeds(change)

    def update(self, t_ns: int, way: float) -> None:
        """Contact, latch and hold after a step.

        Args:
            t_ns: time [ns].
            way: travel of the grapple's drive [m].
        """
        if self.held_ns is not None:
            return
        if self.latched_ns is None:
            if self.gap <= 0.0 and self.closing_speed > 0.0:
                self._meet(t_ns)
            if way >= self._parameters.latch_way and not self.missed:
                ahead, across = self._state.q[self._speeds[:2] + 1].tolist()
                if math.hypot(ahead, across) > self._parameters.reach:
                    self.missed = True
                else:
                    self.latched_ns = t_ns
                    self._set_springs(*self._latch)
        elif way >= self._parameters.hold_way:
            self.hold_loss = self._strike(np.arange(3), 0.0)
            self._set_springs(0.0, RIGID_DAMPING)
            self.held_ns = t_ns
            self.offset_at_hold = tuple(self._state.q[self._speeds + 1].tolist())

    def _meet(self, t_ns: int) -> None:
        if self.contact_ns is None:
            self.contact_ns, self.contact_speed = t_ns, self.closing_speed
        self.contacts += 1
        self.contact_loss += self._strike(np.array([0]), self._parameters.restitution)

    def _strike(self, rows: Rows, restitution: float) -> float:
        """Change the speeds so that those of these joints of the latch become -e times theirs. Returns the loss [J]."""
        change, u, stopped = self._impulse(rows)
        state = self._state
        state.v[:] += self._rover.tree_speeds((1.0 + restitution) * change)
        return float(0.5 * (1.0 - restitution**2) * u @ stopped)

    def _impulse(self, rows: Rows) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Change of speeds (nv,) that stops these joints of the latch, their speeds u, and (J M^-1 J^T)^-1 u."""
        rover, state, own = self._rover, self._state, self._own[rows]
        mass_matrix = rover.mass_matrix(rover.own_configuration(state.q))
        J = np.zeros((len(own), rover.nv))
        J[range(len(own)), own] = 1.0
        inverse_J: FloatArray = np.linalg.solve(mass_matrix, J.T).astype(np.float64, copy=False)
        u: FloatArray = state.v[self._speeds[rows]]
        stopped: FloatArray = np.linalg.solve(inverse_J[own], u).astype(np.float64, copy=False)
        return -inverse_J @ stopped, u, stopped

    def _set_springs(self, stiffness: float | FloatArray, damping: float | FloatArray) -> None:
        self._springs.stiffness[self._rows] = stiffness
        self._springs.damping[self._rows] = damping
