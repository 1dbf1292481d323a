"""Where a rover comes to rest on its ground, or how it drives steadily: loads, joint angles, tilt.

Solved as it stands: wheels sink until the ground bears their loads, joints and body follow the wheels, and the loads
follow from equilibrium in that place (models.statics.statics). The forces along the ground balance slope and drawbar,
ahead, across and in yaw; their shares among the wheels follow from one motion of the whole rover over the ground, of
which a wheel's traction is a function (Petersen 2012 (4.30)). What the ground cannot bear accelerates the rover.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, least_squares
from scipy.spatial.transform import Rotation

from models.contact.ground import SLOWEST, Ground
from models.contact.ruts import NOBODY
from models.kernels.compiled import FloatArray
from models.rover import Rover
from models.statics.pull import resultant_in_rut
from models.statics.statics import RoverStatics, suspension_joints, traction_wrenches
from models.terrain.surface import Slope, quaternion_of
from models.vehicle import VehicleModel
from models.wheel import rut
from models.wheel.kernels import RADIUS, SLIP_MODULUS
from models.wheel.traction import against_travel, slip_and_slide

_LEVEL = Slope((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
# Loads and tractions settle by a factor of 3 or more each round; so many rounds at most, to this change [N].
_ROUNDS, _SETTLED_N = 60, 1e-2
# Share of each change of the loads that a round takes on: all of it may overshoot where tractions move the loads.
_SHARE = 0.7
# A wheel is not deeper than this share of its radius; where its load wants more, the ground does not bear it.
_DEEPEST = 0.9
# Sum of the forces along the ground that counts as balanced [N].
_BALANCED_N = 0.1
# Search of the place on given sinkages: so many steps at most, to this distance [m].
_SEARCHES, _PLACED_M = 20, 1e-9
# Wheels that roll without slip hold this many times their load.
_HELD = 100.0


class Equilibrium(NamedTuple):
    """A rover in equilibrium.

    Attributes:
        settled: whether the solution was found; if not, there is none, and the rest is where the search ended.
        q: (nq,) configuration; the base lies over the world's origin.
        load: (wheels,) along the ground's normal [N]; below 0: equilibrium would have to hold that wheel down.
        sinkage: (wheels,) [m].
        slip: (wheels,) of the driving wheels [-]; 0 at rest.
        acceleration: forward, across [m/s^2], for want of traction; 0 in equilibrium.
    """

    settled: bool
    q: FloatArray
    load: FloatArray
    sinkage: FloatArray
    slip: FloatArray
    acceleration: FloatArray


class _Grip(NamedTuple):
    """How the wheels hold on to the ground at a sinkage, arrays (wheels,).

    Attributes:
        normal: force [N] from contact to wheel centre.
        cosine: of its inclination against travel.
        sine: of it.
        limit: of the force along the ground [N].
    """

    normal: FloatArray
    cosine: FloatArray
    sine: FloatArray
    limit: FloatArray


class StandingRover:
    """A rover on its ground, with free suspension joints.

    Args:
        rover: with payload and grousers.
        vehicle: of it: ground, terrain, gravity.

    Raises:
        ValueError: a rover whose wheels' loads do not follow from equilibrium.
    """

    def __init__(self, rover: Rover, vehicle: VehicleModel) -> None:
        self._rover, self._vehicle, self._statics = rover, vehicle, RoverStatics(rover)
        slope = vehicle.terrain or _LEVEL
        self._ahead, self._left, self._normal = (np.array(axis) for axis in slope[:3])
        self._turn = Rotation.from_quat(quaternion_of(slope))
        wheels = len(rover.wheel_names)
        self._height = np.zeros(wheels) if slope.wheel_height is None else slope.wheel_height
        independent = rover.chain.independent.tolist()
        self._joints = [1 + independent.index(k) for k in suspension_joints(rover)]
        self._slope: FloatArray | None = None
        soil = vehicle.ground
        self._before = [NOBODY] * wheels if soil is None or soil.ruts is None else soil.ruts.ahead.tolist()

    def at_rest(self, pull: FloatArray) -> Equilibrium:
        """With the axles held, as after it was put down; `pull` (6,) of a drawbar as `VehicleState.pull`."""
        return self._solve(0.0, pull)

    def driving(self, rim_speed: float, pull: FloatArray) -> Equilibrium:
        """At a steady speed of all rims [m/s], not 0, straight ahead at first, with a drawbar's pull (6,)."""
        return self._solve(rim_speed, pull)

    def _solve(self, rim: float, pull: FloatArray) -> Equilibrium:
        gravity, wheels = np.array(self._vehicle.gravity), len(self._height)
        q, motion, sinkage = self._placed(np.zeros(wheels)), np.array([rim, 0.0, 0.0]), np.zeros(wheels)
        load = np.full(wheels, self._weight(q, gravity)[0] @ -self._normal / wheels)
        settled, free = False, np.zeros(len(self._statics.joint_names))
        for _ in range(_ROUNDS):
            sinkage, grip = self._sink(np.maximum(load, 0.0), rim, *self._over_ground(q, motion))
            q = self._standing(sinkage, q)
            motion, forces, lacking = self._balance(q, grip, rim, motion, pull, gravity)
            wrenches = traction_wrenches(self._rover, self._normal, *forces, heading=self._ahead)
            # what the ground does not bear accelerates the rover: for its loads a weight that acts the other way
            felt = gravity - lacking[0] * self._ahead - lacking[1] * self._left
            new = self._statics.loads(q, free, self._normal, felt.tolist(), wrenches, pull)
            change, load = new - load, load + _SHARE * (new - load)
            settled = bool(np.abs(change).max() < _SETTLED_N)
            if settled or not np.isfinite(load).all():
                break
        forward, _ = self._over_ground(q, motion)
        slip = np.zeros(wheels) if rim == 0.0 else _slips(forward, np.zeros(wheels), rim)[0]
        return Equilibrium(settled, q, load, sinkage, slip, lacking)

    # ---- where it stands ----
    def _placed(self, u: FloatArray) -> FloatArray:
        """Configuration at a height over the ground [m], turned about ahead and left [rad], with joint angles [rad]."""
        q = self._rover.neutral()
        q[:3], q[3:7] = u[0] * self._normal, (self._turn * Rotation.from_rotvec((u[1], u[2], 0.0))).as_quat()
        q[self._joints] = u[3:]
        return q

    def _standing(self, sinkage: FloatArray, q: FloatArray) -> FloatArray:
        """Configuration with the wheels at these sinkages, searched from another one."""
        turn = (self._turn.inv() * Rotation.from_quat(q[3:7])).as_rotvec()
        u = np.array([q[:3] @ self._normal, turn[0], turn[1], *q[self._joints]])
        wanted = self._rover.chain.wheel_radius - sinkage + self._height

        def over(u: FloatArray) -> FloatArray:
            heights: FloatArray = self._rover.wheel_positions(self._placed(u)) @ self._normal - wanted
            return heights

        for _ in range(_SEARCHES):
            error = over(u)
            if np.abs(error).max() < _PLACED_M:
                break
            if self._slope is None or np.abs(error).max() > 0.01:  # far off: the slopes of here
                self._slope = np.column_stack([(over(u + 1e-6 * one) - error) / 1e-6 for one in np.eye(u.size)])
            u = u - np.clip(np.linalg.solve(self._slope, error), -0.3, 0.3)
        return self._placed(u)

    # ---- forces along the ground ----
    def _weight(self, q: FloatArray, gravity: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weight [N] and its moment about the base's origin [N m], world axes."""
        own = -self._rover.bias(q, np.zeros(self._rover.nv), gravity.tolist())
        base = Rotation.from_quat(q[3:7])
        return base.apply(own[:3]), base.apply(own[3:6])

    def _over_ground(self, q: FloatArray, motion: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Motion of each wheel ahead and to the left, from that of the base: ahead, left, and turn to the left."""
        arm = self._rover.wheel_positions(q) - q[:3]
        return motion[0] - motion[2] * (arm @ self._left), motion[1] + motion[2] * (arm @ self._ahead)

    def _balance(
        self, q: FloatArray, grip: _Grip, rim: float, motion: FloatArray, pull: FloatArray, gravity: FloatArray
    ) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray], FloatArray]:
        """Motion (3,) in which the wheels bear weight and drawbar along the ground.

        Returns:
            Motion as `_over_ground` takes it, of the ground's shear at rest [-] and of the rover when driving [m/s];
            the wheels' forces ahead [N], axle torques [N m] and forces to the left [N]; the acceleration ahead and
            across [m/s^2] that is left.
        """
        base, arm = Rotation.from_quat(q[3:7]), self._rover.wheel_positions(q) - q[:3]
        weight, moment = self._weight(q, gravity)
        force, moment = weight + base.apply(pull[:3]), moment + base.apply(pull[3:6])
        outer = np.array([force @ self._ahead, force @ self._left, moment @ self._normal])
        x, y = arm @ self._ahead, arm @ self._left
        size = rim if rim != 0.0 else 1.0

        def forces(part: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            u, v, turn = size * part
            traction, side = self._shear(u - turn * y, v + turn * x, rim, grip.limit)
            return traction * grip.cosine - grip.normal * grip.sine, self._rover.chain.wheel_radius * traction, side

        def left_over(part: FloatArray) -> FloatArray:
            ahead, _, side = forces(part)
            total: FloatArray = outer + (ahead.sum(), side.sum(), x @ side - y @ ahead)
            return total

        found = least_squares(left_over, motion / size, method="lm").x
        rest = left_over(found)[:2]
        mass = math.sqrt(weight @ weight) / math.sqrt(gravity @ gravity)
        return size * found, forces(found), np.where(np.abs(rest) > _BALANCED_N, rest, 0.0) / mass

    def _shear(
        self, forward: FloatArray, sideways: FloatArray, rim: float, limit: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Forces ahead and to the left [N] of wheels that share their limits in the direction of their slip.

        At rest the ground is sheared and does not slide: the same law, of the shear over that of the limit.
        """
        modulus = 1.0
        if rim == 0.0:
            slip, slide = -forward, -sideways
        elif self._vehicle.ground is not None:
            (slip, slide), modulus = _slips(forward, sideways, rim), float(self._vehicle.ground.wheel[SLIP_MODULUS])
        else:
            slip, slide = rim - forward, -sideways
            modulus = self._vehicle.compliant.friction_speed if self._vehicle.compliant is not None else abs(rim)
        total = np.hypot(slip, slide)
        share = limit * np.tanh(total / modulus) / np.maximum(total, 1e-12)
        return share * slip, share * slide

    # ---- each wheel in its ground ----
    def _sink(
        self, load: FloatArray, rim: float, forward: FloatArray, sideways: FloatArray
    ) -> tuple[FloatArray, _Grip]:
        """Sinkages (wheels,) under these loads [N], and the grip there."""
        soil, firm, rigid = self._vehicle.ground, self._vehicle.compliant, self._vehicle.rigid
        if soil is not None:
            return self._sink_in_soil(soil, load, rim, forward, sideways)
        level, upright = np.zeros(len(load)), np.ones(len(load))
        if firm is not None:
            sinkage = (load / firm.law.stiffness) ** (1.0 / firm.law.exponent)
            return sinkage, _Grip(load, upright, level, firm.friction * load)
        # without slip the shares of the wheels are not determined; here they are as the loads
        held = load * _HELD if rigid is not None and rigid.per_wheel > 1 else level
        return level, _Grip(load, upright, level, held)

    def _sink_in_soil(
        self, soil: Ground, load: FloatArray, rim: float, forward: FloatArray, sideways: FloatArray
    ) -> tuple[FloatArray, _Grip]:
        """The same on soil, each wheel in the rut of those ahead."""
        p, rows = soil.wheel, []
        left: list[float] = []
        share, _ = self._shear(forward, sideways, rim, np.ones(len(load)))
        for wheel, ahead in enumerate(self._before):
            before = 0.0 if ahead == NOBODY or rim == 0.0 else left[ahead]  # at rest it has left none
            moving = float(forward[wheel]) if rim else 0.0

            def grip(sinkage: float) -> tuple[float, float, float, float]:
                normal, cosine, sine, limit = resultant_in_rut(p, sinkage, before)  # noqa: B023
                return (*against_travel(normal, cosine, sine, moving, soil.slip_speed), limit)  # noqa: B023

            def over(sinkage: float) -> float:
                normal, cosine, sine, limit = grip(sinkage)
                return normal * cosine + share[wheel] * limit * sine - load[wheel]  # noqa: B023

            sinkage, deepest = rut.ground(p, before), _DEEPEST * p[RADIUS]
            if over(deepest) <= 0.0:
                sinkage = deepest
            elif load[wheel] > 0.0:
                sinkage = float(brentq(over, sinkage, deepest, xtol=1e-9))
            rows.append((sinkage, *grip(sinkage)))
            left.append(max(before, sinkage))
        sinkage, *grips = np.array(rows).T
        return sinkage, _Grip(*grips)


def _slips(forward: FloatArray, sideways: FloatArray, rim: float) -> tuple[FloatArray, FloatArray]:
    """Slip and slide (wheels,) of wheels with this speed of the rims [m/s]."""
    both = np.array([slip_and_slide(u, v, rim, SLOWEST)[:2] for u, v in zip(forward, sideways, strict=True)])
    return both[:, 0], both[:, 1]


def tilt_of(q: FloatArray) -> float:
    """Angle [rad] of the main body's upright axis to the vertical."""
    x, y = q[3], q[4]
    return math.acos(min(max(1.0 - 2.0 * (x * x + y * y), -1.0), 1.0))
