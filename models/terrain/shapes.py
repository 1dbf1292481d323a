"""Shapes of hard ground for `models.terrain.profile`: a step, a ledge, a compound slope, any line.

Each is a list of corners (x, z) [m] that begins with level ground at z = 0. That ground ends at x = 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from models.checks import Range, problem, refuse

Behind = Literal["plateau", "drop", "nothing"]
Corners = list[tuple[float, float]]

# Level ground before the shape and after it [m]: longer than any run.
LEVEL = 100.0
BEFORE: Corners = [(-LEVEL, 0.0), (0.0, 0.0)]
_LENGTH = Range(1e-3, math.inf, "m")
_STEEPEST = Range(-0.5 * math.pi, 0.5 * math.pi, "rad")


def faces_from(faces: Sequence[tuple[float, float]]) -> Corners:
    """Level ground, then these faces, each of a length [m] and an angle to the horizontal [rad], positive upwards.

    Raises:
        ValueError: a face shorter than 1 mm, or steeper than upright.
    """
    refuse(
        "shape",
        [
            *(problem(f"length of face {i}", length, _LENGTH) for i, (length, _) in enumerate(faces)),
            *(problem(f"angle of face {i}", angle, _STEEPEST) for i, (_, angle) in enumerate(faces)),
        ],
    )
    corners = [*BEFORE]
    for length, angle in faces:
        x, z = corners[-1]
        corners.append((x + length * math.cos(angle), z + length * math.sin(angle)))
    return corners


def step(height: float, angle: float = 0.5 * math.pi) -> Corners:
    """A step of that height [m], whose face has that angle [rad].

    Raises:
        ValueError: a height below 1 mm, an angle that is not between 0 and upright.
    """
    refuse("step", [problem("angle", angle, Range(0.0, 0.5 * math.pi, "rad", open_low=True))])
    return faces_from([(height / math.sin(angle), angle)])


def ledge(height: float, plate_angle: float = 0.0, plate_length: float = 0.5) -> Corners:
    """An upright ledge down by that height [m], with a plate at its foot (MacMahon 2016, App. C.3).

    Args:
        height: of the ledge.
        plate_angle: of the plate to the horizontal [rad], positive where it rises ahead.
        plate_length: along the plate [m].

    Raises:
        ValueError: a height or a length below 1 mm, a plate that is steeper than upright.
    """
    return faces_from([(height, -0.5 * math.pi), (plate_length, plate_angle)])


def ended(corners: Corners, behind: Behind, top: float = 0.0, drop: float = 0.0) -> Corners:
    """A shape with what lies behind it.

    Args:
        corners: of the shape.
        behind: plateau: level ground at the height of the last corner; drop: level ground of a length `top`, an upright
            ledge, and level ground below it; nothing: level ground of that length, after which there is no ground.
        top: length [m]; of a plateau it is not asked.
        drop: height of the ledge [m].

    Raises:
        ValueError: a negative length, or a ledge below 1 mm.
    """
    refuse(
        "shape",
        [
            problem("top", top, Range(0.0, math.inf, "m")),
            problem("drop", drop, _LENGTH) if behind == "drop" else None,
        ],
    )
    x, z = corners[-1]
    if behind == "plateau":
        return [*corners, (x + LEVEL, z)]
    edge = [(x + top, z)] if top > 0.0 else []
    if behind == "nothing":
        return [*corners, *edge]
    return [*corners, *edge, (x + top, z - drop), (x + top + LEVEL, z - drop)]
