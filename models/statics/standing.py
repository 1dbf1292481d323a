"""Equilibrium of a rover whose wheels stand on given planes, as equations in all three forces of each contact.

The virtual motions are the six of the base and one of each suspension joint. The drives turn the wheels with whatever
torque it takes: inside the rover it does no work, and what it is follows from the force along the ground times the
wheel's radius. So a rover with as many wheels as three more than its joints has three equations more than wheels, and
three unknowns a wheel: how the wheels share the friction is free.

A run asks for a few dozen such equations, after it: numpy is quick enough, and no tick waits for one more kernel.

Static stability: how far a rover may be tilted before it tips over an edge of its support polygon.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

from models.gravity import EARTH_GRAVITY
from models.kernels.compiled import FloatArray, IntArray
from models.rover.reduction import Chain
from models.rover.rover import Rover
from models.statics.balance import suspension_joints

_NORMAL_LENGTH = 1e-6  # a normal's length may differ from 1 by this
_ALONG_AXLE = 1e-3  # sine of the least angle between a normal and the axle


class StandingEquations(NamedTuple):
    """Equations of the equilibrium of a rover at one configuration: normal^T N + ahead^T T + left^T S = load.

    N, T and S are the forces (wheels,) of the ground on the wheels along its normal, ahead and to the left [N]. The
    axes ahead lie in the wheels' planes.

    Attributes:
        point: (wheels, 3) where each wheel touches, world [m].
        normal: (wheels, equations) of a unit force along the normal.
        ahead: (wheels, equations) of one in the direction ahead.
        left: (wheels, equations) of one to the left.
        load: (equations,) what the contacts must bear: weight, joint torques, pull. Forces [N], moments [N m].
        weight: of the rover [N].
        centre: (3,) of its mass, world [m].
        down: (3,) direction of gravity, world.
    """

    point: FloatArray
    normal: FloatArray
    ahead: FloatArray
    left: FloatArray
    load: FloatArray
    weight: float
    centre: FloatArray
    down: FloatArray

    def only(self, wheels: npt.ArrayLike) -> StandingEquations:
        """The same on some of the wheels: (wheels,) true where a wheel bears."""
        kept = np.asarray(wheels, dtype=bool)
        return self._replace(
            point=self.point[kept], normal=self.normal[kept], ahead=self.ahead[kept], left=self.left[kept]
        )


def stand(
    rover: Rover,
    q: npt.ArrayLike,
    normal: npt.ArrayLike = (0.0, 0.0, 1.0),
    *,
    gravity: Sequence[float] = EARTH_GRAVITY,
    torque: Mapping[str, float] | None = None,
    held: Collection[str] = (),
    pull: npt.ArrayLike = (0.0,) * 6,
) -> StandingEquations:
    """The equations of a rover that stands, or moves so slowly that only weight counts.

    Args:
        rover: with its locks.
        q: configuration (nq,).
        normal: of the ground, one (3,) or at each wheel (wheels, 3), unit vectors, world axes. Each wheel touches with
            the point of its rim that lies farthest against the normal.
        gravity: [m/s^2], world axes.
        torque: on suspension joints by name [N m]; none on the others.
        held: names of suspension joints that their servos hold, with whatever torque it takes.
        pull: (6,) force [N] and moment [N m] on the base, in its axes, about its origin.

    Raises:
        ValueError: a wrong shape, a number that is not finite, a normal that is no unit vector or lies along an axle,
            no gravity, or a joint that is no suspension joint of this rover.
    """
    tree_q = rover.tree_configuration(q)
    normals = np.broadcast_to(np.asarray(normal, dtype=np.float64), (len(rover.wheel_names), 3))
    down = np.asarray(gravity, dtype=np.float64)
    towed = np.asarray(pull, dtype=np.float64)
    _refuse(normals, down, towed)
    joints = _joints(rover, torque or {}, held)

    chain, placed = rover.chain, _place(rover.chain, tree_q)
    wheels = chain.wheel_body
    axles = placed.axis[wheels]
    inwards = normals - (normals * axles).sum(axis=1, keepdims=True) * axles
    lengths = np.linalg.norm(inwards, axis=1, keepdims=True)
    if lengths.min() < _ALONG_AXLE:
        wheel = rover.wheel_names[int(lengths.argmin())]
        raise ValueError(f"normal of the ground at wheel {wheel} lies along its axle, allowed: a normal across it")
    points = placed.origin[wheels] - chain.wheel_radius[:, None] * inwards / lengths
    ahead = np.cross(axles, normals)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)

    equations = [*range(6), *joints]
    work = [one[equations] for one in _work(chain, placed, wheels, points)]
    sides = (normals, ahead, np.cross(normals, ahead))
    bodies = np.flatnonzero(chain.mass)
    centres = placed.origin[bodies] + np.einsum("bij,bj->bi", placed.axes[bodies], chain.com[bodies])
    load = np.zeros(len(equations))
    for body, one in zip(bodies, _work(chain, placed, bodies, centres), strict=True):
        load -= chain.mass[body] * one[equations] @ down
    load[:3] -= placed.axes[0] @ towed[:3]
    load[3:6] -= placed.axes[0] @ towed[3:]
    for place, joint in enumerate(joints, start=6):
        load[place] -= (torque or {}).get(rover.tree_joint_names[joint - 6], 0.0)
    mass, strength = float(chain.mass.sum()), float(np.linalg.norm(down))
    up, forward, aside = (np.array([row @ f for row, f in zip(work, side, strict=True)]) for side in sides)
    return StandingEquations(
        point=tree_q[:3] + points,
        normal=up,
        ahead=forward,
        left=aside,
        load=load,
        weight=mass * strength,
        centre=tree_q[:3] + chain.mass[bodies] @ centres / mass,
        down=down / strength,
    )


def _refuse(normals: FloatArray, gravity: FloatArray, pull: FloatArray) -> None:
    if not np.all(np.abs(np.linalg.norm(normals, axis=1) - 1.0) < _NORMAL_LENGTH):
        raise ValueError(f"normal is {normals.tolist()}, allowed: unit vectors")
    strength = float(np.linalg.norm(gravity)) if gravity.shape == (3,) else math.nan
    if not (math.isfinite(strength) and strength > 0.0):
        raise ValueError(f"gravity is {gravity.tolist()} m/s^2, allowed: 3 finite numbers, not all 0")
    if pull.shape != (6,) or not np.all(np.isfinite(pull)):
        raise ValueError(f"pull is {pull.tolist()}, allowed: 6 finite numbers")


def _joints(rover: Rover, torque: Mapping[str, float], held: Collection[str]) -> list[int]:
    """Tree speeds of the suspension joints that are free to turn."""
    names = {rover.tree_joint_names[k - 6]: k for k in suspension_joints(rover)}
    if unknown := sorted({*torque, *held} - set(names)):
        raise ValueError(
            f"joints {', '.join(unknown)} are not suspension joints of rover {rover.tree.name}, allowed: "
            f"{', '.join(names) or 'none'}"
        )
    if wrong := {name: value for name, value in torque.items() if not math.isfinite(value)}:
        raise ValueError(f"torque is {wrong} N m, allowed: finite numbers")
    return [k for name, k in names.items() if name not in held]


class _Placed(NamedTuple):
    """Bodies in world axes, counted from the base's origin: origin and joint axis (bodies, 3), axes (bodies, 3, 3)."""

    origin: FloatArray
    axis: FloatArray
    axes: FloatArray


def _place(chain: Chain, tree_q: FloatArray) -> _Placed:
    count = chain.parent.size
    origin, axis, axes = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros((count, 3, 3))
    axes[0] = Rotation.from_quat(tree_q[3:7]).as_matrix()
    for i in range(1, count):
        carrier, at = axes[chain.parent[i]], tree_q[6 + i]
        origin[i] = origin[chain.parent[i]] + carrier @ chain.origin[i]
        axis[i] = carrier @ chain.carried_axis[i]
        if _slides(chain, i):
            origin[i] += at * axis[i]
            at = 0.0
        axes[i] = carrier @ (
            chain.rotation[i] + math.sin(at) * chain.sideways[i] + (1.0 - math.cos(at)) * chain.inwards[i]
        )
    return _Placed(origin, axis, axes)


def _slides(chain: Chain, body: int) -> bool:
    return chain.slides is not None and chain.slides[body] == 1


def _work(chain: Chain, placed: _Placed, bodies: IntArray, points: FloatArray) -> FloatArray:
    """Generalised forces (n, speeds, 3), N^T J^T, of unit forces along the world's axes at points (n, 3) of bodies."""
    rows = np.zeros((len(points), chain.speed_parent.size, 3))
    turned = np.cross(placed.axis, points[:, None] - placed.origin)
    for row, loaded, (x, y, z), levers in zip(rows, bodies.tolist(), points.tolist(), turned, strict=True):
        body, row[:3], row[3:6] = loaded, np.eye(3), [(0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)]
        while body > 0:
            row[5 + body] = placed.axis[body] if _slides(chain, body) else levers[body]
            body = int(chain.parent[body])
    for dependent, source, ratio in zip(chain.dependent, chain.source, chain.ratio, strict=True):
        rows[:, source] += ratio * rows[:, dependent]
    return rows


# So near to the polygon's edge, seen along gravity, a contact is on it [m].
_ON_EDGE = 1e-6


def stability_margin(standing: StandingEquations) -> float:
    """The force-angle margin of a rover at rest [rad]: least over the edges of its support polygon.

    The polygon joins the outermost contact points, seen along gravity. A contact between two others in one line there,
    such as a middle wheel on the ground behind a front wheel on an obstacle, is a corner too: otherwise an edge would
    lead through the air over it, and the rover may turn about either part. The angle at an edge lies between gravity
    and the perpendicular from the centre of mass to that edge, both seen along the edge (Papadopoulos and Rey, 1996).
    The ground could be turned by so much about that edge before the rover tips, its joints held. Below 0: it tips now.

    Args:
        standing: of three contacts or more.

    Raises:
        ValueError: fewer contacts, or all of them in one line.
    """
    reach, along = _edges(standing)
    across = reach - (reach * along).sum(axis=1, keepdims=True) * along
    pull = standing.down - (along @ standing.down)[:, None] * along
    # counter-clockwise seen from above: a centre inside lies to the left of each edge
    sines, cosines = (np.cross(across, pull) * along).sum(axis=1), (pull * across).sum(axis=1)
    return float(np.arctan2(sines, cosines).min())


def tipping_slope(standing: StandingEquations, towards: npt.ArrayLike) -> float:
    """Angle [rad] by which gravity may lean in one direction before the rover, its joints held, tips over an edge.

    Over the edges of `stability_margin`: the first about which the weight no longer holds. Below 0: it tips now.

    Args:
        standing: of three contacts or more.
        towards: (3,) where gravity leans to, world, a unit vector across `standing.down`.

    Raises:
        ValueError: fewer contacts, or all of them in one line.
    """
    reach, along = _edges(standing)
    holds, turns = ((np.cross(reach, one) * along).sum(axis=1) for one in (standing.down, np.asarray(towards)))
    return float(np.arctan2(holds, -turns).min())


def _edges(standing: StandingEquations) -> tuple[FloatArray, FloatArray]:
    """Of the support polygon, counter-clockwise: from the centre of mass to each edge [m], and its direction (n, 3)."""
    corners = _outermost(standing.point, standing.down)
    edges = np.roll(corners, -1, axis=0) - corners
    return corners - standing.centre, edges / np.linalg.norm(edges, axis=1, keepdims=True)


def _outermost(points: FloatArray, down: FloatArray) -> FloatArray:
    """The corners (n, 3) of the polygon around points, counter-clockwise seen against `down`."""
    up = -down
    left = np.cross(up, np.eye(3)[int(np.abs(up).argmin())])
    left /= np.linalg.norm(left)
    seen = points @ np.column_stack([np.cross(left, up), left])
    if len(points) < 3:
        raise ValueError(f"support polygon: found {len(points)} contacts, allowed: 3 or more")
    seen -= seen.mean(axis=0)
    try:
        hull = ConvexHull(seen)
    except QhullError:
        raise ValueError("support polygon: all contacts lie in one line, allowed: a polygon") from None
    beyond = seen @ hull.equations[:, :2].T + hull.equations[:, 2]  # of each edge, negative inside
    outermost = np.flatnonzero(beyond.max(axis=1) >= -_ON_EDGE)
    x, y = (seen[outermost] - seen[hull.vertices].mean(axis=0)).T
    return np.asarray(points[outermost[np.argsort(np.arctan2(y, x))]])
