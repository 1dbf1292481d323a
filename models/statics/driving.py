"""Steady driving of a rover: its pose, slip, tractions and wheel loads as the solution of one equilibrium.

Unknown are height, roll and pitch of the base, the angles of the suspension joints, and the base's speeds ahead, to the
left and about the ground's normal. Known are the speed of the rims, the torques on the joints, and the pull at the
drawbar, or the slip instead of a part of that pull.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from models.kernels.bound import BoundArguments
from models.kernels.compiled import FloatArray
from models.rover import Rover
from models.statics.statics import suspension_joints
from models.statics.steady_forces import SteadyVehicle, fill_forces
from models.terrain.surface import axes
from models.vehicle.model import VehicleModel, make_vehicle_state

# Units of the unknowns: height [m], angles [rad], speeds over the rims'; a step of differences, in units.
_HEIGHT, _ANGLE, _SPEED, _STEP = 0.01, 0.05, 0.2, 1e-5
# Largest force, or moment about 1 m, that may be left over, over the weight: an optimum of the slip is flat.
_LEFT_OVER = 1e-11
# Newton's steps: so many at most, none longer than this in units, halved down to this share.
_ROUNDS, _LONGEST, _SHORTEST = 40, 5.0, 1e-3
# Slips to begin with: of sand, and of firm ground, whose friction is level beyond a small one.
_STARTS = (0.2, 0.02)
# Depth of the wheels over their radius, at which the search for it begins.
_DEEPEST = 0.9


class Driving(NamedTuple):
    """A steady state, and how it changes with the torque of each joint.

    Attributes:
        load: (wheels,) forces along the ground's normal [N].
        slip: 1 - speed ahead over that of the rims.
        pull: [N] that keeps the rover at its slip; 0 where the slip is free.
        turning: speed about the ground's normal [rad/s], to the left.
        influence: (wheels, joints) change of the loads, tractions included [1/m].
        slip_influence: (joints,) of the slip [1/(N m)].
        pull_influence: (joints,) of the pull [1/m].
    """

    load: FloatArray
    slip: float
    pull: float
    turning: float
    influence: FloatArray
    slip_influence: FloatArray
    pull_influence: FloatArray


class NoSteadyStateError(RuntimeError):
    """The rover cannot drive so with all wheels on the ground: too steep, pulled too hard, or a wheel lifts."""


class SteadyDrive:
    """Equilibrium of a rover whose rims turn at one speed.

    Attributes:
        joint_names: suspension joints, in the order of every vector by joint.
        wheel_names: likewise of the wheels.

    Args:
        rover: as it stands, with payload and grousers.
        vehicle: it on soil or compliant ground. Its motors hold the speed of the rims; other wheels turn freely.
        speed: of the rims [m/s], not 0.
        pull: (6,) of a drawbar, as `VehicleState.pull`.
        held: (6,) likewise of 1 N that pulls until the rover has the slip `slip`; None: its slip is free.
        slip: with `held`.
        heading: of the rover [rad], to the left of the ground's axis ahead.

    Raises:
        ValueError: other ground, or a rover that stands still.
    """

    def __init__(
        self,
        rover: Rover,
        vehicle: VehicleModel,
        speed: float,
        pull: Sequence[float] | FloatArray = (0.0,) * 6,
        *,
        held: FloatArray | None = None,
        slip: float = _STARTS[0],
        heading: float = 0.0,
    ) -> None:
        if (vehicle.ground is None and vehicle.compliant is None) or speed == 0.0:
            raise ValueError(
                "steady driving: found other ground, or speed 0; allowed: soil or firm ground, and a speed"
            )
        self._rover, self._speed, self.wheel_names = rover, speed, rover.wheel_names
        self._pull, self._held, self._slip = np.array(pull, dtype=np.float64), held, slip
        self._state, self._q, self._v = make_vehicle_state(rover), rover.neutral(), np.zeros(rover.nv)
        self._bound = BoundArguments(SteadyVehicle(vehicle, self._state, self._q, self._v))
        self._axes = np.column_stack(axes(vehicle.terrain, 0.0, 0.0)) @ Rotation.from_euler("z", heading).as_matrix()
        chain, joints = rover.chain, suspension_joints(rover)
        self.joint_names = tuple(rover.tree_joint_names[k - 6] for k in joints)
        spins = (5 + chain.wheel_body).tolist()
        free = [spins[wheel] for wheel in range(len(spins)) if wheel not in chain.motor_wheel]
        independent = chain.independent.tolist()
        self._v[[independent.index(k) for k in spins]] = speed / chain.wheel_radius
        self._joints, self._free = ([independent.index(k) for k in some] for some in (joints, free))
        self._joint_rows, self._rows = np.array(joints, dtype=np.int64), np.array([*range(6), *joints, *free])
        self._ahead = 3 + len(joints)  # the place of the speed ahead, or of the pull instead
        spin = _SPEED * speed / chain.wheel_radius.max()
        speeds = [_SPEED * speed, _SPEED * speed, _SPEED * speed, *[spin] * len(free)]
        self._unit = np.array([_HEIGHT, *[_ANGLE] * (2 + len(joints)), *speeds])
        self._weight = float(rover.mass_matrix(self._q)[0, 0] * np.linalg.norm(vehicle.gravity))
        if held is not None:
            self._unit[self._ahead] = self._weight
        along = float(vehicle.gravity @ self._axes[:, 2])
        self._level = [self._level_start(along, slip) for slip in _STARTS]
        self._last = self._level[0]

    def at(self, torque: npt.ArrayLike) -> Driving:
        """The state with torques (joints,) [N m] on the suspension joints.

        Raises:
            NoSteadyStateError: there is none with all wheels on the ground.
        """
        self._state.torque[self._joint_rows] = torque
        found = next((x for start in (self._last, *self._level) if (x := self._solve(start)) is not None), None)
        if found is None:
            raise NoSteadyStateError("the rover has no steady drive with all wheels on the ground")
        self._last, n = found, found.size
        here, slopes = self._look(found), self._slopes(found)
        push = np.zeros((n, len(self._joint_rows)))
        push[6 : self._ahead + 3] = np.eye(len(self._joint_rows)) / self._weight
        change = slopes[n:] @ np.linalg.solve(slopes[:n], -push)
        load, (slip, pull, turning) = here[n:-3], here[-3:].tolist()
        return Driving(load, slip, pull, turning, change[:-3], change[-3], change[-2])

    def _solve(self, x: FloatArray) -> FloatArray | None:
        """The unknowns, in their units, from a start; None: not found, or a wheel is off the ground."""
        n = x.size
        for _ in range(_ROUNDS):
            here = self._look(x)
            if np.abs(here[:n]).max() < _LEFT_OVER:
                return x if here[n:-3].min() > 0.0 else None
            slopes = self._slopes(x)[:n]
            if not np.isfinite(slopes).all():
                return None
            step = np.linalg.lstsq(slopes, -here[:n])[0]
            share = min(1.0, _LONGEST / np.abs(step).max())
            while share > _SHORTEST and not np.linalg.norm(self._look(x + share * step)[:n]) < np.linalg.norm(here[:n]):
                share *= 0.5
            x = x + share * step
        return None

    def _look(self, x: FloatArray) -> FloatArray:
        """What is left over on the motion of each unknown, over the weight; loads; slip, pull and turning speed."""
        values, place = x * self._unit, self._ahead
        state, q, v = self._state, self._q, self._v
        value, across, turning = values[place : place + 3]
        free = self._held is None
        ahead, pull = (value, 0.0) if free else ((1.0 - self._slip) * self._speed, value)
        # the base's axes in those of the ground
        turn = Rotation.from_euler("YX", values[[2, 1]]).as_matrix()
        q[:3], q[3:7] = values[0] * self._axes[:, 2], Rotation.from_matrix(self._axes @ turn).as_quat()
        q[[1 + k for k in self._joints]] = values[3:place]
        v[:3], v[3:6] = turn.T @ (ahead, across, 0.0), turn.T @ (0.0, 0.0, turning)
        v[self._free] = values[place + 3 :]
        state.pull[:] = self._pull if self._held is None else self._pull + pull * self._held
        fill_forces(self._bound)
        left = state.work.rhs[self._rows] / self._weight
        return np.concatenate([left, state.ground.vertical, (1.0 - ahead / self._speed, pull, turning)])

    def _slopes(self, x: FloatArray) -> FloatArray:
        steps = _STEP * np.eye(x.size)
        return np.column_stack([(self._look(x + step) - self._look(x - step)) / (2.0 * _STEP) for step in steps])

    def _level_start(self, gravity: float, slip: float) -> FloatArray:
        """Parallel to the ground, as deep as it bears the weight; gravity [m/s^2] along the normal."""
        x, place, wheels = np.zeros(self._unit.size), self._ahead, self._state.ground.vertical
        x[place + 3 :] = 1.0 / _SPEED
        x[place] = (1.0 - slip) / _SPEED if self._held is None else 0.0
        radius, mass = float(self._rover.chain.wheel_radius.max()), float(self._rover.mass_matrix(self._q)[0, 0])

        def surplus(height: float) -> float:
            x[0] = height / _HEIGHT
            self._look(x)
            return float(wheels.sum()) + mass * gravity

        low, high = -_DEEPEST * radius, radius
        if surplus(low) > 0.0:  # else the ground bears it nowhere, and no state is found from here
            x[0] = brentq(surplus, low, high, xtol=1e-9) / _HEIGHT
        return x
