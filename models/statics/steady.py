"""Steady states of a rover, at rest or driving: pose, joint angles, slip and wheel loads as one equilibrium.

Unknown are height, roll and pitch of the base, the angles of the suspension joints, and the base's speeds ahead, to the
left and about the ground's normal. Known are the speed of the rims, the torques on the joints, and the pull at the
drawbar, or the slip instead of a part of that pull. The forces are the plant's own (models.statics.steady_forces).

At rest the rims stand. Soil is then sheared by as much as holds the rover, from unsheared, all wheels in one motion of
the rover; firm ground creeps, at a share of the sliding speed below which its friction is in proportion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from models.actuators.pneumatic import NO_CYLINDERS
from models.actuators.stops import NO_STOPS
from models.kernels.bound import BoundArguments
from models.kernels.compiled import FloatArray
from models.rover.rover import Rover
from models.statics.balance import suspension_joints
from models.statics.steady_forces import SteadyVehicle, fill_forces, steady_ground
from models.terrain.surface import plane_axes, surface
from models.vehicle.model import RAILS, VehicleModel, make_vehicle_state

# Units of the unknowns: height over the depth of the wheels, angles over the height's [rad/m], speeds over the rims' or
# that which shears the ground at rest. A step of differences, in units.
_HEIGHT, _ANGLE, _SPEED, _STEP = 2.0, 5.0, 0.2, 1e-5
# Largest force, or moment about 1 m, that may be left over, over the weight: an optimum of the slip is flat. On ground
# as stiff as steel rounding of the height leaves more.
_LEFT_OVER, _ROUNDED = 1e-11, 1e-8
# Newton's steps: so many at most, or between, none longer than this in units, halved down to this share.
_ROUNDS, _FEW, _LONGEST, _SHORTEST = 40, 12, 5.0, 1e-3
# Slips to begin with: of sand, and of firm ground, whose friction is level beyond a small one.
_STARTS = (0.2, 0.02)
# Largest depth of the wheels over their radius; distance [m] at which a wheel touches the ground.
_DEEPEST, _TOUCHING = 0.9, 1e-14
# A state that is not found at once is followed from a start that is held, while it is let go: the first and the
# least step, as shares.
_FIRST, _LEAST = 0.25, 2e-3
# A wheel that bears less than this share of the mean when the steps end is what ended them.
_LIFTING = 0.02


class SteadyState(NamedTuple):
    """A steady state, and how it changes with the torque of each joint.

    Attributes:
        q: (nq,) configuration; the base lies over the world's origin.
        load: (wheels,) forces along the ground's normal [N].
        slip: 1 - speed ahead over that of the rims; 0 at rest.
        pull: [N] that keeps the rover at its slip; 0 where the slip is free.
        turning: speed about the ground's normal [rad/s], to the left.
        influence: (wheels, joints) change of the loads, tractions included [1/m].
        slip_influence: (joints,) of the slip [1/(N m)].
        pull_influence: (joints,) of the pull [1/m].
    """

    q: FloatArray
    load: FloatArray
    slip: float
    pull: float
    turning: float
    influence: FloatArray
    slip_influence: FloatArray
    pull_influence: FloatArray


class NoSteadyStateError(RuntimeError):
    """The rover cannot stand or drive so with all wheels on the ground: too steep, pulled too hard, or a wheel lifts.

    Attributes:
        lifted: name of the wheel that lifts; "": traction is exhausted, or the ground does not bear the rover.
        why: which of the two, in words.
    """

    def __init__(self, lifted: str) -> None:
        self.lifted = lifted
        self.why = f"the {lifted.replace('_', ' ')} wheel lifts" if lifted else "the wheels lack traction or support"
        super().__init__(f"the rover has no steady state with all wheels on the ground: {self.why}")


class SteadyRover:
    """Equilibria of a rover whose rims turn at one speed; joint stops and the ground under the body do not act.

    Attributes:
        rover: as it stands, with payload and grousers.
        vehicle: it on its ground. Its motors hold the speed of the rims.
        joint_names: suspension joints, in the order of every vector by joint.
        wheel_names: likewise of the wheels.

    Args:
        rover, vehicle: as the attributes.
        speed: of the rims [m/s]; 0 is at rest.
        pull: (6,) of a drawbar, as `VehicleState.pull`.
        held: (6,) likewise of 1 N that pulls until the rover has the slip `slip`; None: its slip is free.
        slip: with `held`.
        heading: of the rover [rad], to the left of the ground's axis ahead.

    Raises:
        ValueError: no ground.
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
        if vehicle.terrain is not None and vehicle.terrain.given is not None:
            vehicle = vehicle._replace(terrain=None)  # level ground, as in place of a profile
        self.rover, self.vehicle, self.wheel_names, self._speed = rover, vehicle, rover.wheel_names, speed
        self._pull, self._held, self._slip = np.array(pull, dtype=np.float64), held, slip
        self._state, self._q, self._v = make_vehicle_state(rover), rover.neutral(), np.zeros(rover.nv)
        mass = float(rover.mass_matrix(self._q)[0, 0])
        self._weight = mass * float(np.linalg.norm(vehicle.gravity))
        ground, compliant, shear = steady_ground(vehicle, self._weight, speed)
        # what does not act is left out, so that the same code serves every experiment
        bare = vehicle._replace(
            ground=ground, compliant=compliant, obstacle=None, rigid=None, cylinders=NO_CYLINDERS, stops=NO_STOPS,
            body=None,
        )  # fmt: skip
        self._bound = BoundArguments(SteadyVehicle(bare, self._state, self._q, self._v))
        ground_axes = plane_axes(vehicle.terrain) @ Rotation.from_euler("z", heading).as_matrix()
        self._normal = ground_axes[:, 2]
        x, y, z, w = Rotation.from_matrix(ground_axes).as_quat()
        # times a quaternion: the ground's axes turned by it
        self._turned = np.array([[w, -z, y, x], [z, w, -x, y], [-y, x, w, z], [-x, -y, -z, w]])
        self._height = self._ground_heights()
        chain, joints = rover.chain, suspension_joints(rover)
        self.joint_names = tuple(rover.tree_joint_names[k - 6] for k in joints)
        independent = chain.independent.tolist()
        driven = chain.motor_wheel  # the others are coupled to these
        self._v[[independent.index(5 + chain.wheel_body[k]) for k in driven]] = speed / chain.wheel_radius[driven]
        self._joint_places = [1 + independent.index(k) for k in joints]
        self._joint_rows, self._rows = np.array(joints, dtype=np.int64), np.array([*range(6), *joints])
        self._ahead = 3 + len(joints)  # the place of the speed ahead, or of the pull instead
        # on rails a carriage does not tilt, drift or turn, and they bear what would make it
        self._moves, self._acts = np.ones(self._ahead + 3), np.ones(self._ahead + 3)
        if rover.tree.guided:
            self._moves[[1, 2, self._ahead + 1, self._ahead + 2]] = 0.0
            self._acts[RAILS] = 0.0
        # height, angles, speed ahead or pull, speed across, turning speed
        self._unit = np.array([1.0] * self._ahead + [_SPEED * shear] * 3)
        if held is not None:
            self._unit[self._ahead] = self._weight
        self._level = np.tile(self._level_start(mass * float(vehicle.gravity @ self._normal)), (2, 1))
        if held is None:
            speeds = speed * (1.0 - np.array(_STARTS)) / self._unit[self._ahead]
            self._level[:, self._ahead] = speeds if compliant is None else speeds[::-1]
        self._last = self._level[0]

    def at(self, torque: npt.ArrayLike = 0.0) -> SteadyState:
        """The state with torques (joints,) [N m] on the suspension joints.

        Raises:
            NoSteadyStateError: there is none with all wheels on the ground.
        """
        self._state.torque[self._joint_rows] = torque
        starts = (self._last, *self._level)
        found = next((x for start in starts if (x := self._solve(start, 0.0, _ROUNDS)) is not None), None)
        self._last = self._follow(self._last) if found is None else found
        n, slopes, here = self._last.size, self._slopes(self._last), self._look(self._last)
        push = np.zeros((n, len(self._joint_rows)))
        push[6:] = np.eye(len(self._joint_rows)) / self._weight
        change = slopes[n:] @ np.linalg.lstsq(slopes[:n], -push)[0]
        load, (slip, pull, turning) = here[n:-3], here[-3:].tolist()
        return SteadyState(self._q.copy(), load, slip, pull, turning, change[:-3], change[-3], change[-2])

    def clearance(self, q: FloatArray) -> float:
        """Height [m] of the lowest corner of the main body over the ground; infinity of a body without a size."""
        if self.vehicle.body is None:
            return math.inf
        places = q[:3] + Rotation.from_quat(q[3:7]).apply(self.vehicle.body.corner)
        return float((places @ self._normal).min())

    # ---- the solution ----
    def _follow(self, x: FloatArray) -> FloatArray:
        """The unknowns, from a start where a force holds the rover that is taken away, step by step.

        Raises:
            NoSteadyStateError: before it is found, a wheel lifts, or traction is exhausted.
        """
        held = self._look(x)[: x.size]
        share, step, direction = 0.0, _FIRST, np.zeros(x.size)
        while share < 1.0:
            step = min(step, 1.0 - share)
            found = self._solve(x + step * direction, (1.0 - share - step) * held, _FEW)
            if found is None:
                step *= 0.5
                if step < _LEAST:
                    load = self._look(x)[x.size : -3]
                    light = int(load.argmin())
                    raise NoSteadyStateError(self.wheel_names[light] if load[light] < _LIFTING * load.mean() else "")
                continue
            x, direction, share, step = found, (found - x) / step, share + step, 2.0 * step
        return x

    def _solve(self, x: FloatArray, held: FloatArray | float, rounds: int) -> FloatArray | None:
        """The unknowns, in their units, from a start; None: not found, a wheel is off the ground, or it slides back.

        What is `held` (unknowns,) of what is left over counts as borne.
        """
        n = x.size
        here = self._look(x)
        for _ in range(rounds):
            left = here[:n] - held
            size = np.linalg.norm(left)
            slopes = self._slopes(x)[:n]
            if size < _LEFT_OVER or not np.isfinite(slopes).all():
                break
            step = np.linalg.lstsq(slopes, -left)[0]
            share = min(1.0, _LONGEST / np.abs(step).max())
            later = self._look(x + share * step)
            while share > _SHORTEST and not np.linalg.norm(later[:n] - held) < size:
                share *= 0.5
                later = self._look(x + share * step)
            if not np.linalg.norm(later[:n] - held) < size:
                break
            x, here = x + share * step, later
        settled = np.linalg.norm(here[:n] - held) < _ROUNDED and here[n:-3].min() > 0.0 and here[-3] < 1.0
        return x if settled else None

    def _look(self, x: FloatArray) -> FloatArray:
        """What is left over on the motion of each unknown, over the weight; loads; slip, pull and turning speed."""
        values, state, v = x * self._unit * self._moves, self._state, self._v
        value, across, turning = values[self._ahead :]
        ahead, pull = (value, 0.0) if self._held is None else ((1.0 - self._slip) * self._speed, value)
        self._place(values)
        sr, cr, sp, cp = math.sin(values[1]), math.cos(values[1]), math.sin(values[2]), math.cos(values[2])
        # the base's speeds in its own axes
        v[:3] = cp * ahead, sp * sr * ahead + cr * across, sp * cr * ahead - sr * across
        v[3:6] = -sp * turning, cp * sr * turning, cp * cr * turning
        state.pull[:] = self._pull if self._held is None else self._pull + pull * self._held
        state.ground.shear[:] = 0.0
        fill_forces(self._bound)
        left = state.work.rhs[self._rows] * self._acts / self._weight
        slip = 1.0 - ahead / self._speed if self._speed else 0.0
        return np.concatenate([left, state.ground.vertical, (slip, pull, turning)])

    def _place(self, values: FloatArray) -> None:
        """Set the configuration to height, roll and pitch in the ground's axes, pitch first, and joint angles."""
        sr, cr, sp, cp = (f(0.5 * angle) for angle in values[1:3].tolist() for f in (math.sin, math.cos))
        self._q[:3] = values[0] * self._normal
        self._q[3:7] = self._turned @ (cp * sr, sp * cr, -sp * sr, cp * cr)
        self._q[self._joint_places] = values[3 : self._ahead]

    def _slopes(self, x: FloatArray) -> FloatArray:
        steps = _STEP * np.eye(x.size)
        return np.column_stack([(self._look(x + step) - self._look(x - step)) / (2.0 * _STEP) for step in steps])

    # ---- where it begins ----
    def _ground_heights(self) -> FloatArray | None:
        """Height (wheels,) [m] of the ground under each wheel of the level rover, over the plane; None: even."""
        terrain = self.vehicle.terrain
        if terrain is None or terrain.relief is None:
            return None if terrain is None else terrain.wheel_height
        places = self.rover.wheel_positions(self.rover.neutral()).tolist()
        return np.array([surface(terrain, x, y)[0] for x, y, _ in places])

    def _level_start(self, along: float) -> FloatArray:
        """All wheels equally deep, so that they bear the weight `along` the normal [N], below 0. Sets units."""
        x, place = np.zeros(self._unit.size), self._ahead
        x[:place] = self._on_the_ground()
        touching = x[0]

        def surplus(depth: float) -> float:
            x[0] = touching - depth
            return float(self._look(x)[x.size : -3].sum()) + along

        deep = _DEEPEST * float(self.rover.chain.wheel_radius.max())
        if surplus(deep) > 0.0:  # else the ground bears it nowhere, and no state is found from here
            # on uneven ground the wheels touch it to rounding only, and stiff soil bears the weight in less
            deep = brentq(surplus, 0.0 if surplus(0.0) < 0.0 else -deep, deep, xtol=1e-15)
        x[0] = touching - deep
        self._unit[:place] = _HEIGHT * deep * np.array([1.0, *[_ANGLE] * (place - 1)])
        x[:place] /= self._unit[:place]
        return x

    def _on_the_ground(self) -> FloatArray:
        """Height, roll, pitch and joint angles at which every wheel touches the ground."""
        radius = self.rover.chain.wheel_radius
        wanted = radius if self._height is None else radius + self._height
        values = np.zeros(self._ahead)

        def over(values: FloatArray) -> FloatArray:
            self._place(values)
            heights: FloatArray = self.rover.wheel_positions(self._q) @ self._normal - wanted
            return heights

        for _ in range(_ROUNDS):
            error = over(values)
            if np.abs(error).max() < _TOUCHING:
                break
            slopes = np.column_stack([(over(values + one) - error) / 1e-6 for one in 1e-6 * np.eye(values.size)])
            values = values - np.clip(np.linalg.lstsq(slopes, error)[0], -0.3, 0.3)
        return values


def tilt_of(q: FloatArray) -> float:
    """Angle [rad] of the main body's upright axis to the vertical."""
    x, y = q[3], q[4]
    return math.acos(min(max(1.0 - 2.0 * (x * x + y * y), -1.0), 1.0))
