"""The public face of a reduced rover."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from models.compiled import FloatArray, IntArray, kernel
from models.rover.dynamics import Work, fill_bias, fill_mass_matrix, make_work, place_bodies
from models.rover.factor import add_scaled, factorise, solve
from models.rover.points import approach_row, body_position, project
from models.rover.reduction import Chain, reduce
from models.rover.tree import Tree
from models.rover.urdf import to_urdf

EARTH_GRAVITY = (0.0, 0.0, -9.81)


class Rover:
    """A reduced multibody rover with a free-flying base.

    Configuration q (nq,): x y z [m] of the base origin in the world, quaternion qx qy qz qw (world from base), then
    joint angles [rad] in URDF order. Velocity v (nv,): base linear velocity [m/s] then angular [rad/s], both in base
    axes, then joint speeds [rad/s]. World frame: x forward, y left, z up.

    Attributes:
        tree: the full description, locks included.
        chain: the reduced arrays that kernels take.
        nq: number of configuration values.
        nv: number of speeds.
        joint_names: free joints in the order of q and v.
        wheel_names: wheels in the order of `wrenches` and `wheel_positions`.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.chain: Chain
        self.chain, self.joint_names = reduce(tree)
        self.nv: int = 6 + len(self.joint_names)
        self.nq: int = self.nv + 1
        self.wheel_names: tuple[str, ...] = tuple(wheel.name for wheel in tree.wheels)
        self._work: Work = make_work(self.chain)

    def neutral(self) -> FloatArray:
        """Configuration (nq,) with the base frame on the world frame and every joint at zero."""
        q = np.zeros(self.nq)
        q[6] = 1.0
        return q

    def mass_matrix(self, q: npt.ArrayLike) -> FloatArray:
        """Joint-space inertia M~ = N^T M N (nv, nv), Cyril 1993 (21), by the composite-rigid-body algorithm."""
        _mass_matrix(self.chain, self._configuration(q), self._work)
        lower = np.tril(self._work.mass_matrix)
        full: FloatArray = lower + np.tril(lower, -1).T
        return full

    def bias(self, q: npt.ArrayLike, v: npt.ArrayLike, gravity: Sequence[float] = EARTH_GRAVITY) -> FloatArray:
        """Coriolis, centrifugal and gravity force (nv,) with gravity [m/s^2] in world axes."""
        work = self._work
        _bias(self.chain, self._configuration(q), self._speeds("v", v), _finite("gravity", gravity, (3,)), work)
        return work.rhs.copy()

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
        shape = (len(self.wheel_names), 6)
        pushes = np.zeros(shape) if wrenches is None else _finite("wrenches", wrenches, shape)
        work = self._work
        _forward(
            self.chain,
            self._configuration(q),
            self._speeds("v", v),
            self._speeds("tau", tau),
            pushes,
            _finite("gravity", gravity, (3,)),
            work,
        )
        return work.rhs.copy()

    def wheel_positions(self, q: npt.ArrayLike) -> FloatArray:
        """Wheel centres (wheels, 3) [m] in the world frame."""
        out = np.zeros((len(self.wheel_names), 3))
        _wheel_positions(self.chain, self._configuration(q), self._work, out)
        return out

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
        """
        unknown = [name for name in wheels if name not in self.wheel_names]
        if unknown:
            raise ValueError(f"wheels {unknown} are not of this rover, which has {list(self.wheel_names)}")
        inclination = float(angle)
        if not math.isfinite(inclination):
            raise ValueError(f"angle is {angle} rad, allowed: finite")
        bodies = np.array([self.chain.wheel_body[self.wheel_names.index(name)] for name in wheels], dtype=np.int64)
        rows = np.zeros((len(wheels), self.nv))
        _approach_rows(self.chain, self._configuration(q), bodies, inclination, self._work, rows)
        return rows

    def urdf(self) -> str:
        """The model computed with, as URDF; locked joints are fixed joints there."""
        return to_urdf(self.tree)

    def _configuration(self, q: npt.ArrayLike) -> FloatArray:
        array = _finite("q", q, (self.nq,))
        if abs(array[3:7] @ array[3:7] - 1.0) > 1e-6:
            raise ValueError(f"q[3:7] is a quaternion of norm {np.linalg.norm(array[3:7]):.9g}, allowed: 1")
        return array

    def _speeds(self, name: str, values: npt.ArrayLike) -> FloatArray:
        return _finite(name, values, (self.nv,))


def _finite(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, needed: {shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} holds values that are not finite: {array}")
    return array


@kernel
def _mass_matrix(chain: Chain, q: FloatArray, work: Work) -> None:
    place_bodies(chain, q, work)
    fill_mass_matrix(chain, work)


@kernel
def _bias(chain: Chain, q: FloatArray, v: FloatArray, gravity: FloatArray, work: Work) -> None:
    place_bodies(chain, q, work)
    fill_bias(chain, v, gravity, work)


@kernel
def _forward(
    chain: Chain,
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    wrenches: FloatArray,
    gravity: FloatArray,
    work: Work,
) -> None:
    place_bodies(chain, q, work)
    fill_bias(chain, v, gravity, work)
    fill_mass_matrix(chain, work)
    for a in range(tau.size):
        work.rhs[a] = tau[a] - work.rhs[a]
    for k in range(wrenches.shape[0]):
        w = wrenches[k]
        force, moment = (w[0], w[1], w[2]), (w[3], w[4], w[5])
        project(chain, work, chain.wheel_body[k], force, moment, (0.0, 0.0, 0.0), work.row)
        add_scaled(chain.speed_parent, work.rhs, work.row, 5 + chain.wheel_body[k], 1.0)
    factorise(chain.speed_parent, work.mass_matrix)
    solve(chain.speed_parent, work.mass_matrix, work.rhs)


@kernel
def _wheel_positions(chain: Chain, q: FloatArray, work: Work, out: FloatArray) -> None:
    place_bodies(chain, q, work)
    for k in range(out.shape[0]):
        out[k, 0], out[k, 1], out[k, 2] = body_position(q, work, chain.wheel_body[k])


@kernel
def _approach_rows(chain: Chain, q: FloatArray, bodies: IntArray, angle: float, work: Work, rows: FloatArray) -> None:
    place_bodies(chain, q, work)
    for k in range(bodies.size):
        approach_row(chain, work, bodies[k], angle, rows[k])
