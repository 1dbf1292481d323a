"""A hard profile: level ground, plates, steps and ledges as one line in (x, z), the same at every y.

The line goes forwards, and its left side is open: a face that rises towards the rover has its normal back and up. Faces
may be upright or overhang. What lies behind a plate is a part of the line.

A table of the nearest places, filled one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray, kernel


@kernel
def row_for(found: FloatArray, count: int, column: int, distance: float) -> int:
    """Row for a place: the next one, in a full table that of the farthest; -1 where the place is no nearer than that.

    Args:
        found: (most, columns) of which the first rows are filled.
        count: how many.
        column: of the distances [m].
        distance: of the place [m].
    """
    if count < found.shape[0]:
        return count
    at = 0
    for i in range(1, count):
        if found[i, column] > found[at, column]:
            at = i
    return -1 if found[at, column] <= distance else at


MOST_TOUCHED = 3  # of one wheel: a face and two corners, or three faces
COLUMNS = 4  # gap, normal x, normal z, face
GAP, NORMAL_X, NORMAL_Z, FACE = range(COLUMNS)
_LENGTH = Range(1e-3, math.inf, "m")
_PLACE = Range(-1e4, 1e4, "m")


class Profile(NamedTuple):
    """The line, and what its faces are like.

    Attributes:
        point: (faces + 1, 2) x and z of its corners [m].
        along: (faces, 2) unit vectors.
        length: (faces,) [m].
        friction: (faces,) Coulomb's coefficient of wheels on each.
        restitution: (faces,) of each.
    """

    point: FloatArray
    along: FloatArray
    length: FloatArray
    friction: FloatArray
    restitution: FloatArray


def make_profile(
    points: Sequence[tuple[float, float]], friction: float | Sequence[float], restitution: float | Sequence[float]
) -> Profile:
    """The profile through these corners (x, z) [m].

    Args:
        points: two or more.
        friction: of all faces, or of each.
        restitution: likewise.

    Raises:
        ValueError: fewer than two points, faces shorter than 1 mm, a number out of range, not one number a face.
    """
    point = np.array(points, dtype=np.float64).reshape(-1, 2)
    if len(point) < 2:
        raise ValueError(f"profile has {len(point)} points, allowed: 2 or more")
    step = np.diff(point, axis=0)
    length = np.hypot(step[:, 0], step[:, 1])
    faces = len(length)
    rubbing, bouncing = (np.array(np.broadcast_to(one, faces), dtype=np.float64) for one in (friction, restitution))
    refuse(
        "profile",
        [
            *(problem(f"point[{i}]", value, _PLACE) for i, pair in enumerate(point.tolist()) for value in pair),
            *(problem(f"length of face {i}", value, _LENGTH) for i, value in enumerate(length.tolist())),
            *(problem("friction", value, Range(0.0, math.inf, "")) for value in rubbing.tolist()),
            *(problem("restitution", value, Range(0.0, 1.0, "")) for value in bouncing.tolist()),
        ],
    )
    return Profile(point, step / length[:, np.newaxis], length, rubbing, bouncing)


def moved(profile: Profile, ahead: float, up: float = 0.0) -> Profile:
    """The same so far ahead and up [m]."""
    return profile._replace(point=profile.point + (ahead, up))


@kernel
def touched(profile: Profile, x: float, z: float, radius: float, reach: float, found: FloatArray) -> int:
    """Where a circle touches the profile, or is nearer to it than `reach`.

    A face is touched between its ends. A corner that stands out is touched where both of its faces have ended. Of a
    corner that stands in, both faces are touched.

    Args:
        profile: the line.
        x: of the circle's centre [m].
        z: likewise.
        radius: [m].
        reach: [m].
        found: (MOST_TOUCHED, COLUMNS) gap [m], normal from the profile to the centre, and face; the nearest are kept.

    Returns:
        How many are found.
    """
    count = 0
    faces = profile.length.size
    for face in range(faces):
        tx, tz = profile.along[face, 0], profile.along[face, 1]
        ax, az = x - profile.point[face, 0], z - profile.point[face, 1]
        along, off = tx * ax + tz * az, tx * az - tz * ax
        if 0.0 <= along <= profile.length[face]:
            # deeper than the centre, it is the other side of what stands on the line
            if -radius < off - radius < reach:
                count = _keep(found, count, off - radius, -tz, tx, face)
        elif along > profile.length[face] and face + 1 < faces:
            cx, cz = x - profile.point[face + 1, 0], z - profile.point[face + 1, 1]
            after = profile.along[face + 1, 0] * cx + profile.along[face + 1, 1] * cz
            distance = math.sqrt(cx * cx + cz * cz)
            turn = tx * profile.along[face + 1, 1] - tz * profile.along[face + 1, 0]
            if after < 0.0 and turn < 0.0 and 0.0 < distance < radius + reach:
                count = _keep(found, count, distance - radius, cx / distance, cz / distance, face)
    return count


@kernel
def depth_inside(profile: Profile, face: int, x: float, z: float) -> float:
    """Depth [m] of a point behind a face, 0 where it is not, or where it is nearer to the next one at a corner."""
    depth = _behind(profile, face, x, z)
    if depth <= 0.0:
        return 0.0
    for corner in (face, face + 1):
        if 0 < corner < profile.length.size:
            (ax, az), (bx, bz) = profile.along[corner - 1], profile.along[corner]
            other = corner - 1 if corner == face else corner
            if ax * bz - az * bx < 0.0 and 0.0 < _behind(profile, other, x, z) < depth:
                return 0.0
    return depth


@kernel
def _behind(profile: Profile, face: int, x: float, z: float) -> float:
    """Depth [m] of a point behind a face, between its ends; else 0."""
    tx, tz = profile.along[face]
    ax, az = x - profile.point[face, 0], z - profile.point[face, 1]
    return float(tz * ax - tx * az) if 0.0 <= tx * ax + tz * az <= profile.length[face] else 0.0


@kernel
def _keep(found: FloatArray, count: int, gap: float, nx: float, nz: float, face: int) -> int:
    """Add a place, in the stead of the farthest where there are too many."""
    at = row_for(found, count, GAP, gap)
    if at >= 0:
        found[at, GAP], found[at, NORMAL_X], found[at, NORMAL_Z], found[at, FACE] = gap, nx, nz, float(face)
    return min(count + 1, found.shape[0])
