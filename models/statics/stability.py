"""Static stability: how far a rover may be tilted before it tips over an edge of its support polygon."""

from __future__ import annotations

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from models.kernels.compiled import FloatArray
from models.statics.standing import Standing


def stability_margin(standing: Standing) -> float:
    """The force-angle margin of a rover at rest [rad]: least over the edges of its support polygon.

    The polygon joins the outermost contact points, seen along gravity. The angle at an edge lies between gravity and
    the perpendicular from the centre of mass to that edge, both seen along the edge (Papadopoulos and Rey, 1996). The
    ground could be turned by so much about that edge before the rover tips, its joints held. Below 0: it tips now.

    Args:
        standing: of three contacts or more.

    Raises:
        ValueError: fewer contacts, or all of them in one line.
    """
    corners = _outermost(standing.point, standing.down)
    edges = np.roll(corners, -1, axis=0) - corners
    along = edges / np.linalg.norm(edges, axis=1, keepdims=True)
    reach = corners - standing.centre
    across = reach - (reach * along).sum(axis=1, keepdims=True) * along
    pull = standing.down - (along @ standing.down)[:, None] * along
    # counter-clockwise seen from above: a centre inside lies to the left of each edge
    sines, cosines = (np.cross(across, pull) * along).sum(axis=1), (pull * across).sum(axis=1)
    return float(np.arctan2(sines, cosines).min())


def _outermost(points: FloatArray, down: FloatArray) -> FloatArray:
    """The corners (n, 3) of the polygon around points, counter-clockwise seen against `down`."""
    up = -down
    left = np.cross(up, np.eye(3)[int(np.abs(up).argmin())])
    left /= np.linalg.norm(left)
    seen = points @ np.column_stack([np.cross(left, up), left])
    if len(points) < 3:
        raise ValueError(f"support polygon: found {len(points)} contacts, allowed: 3 or more")
    try:
        return np.asarray(points[ConvexHull(seen - seen.mean(axis=0)).vertices])
    except QhullError:
        raise ValueError("support polygon: all contacts lie in one line, allowed: a polygon") from None
