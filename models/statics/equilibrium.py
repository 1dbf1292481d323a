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
_ROUNDS, _SETTLED_N = 25, 1e-2
# Share of each change of the loads that a round takes on: all of it may overshoot where tractions move the loads.
_SHARE = 0.7
# A wheel is not deeper than this share of its radius; where its load wants more, the ground does not bear it.
_DEEPEST = 0.9
# Share of the pull from whose equilibrium a search near the limit of traction begins.
_LESSER = 0.85
# What may be left there, as a share of a wheel's mean load: as the limit comes near, a little traction is much slip.
_NEARLY = 0.02
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
        motion: ahead, to the left [m/s] and turning to the left [rad/s]; at rest the shear of the ground [-].
        acceleration: forward, across [m/s^2], for want of traction; 0 in equilibrium.
    """

    settled: bool
    q: FloatArray
    load: FloatArray
    sinkage: FloatArray
    motion: FloatArray
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
    """A rover on its ground, with free suspension joints; stops and the ground under the body do not act.

    Attributes:
        rover: with payload and grousers.
        vehicle: of it: ground, terrain, gravity.

    Args: as the attributes.

    Raises:
        ValueError: a rover whose wheels' loads do not follow from equilibrium.
    """

    def __init__(self, rover: Rover, vehicle: VehicleModel) -> None:
        self.rover, self.vehicle, self._statics = rover, vehicle, RoverStatics(rover)
        slope, self._gravity = vehicle.terrain or _LEVEL, np.array(vehicle.gravity)
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
        """At a steady speed of all rims [m/s], not 0, straight ahead at first, with a drawbar's pull (6,).

        Not settled where the wheels lack traction for it.
        """
        found = self._solve(rim_speed, pull)
        if not found.settled:
            return self._solve_at_once(found, rim_speed, pull)
        return found._replace(settled=not found.acceleration.any())

    def clearance(self, q: FloatArray) -> float:
        """Height [m] of the lowest corner of the main body over the ground; infinity of a body without a size."""
        if self.vehicle.body is None:
            return math.inf
        places = q[:3] + Rotation.from_quat(q[3:7]).apply(self.vehicle.body.corner)
        return float((places @ self._normal).min())

    def _solve(self, rim: float, pull: FloatArray) -> Equilibrium:
        """Loads, place and motion in turn; where traction is nearly exhausted that does not settle."""
        wheels = len(self._height)
        q, motion, lacking = self._placed(np.zeros(wheels)), np.array([rim, 0.0, 0.0]), np.zeros(2)
        load = np.full(wheels, -(self._weight(q)[0] @ self._normal) / wheels)
        sinkage, settled = np.zeros(wheels), False
        for _ in range(_ROUNDS):
            sinkage, grip = self._sink(np.maximum(load, 0.0), rim, *self._over_ground(q, motion))
            q = self._standing(sinkage, q)
            motion, lacking = self._balance(q, grip, rim, motion, pull)
            change = self._borne(q, grip, rim, motion, pull, lacking) - load
            load = load + _SHARE * change
            settled = bool(np.abs(change).max() < _SETTLED_N)
            if settled or not np.isfinite(load).all():
                break
        return Equilibrium(settled, q, load, sinkage, motion, lacking)

    def _solve_at_once(self, start: Equilibrium, rim: float, pull: FloatArray) -> Equilibrium:
        """Loads and motion together, from those of a lesser pull: near the limit of traction each follows the other."""
        near = self._solve(rim, _LESSER * pull)
        wheels, scale = len(near.load), float(near.load.mean())
        if not near.settled or near.acceleration.any():
            return start._replace(settled=False)
        placed = [near.q]

        def left_over(x: FloatArray) -> FloatArray:
            load, motion = scale * x[:wheels], rim * x[wheels:]
            sinkage, grip = self._sink(np.maximum(load, 0.0), rim, *self._over_ground(placed[0], motion))
            placed[0] = self._standing(sinkage, placed[0])
            change = self._borne(placed[0], grip, rim, motion, pull, np.zeros(2)) - load
            rest = self._not_borne(placed[0], grip, rim, motion, pull)
            return np.concatenate([change, rest]) / scale

        x = least_squares(
            left_over,
            [*(near.load / scale), *(near.motion / rim)],
            x_scale=[1.0] * wheels + [0.1] * 3,
            diff_step=np.full(wheels + 3, 1e-5),
            max_nfev=30,
        ).x
        settled = bool(np.abs(left_over(x)).max() < _NEARLY)
        load, motion = scale * x[:wheels], rim * x[wheels:]
        sinkage, _ = self._sink(np.maximum(load, 0.0), rim, *self._over_ground(placed[0], motion))
        return Equilibrium(settled, placed[0], load, sinkage, motion, np.zeros(2))

    # ---- where it stands ----
    def _placed(self, u: FloatArray) -> FloatArray:
        """Configuration at a height over the ground [m], turned about ahead and left [rad], with joint angles [rad]."""
        q = self.rover.neutral()
        q[:3], q[3:7] = u[0] * self._normal, (self._turn * Rotation.from_rotvec((u[1], u[2], 0.0))).as_quat()
        q[self._joints] = u[3:]
        return q

    def _standing(self, sinkage: FloatArray, q: FloatArray) -> FloatArray:
        """Configuration with the wheels at these sinkages, searched from another one."""
        turn = (self._turn.inv() * Rotation.from_quat(q[3:7])).as_rotvec()
        u = np.array([q[:3] @ self._normal, turn[0], turn[1], *q[self._joints]])
        wanted = self.rover.chain.wheel_radius - sinkage + self._height

        def over(u: FloatArray) -> FloatArray:
            heights: FloatArray = self.rover.wheel_positions(self._placed(u)) @ self._normal - wanted
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
    def _weight(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weight [N] and its moment about the base's origin [N m], world axes."""
        own = -self.rover.bias(q, np.zeros(self.rover.nv), self._gravity.tolist())
        base = Rotation.from_quat(q[3:7])
        return base.apply(own[:3]), base.apply(own[3:6])

    def _over_ground(self, q: FloatArray, motion: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Motion of each wheel ahead and to the left, from that of the base: ahead, left, and turn to the left."""
        arm = self.rover.wheel_positions(q) - q[:3]
        return motion[0] - motion[2] * (arm @ self._left), motion[1] + motion[2] * (arm @ self._ahead)

    def _forces(
        self, q: FloatArray, grip: _Grip, rim: float, motion: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of the wheels: ahead [N], axle torque [N m], to the left [N]."""
        traction, side = self._shear(*self._over_ground(q, motion), rim, grip.limit)
        return traction * grip.cosine - grip.normal * grip.sine, self.rover.chain.wheel_radius * traction, side

    def _not_borne(self, q: FloatArray, grip: _Grip, rim: float, motion: FloatArray, pull: FloatArray) -> FloatArray:
        """What weight, drawbar and wheels sum to (3,): ahead, to the left [N], and turning to the left [N m]."""
        base, arm = Rotation.from_quat(q[3:7]), self.rover.wheel_positions(q) - q[:3]
        weight, moment = self._weight(q)
        force, moment = weight + base.apply(pull[:3]), moment + base.apply(pull[3:6])
        ahead, _, side = self._forces(q, grip, rim, motion)
        turning = (arm @ self._ahead) @ side - (arm @ self._left) @ ahead
        return np.array(
            [force @ self._ahead + ahead.sum(), force @ self._left + side.sum(), moment @ self._normal + turning]
        )

    def _balance(
        self, q: FloatArray, grip: _Grip, rim: float, motion: FloatArray, pull: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Motion (3,) in which the wheels bear weight and drawbar along the ground.

        Returns:
            Motion as `_over_ground` takes it, of the ground's shear at rest [-] and of the rover when driving [m/s];
            the acceleration ahead and across [m/s^2] that is left.
        """
        size = rim if rim != 0.0 else 1.0

        def left_over(part: FloatArray) -> FloatArray:
            return self._not_borne(q, grip, rim, size * part, pull)

        found: FloatArray = size * least_squares(left_over, motion / size, method="lm").x
        rest = self._not_borne(q, grip, rim, found, pull)[:2]
        mass = np.linalg.norm(self._weight(q)[0]) / np.linalg.norm(self._gravity)
        return found, np.where(np.abs(rest) > _BALANCED_N, rest, 0.0) / mass

    def _borne(
        self, q: FloatArray, grip: _Grip, rim: float, motion: FloatArray, pull: FloatArray, lacking: FloatArray
    ) -> FloatArray:
        """Loads (wheels,) [N] in equilibrium with the wheels' forces along the ground."""
        forces = self._forces(q, grip, rim, motion)
        wrenches = traction_wrenches(self.rover, self._normal, *forces, heading=self._ahead)
        # what the ground does not bear accelerates the rover: for its loads a weight that acts the other way
        felt = self._gravity - lacking[0] * self._ahead - lacking[1] * self._left
        free = np.zeros(len(self._statics.joint_names))
        return self._statics.loads(q, free, self._normal, felt.tolist(), wrenches, pull)

    def _shear(
        self, forward: FloatArray, sideways: FloatArray, rim: float, limit: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Forces ahead and to the left [N] of wheels that share their limits in the direction of their slip.

        At rest the ground is sheared and does not slide: the same law, of the shear over that of the limit.
        """
        modulus = 1.0
        if rim == 0.0:
            slip, slide = -forward, -sideways
        elif self.vehicle.ground is not None:
            (slip, slide), modulus = _slips(forward, sideways, rim), float(self.vehicle.ground.wheel[SLIP_MODULUS])
        else:
            slip, slide = rim - forward, -sideways
            modulus = self.vehicle.compliant.friction_speed if self.vehicle.compliant is not None else abs(rim)
        total = np.hypot(slip, slide)
        share = limit * np.tanh(total / modulus) / np.maximum(total, 1e-12)
        return share * slip, share * slide

    # ---- each wheel in its ground ----
    def _sink(
        self, load: FloatArray, rim: float, forward: FloatArray, sideways: FloatArray
    ) -> tuple[FloatArray, _Grip]:
        """Sinkages (wheels,) under these loads [N], and the grip there."""
        soil, firm, rigid = self.vehicle.ground, self.vehicle.compliant, self.vehicle.rigid
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
