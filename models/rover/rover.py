"""The public interface of a reduced rover."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.gravity import EARTH_GRAVITY
from models.kernels.compiled import FloatArray
from models.rover import queries
from models.rover.dynamics import Workspace, make_work, place_bodies
from models.rover.reduction import Chain, reduce
from models.rover.tree import Tree
from models.rover.urdf import to_urdf


class DrivenDynamics(NamedTuple):
    """Motion of a rover whose wheels turn at prescribed speeds.

    Attributes:
        acceleration: (nv,) [m/s^2, rad/s^2].
        torque: (wheels,) of each drive about its axle [N m].
    """

    acceleration: FloatArray
    torque: FloatArray


_ABREAST_M = 0.02  # wheels nearer to one another along the rover's x stand abreast


class Rover:
    """A reduced multibody rover with a free-flying base.

    Configuration q (nq,): x y z [m] of the base origin in the world, quaternion qx qy qz qw (world from base), then
    joint angles [rad] in URDF order. Velocity v (nv,): base linear velocity [m/s] then angular [rad/s], both in base
    axes, then joint speeds [rad/s]. World frame: x forward, y left, z up.

    Both hold the independent joints only: a locked joint is data of the tree, and the angle of a coupled joint follows
    from its sources, so every q with a normal quaternion is one that the rover can take. Forces and Jacobians are those
    of the independent speeds. `tree_configuration` and `tree_speeds` give all joints that turn, as kernels take them.

    Attributes:
        tree: the full description, locks and couplings included.
        chain: the reduced arrays that kernels take.
        nq: number of configuration values.
        nv: number of independent speeds.
        joint_names: independent joints in the order of q and v.
        tree_joint_names: all joints that turn, coupled ones included, in URDF order.
        wheel_names: wheels in the order of `wrenches` and `wheel_positions`.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.chain: Chain
        self.chain, self.tree_joint_names = reduce(tree)
        self.joint_names: tuple[str, ...] = tuple(self.tree_joint_names[k - 6] for k in self.chain.independent[6:])
        self.nv: int = self.chain.independent.size
        self.nq: int = self.nv + 1
        self.wheel_names: tuple[str, ...] = tuple(wheel.name for wheel in tree.wheels)
        self._work: Workspace = make_work(self.chain)

    @property
    def mass(self) -> float:
        """Of all its bodies [kg]."""
        return math.fsum(body.mass for body in self.tree.bodies)

    @property
    def sprung(self) -> tuple[str, ...]:
        """Free joints that passive springs hold, such as those of flexible links."""
        return tuple(joint.name for joint in self.tree.joints if joint.stiffness and joint.locked_at is None)

    def __repr__(self) -> str:
        return f"<Rover {self.tree.name}: {self.mass:.1f} kg, {len(self.wheel_names)} wheels, {self.nv} speeds>"

    def neutral(self) -> FloatArray:
        """Configuration (nq,) with the base frame on the world frame and every joint at zero."""
        q = np.zeros(self.nq)
        q[6] = 1.0
        return q

    def with_locks(self, locks: Mapping[str, float | None]) -> Rover:
        """The same rover with joints locked at other angles [rad], or free for None: see `Tree.with_locks`."""
        return Rover(self.tree.with_locks(locks))

    def with_grousers(self, height: float | Sequence[float]) -> Rover:
        """The same rover on wheels larger by their grousers' height [m]: the effective radius, Petersen 2012 (5.4).

        Neither mass nor inertia changes; a wheel of `neutral()` then reaches its height lower than without.

        Args:
            height: of all wheels, or of each.

        Raises:
            ValueError: a height that is not finite, or below 0; not one for each wheel.
        """
        mounts = self.tree.wheels
        heights = tuple(height) if isinstance(height, Sequence) else (height,) * len(mounts)
        if len(heights) != len(mounts):
            raise ValueError(f"{len(heights)} heights of grousers, allowed: one for each of {len(mounts)} wheels")
        for one in heights:
            if not (math.isfinite(one) and one >= 0.0):
                raise ValueError(f"height is {one} m, allowed: 0 or more")
        if not any(heights):
            return self
        wheels = tuple(replace(wheel, radius=wheel.radius + one) for wheel, one in zip(mounts, heights, strict=True))
        return Rover(replace(self.tree, wheels=wheels))

    def own_configuration(self, tree_q: npt.ArrayLike) -> FloatArray:
        """Configuration (nq,) from that of all joints that turn, as returned by `tree_configuration`."""
        joints = self.chain.independent[6:] + 1
        q = _finite("tree_q", tree_q, (1 + self.chain.speed_parent.size,))
        return np.concatenate([q[:7], q[joints]])

    def own_speeds(self, tree_v: npt.ArrayLike) -> FloatArray:
        """Velocity (nv,) from that of all joints that turn, as returned by `tree_speeds`."""
        out: FloatArray = _finite("tree_v", tree_v, (self.chain.speed_parent.size,))[self.chain.independent]
        return out

    def tree_configuration(self, q: npt.ArrayLike) -> FloatArray:
        """Configuration of all joints that turn, coupled ones included: as q, joints as in `tree_joint_names`."""
        return self._spread(self._configuration(q))

    def tree_speeds(self, v: npt.ArrayLike, q: npt.ArrayLike | None = None) -> FloatArray:
        """Speeds of all joints that turn, N v (Cyril 1993 (18)): as v, joints as in `tree_joint_names`.

        Args:
            v: velocity (nv,).
            q: configuration (nq,); a rover with closed loops needs it, since N changes with it.

        Raises:
            ValueError: a wrong shape, a value that is not finite, or closed loops and no q.
        """
        out = np.zeros(self.chain.speed_parent.size)
        if self.chain.loops is not None:
            if q is None:
                raise ValueError(f"rover {self.tree.name}: q is None, needed: where its closed loops stand")
            self._configuration(q)  # places the bodies, which sets N
        queries.spread(self.chain, self._speeds("v", v), out)
        return out

    def mass_matrix(self, q: npt.ArrayLike) -> FloatArray:
        """Joint-space inertia M~ = N^T M N (nv, nv), Cyril 1993 (21), by the composite-rigid-body algorithm."""
        out = np.empty((self.nv, self.nv))
        queries.mass_matrix(self.chain, self._configuration(q), self._work, out)
        return out

    def bias(self, q: npt.ArrayLike, v: npt.ArrayLike, gravity: Sequence[float] = EARTH_GRAVITY) -> FloatArray:
        """Coriolis, centrifugal and gravity force (nv,) with gravity [m/s^2] in world axes."""
        out = np.empty(self.nv)
        queries.bias(
            self.chain,
            self._configuration(q),
            self._speeds("v", v),
            _finite("gravity", gravity, (3,)),
            self._work,
            out,
        )
        return out

    def forward_dynamics(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        wrenches: npt.ArrayLike | None = None,
        gravity: Sequence[float] = EARTH_GRAVITY,
    ) -> FloatArray:
        """Acceleration (nv,) under generalised forces and wheel wrenches.

        Args:
            q: configuration (nq,).
            v: velocity (nv,).
            tau: generalised force (nv,) [N, N m].
            wrenches: (wheels, 6) force [N] and torque [N m] on each wheel, world axes, at the wheel centre.
            gravity: [m/s^2], world axes.

        Raises:
            ValueError: a wrong shape or a value that is not finite.
        """
        out = np.empty(self.nv)
        queries.forward_dynamics(
            self.chain,
            self._configuration(q),
            self._speeds("v", v),
            self._speeds("tau", tau),
            self._wrenches(wrenches),
            _finite("gravity", gravity, (3,)),
            self._work,
            out,
        )
        return out

    def driven_dynamics(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        wheel_acceleration: npt.ArrayLike,
        wrenches: npt.ArrayLike | None = None,
        gravity: Sequence[float] = EARTH_GRAVITY,
    ) -> DrivenDynamics:
        """Acceleration with the wheels driven at prescribed speeds, and the required drive torques.

        Args:
            q: configuration (nq,).
            v: velocity (nv,), the wheels' prescribed speeds included.
            tau: generalised force (nv,) [N, N m]; its entries for the wheels act in addition to the drives.
            wheel_acceleration: (wheels,) rate of the prescribed speeds [rad/s^2], zero for constant ones.
            wrenches: (wheels, 6) force [N] and torque [N m] on each wheel, world axes, at the wheel centre.
            gravity: [m/s^2], world axes.

        Returns:
            Acceleration (nv,), and torque (wheels,) of each drive about its axle [N m].

        Raises:
            ValueError: a wrong shape, a value that is not finite, or a wheel whose drive joint is coupled.
        """
        wheels = len(self.wheel_names)
        tied = set(5 + self.chain.wheel_body) & {*self.chain.dependent, *self.chain.source}
        if tied:
            raise ValueError(f"wheel joints {[self.tree_joint_names[k - 6] for k in tied]} are coupled, allowed: free")
        out, torque = np.empty(self.nv), np.empty(wheels)
        queries.driven_dynamics(
            self.chain,
            self._configuration(q),
            self._speeds("v", v),
            self._speeds("tau", tau),
            _finite("wheel_acceleration", wheel_acceleration, (wheels,)),
            self._wrenches(wrenches),
            _finite("gravity", gravity, (3,)),
            self._work,
            np.empty((wheels, self.chain.speed_parent.size)),
            out,
            torque,
        )
        return DrivenDynamics(out, torque)

    def wheel_positions(self, q: npt.ArrayLike) -> FloatArray:
        """Wheel centres (wheels, 3) [m] in the world frame."""
        out = np.zeros((len(self.wheel_names), 3))
        queries.wheel_positions(self.chain, self._configuration(q), self._work, out)
        return out

    def axles(self) -> list[tuple[str, ...]]:
        """Names of the wheels that stand abreast, foremost first."""
        ahead = self.wheel_positions(self.neutral())[:, 0]
        found: list[list[int]] = []
        for wheel in np.argsort(-ahead, kind="stable").tolist():
            if found and ahead[found[-1][0]] - ahead[wheel] < _ABREAST_M:
                found[-1].append(wheel)
            else:
                found.append([wheel])
        return [tuple(self.wheel_names[wheel] for wheel in sorted(one)) for one in found]

    def impact_jacobian(
        self, q: npt.ArrayLike, angle: float, wheels: Sequence[str] = ("front_left", "front_right")
    ) -> FloatArray:
        """Rows (len(wheels), nv) that give each contact point's approach speed to an inclined obstacle plane.

        The constrained direction is (sin angle, 0, -cos angle) in the world (MacMahon 2016 (3.24), (5.20)); spin does
        not enter, since the contact point lies on that line through the wheel centre.

        Args:
            q: configuration (nq,).
            angle: inclination of the plane to the ground [rad].
            wheels: names, one row each.

        Raises:
            ValueError: an unknown wheel name, or an angle that is not finite.

        Example:
            A rover that drives forward approaches a plane at 60 degrees with sin(60 degrees) of its speed:

            >>> from models.rover import rcp
            >>> rover = rcp()
            >>> rows = rover.impact_jacobian(rover.neutral(), math.radians(60.0))
            >>> rows.shape, rows[:, 0].round(3).tolist()
            ((2, 15), [0.866, 0.866])
        """
        unknown = [name for name in wheels if name not in self.wheel_names]
        if unknown:
            raise ValueError(f"wheels {unknown} are not of this rover, which has {list(self.wheel_names)}")
        inclination = float(angle)
        if not math.isfinite(inclination):
            raise ValueError(f"angle is {angle} rad, allowed: finite")
        bodies = np.array([self.chain.wheel_body[self.wheel_names.index(name)] for name in wheels], dtype=np.int64)
        rows = np.zeros((len(wheels), self.nv))
        queries.approach_rows(self.chain, self._configuration(q), bodies, inclination, self._work, rows)
        return rows

    def urdf(self) -> str:
        """The model as URDF: locked joints are fixed joints there, coupled ones are free."""
        return to_urdf(self.tree)

    def _configuration(self, q: npt.ArrayLike) -> FloatArray:
        array = _finite("q", q, (self.nq,))
        if abs(array[3:7] @ array[3:7] - 1.0) > 1e-6:
            raise ValueError(f"q[3:7] is a quaternion of norm {np.linalg.norm(array[3:7]):.9g}, allowed: 1")
        if self.chain.loops is not None:
            self._spread(array)
        return array

    def _spread(self, q: FloatArray) -> FloatArray:
        """Configuration of all joints that turn. Raises ValueError: the loops do not close at these angles."""
        out = np.zeros(1 + self.chain.speed_parent.size)
        queries.spread_configuration(self.chain, q, out)
        if self.chain.loops is not None:
            place_bodies(self.chain, out, self._work)
            if not np.all(np.isfinite(out)):
                names = ", ".join(closure.name for closure in self.tree.closures)
                angles = ", ".join(f"{name} {a:.6g}" for name, a in zip(self.joint_names, q[7:].tolist(), strict=True))
                raise ValueError(
                    f"rover {self.tree.name}: its loops ({names}) do not close at {angles} rad, allowed: angles that "
                    "its rods reach"
                )
        return out

    def _wrenches(self, wrenches: npt.ArrayLike | None) -> FloatArray:
        shape = (len(self.wheel_names), 6)
        return np.zeros(shape) if wrenches is None else _finite("wrenches", wrenches, shape)

    def _speeds(self, name: str, values: npt.ArrayLike) -> FloatArray:
        return _finite(name, values, (self.nv,))


def _finite(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, needed: {shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} holds values that are not finite: {array}, allowed: finite numbers")
    return array
