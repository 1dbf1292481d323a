"""Static stability: how far a rover may be tilted before it tips over an edge of its support polygon."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, QhullError

from models.kernels.compiled import FloatArray
from models.statics.standing import StandingEquations

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
