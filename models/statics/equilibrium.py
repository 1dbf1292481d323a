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
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from models.kernels.compiled import FloatArray
from models.rover import Rover
from models.statics.grip import Grip, GroundUnderWheels
from models.statics.statics import RoverStatics, suspension_joints, traction_wrenches
from models.terrain.surface import Slope, quaternion_of
from models.vehicle import VehicleModel

_LEVEL = Slope((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
# Loads and tractions settle by a factor of 3 or more each round; so many rounds at most, to this change [N].
_ROUNDS, _SETTLED_N = 25, 1e-2
# Share of each change of the loads that a round takes on: all of it may overshoot where tractions move the loads.
_SHARE = 0.7
# Share of the pull from whose equilibrium a search near the limit of traction begins.
_LESSER = 0.85
# What may be left there, as a share of a wheel's mean load: as the limit comes near, a little traction is much slip.
_NEARLY = 0.02
# Sum of the forces along the ground that counts as balanced [N].
_BALANCED_N = 0.1
# Search of the place on given sinkages: so many steps at most, to this distance [m].
_SEARCHES, _PLACED_M = 20, 1e-9


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
        self._ground = GroundUnderWheels(vehicle)

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
            sinkage, grip = self._ground.sink(np.maximum(load, 0.0), rim, *self._over_ground(q, motion))
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
            sinkage, grip = self._ground.sink(np.maximum(load, 0.0), rim, *self._over_ground(placed[0], motion))
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
        sinkage, _ = self._ground.sink(np.maximum(load, 0.0), rim, *self._over_ground(placed[0], motion))
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
        base = Rotation.from_quat(q[3:7])
        own = self.rover.mass_matrix(q)[:6, :3] @ base.apply(self._gravity, inverse=True)
        return base.apply(own[:3]), base.apply(own[3:])

    def _over_ground(self, q: FloatArray, motion: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Motion of each wheel ahead and to the left, from that of the base: ahead, left, and turn to the left."""
        arm = self.rover.wheel_positions(q) - q[:3]
        return motion[0] - motion[2] * (arm @ self._left), motion[1] + motion[2] * (arm @ self._ahead)

    def _forces(
        self, q: FloatArray, grip: Grip, rim: float, motion: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of the wheels: ahead [N], axle torque [N m], to the left [N]."""
        traction, side = self._ground.shear(*self._over_ground(q, motion), rim, grip.limit)
        return traction * grip.cosine - grip.normal * grip.sine, self.rover.chain.wheel_radius * traction, side

    def _not_borne(self, q: FloatArray, grip: Grip, rim: float, motion: FloatArray, pull: FloatArray) -> FloatArray:
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
        self, q: FloatArray, grip: Grip, rim: float, motion: FloatArray, pull: FloatArray
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
        self, q: FloatArray, grip: Grip, rim: float, motion: FloatArray, pull: FloatArray, lacking: FloatArray
    ) -> FloatArray:
        """Loads (wheels,) [N] in equilibrium with the wheels' forces along the ground."""
        forces = self._forces(q, grip, rim, motion)
        wrenches = traction_wrenches(self.rover, self._normal, *forces, heading=self._ahead)
        # what the ground does not bear accelerates the rover: for its loads a weight that acts the other way
        felt = self._gravity - lacking[0] * self._ahead - lacking[1] * self._left
        free = np.zeros(len(self._statics.joint_names))
        return self._statics.loads(q, free, self._normal, felt.tolist(), wrenches, pull)


def tilt_of(q: FloatArray) -> float:
    """Angle [rad] of the main body's upright axis to the vertical."""
    x, y = q[3], q[4]
    return math.acos(min(max(1.0 - 2.0 * (x * x + y * y), -1.0), 1.0))
