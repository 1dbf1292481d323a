"""Outlines of bodies and wheels in the plane of a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hil.analysis.film.skeleton import Floats, Poses
from models.rover.tree import Body, WheelMount

_SPOKES = 5
_ROUND = np.linspace(0.0, 2.0 * math.pi, 48, endpoint=False)


def body_outline(body: Body, placed: Poses, flat: Sequence[int]) -> Floats:
    """Corners (4, 2) of a body's box through its centre of mass [m].

    Args:
        body: of the rover.
        placed: the rover.
        flat: the axes of the picture: 0 and 2 from the side, 0 and 1 from above.
    """
    half = 0.5 * np.array(body.size or body.box)
    signs = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    corners = np.tile(np.array(body.com), (4, 1))
    corners[:, flat] += signs * half[list(flat)]
    return (placed.origin[body.name] + corners @ placed.axes[body.name].T)[:, flat]


def rim_outline(wheel: WheelMount, radius_m: float, placed: Poses, side: bool) -> Floats:
    """Corners of a wheel without grousers (n, 2) [m]: of a cylinder, which is round where its axle points at us."""
    flat = [0, 2 if side else 1]
    axle = placed.axes[wheel.body][:, 1]
    towards = np.zeros((len(_ROUND), 3))
    towards[:, flat] = np.column_stack([np.cos(_ROUND), np.sin(_ROUND)])
    along = towards @ axle
    radial = towards - along[:, None] * axle
    radial /= np.maximum(np.linalg.norm(radial, axis=1), 1e-12)[:, None]
    # of each direction in the picture the point of the cylinder that is farthest that way
    farthest = radius_m * radial + 0.5 * wheel.width * np.sign(along)[:, None] * axle
    return (placed.origin[wheel.body] + farthest)[:, flat]


def disc(centre: Floats, radius_m: float) -> Floats:
    """Corners of a disc (n, 2) [m]."""
    return centre + radius_m * np.column_stack([np.cos(_ROUND), np.sin(_ROUND)])


def spoke_lines(wheel: WheelMount, radius_m: float, placed: Poses, flat: Sequence[int], side: bool) -> list[Floats]:
    """Spokes, each (2, 2) [m]; none from above. One ends short, so that turns can be counted."""
    if not side:
        return []
    centre, axes = placed.origin[wheel.body], placed.axes[wheel.body]
    lines = []
    for number in range(_SPOKES):
        angle = 2.0 * math.pi * number / _SPOKES
        direction = axes @ np.array([math.sin(angle), 0.0, math.cos(angle)])
        end = centre + radius_m * (0.5 if number == 0 else 0.85) * direction
        lines.append(np.array([centre, end])[:, flat])
    return lines


def grouser_lines(
    wheel: WheelMount, rim_m: float, height_m: float, count: int, placed: Poses, flat: Sequence[int], side: bool
) -> list[Floats]:
    """Grousers, each a line (2, 2) [m]: outwards from the rim, or across the wheel from above.

    Args:
        wheel: of the rover.
        rim_m: radius of the rim.
        height_m: over the rim; below 0: marks inside it.
        count: of them.
        placed: the rover.
        flat: the axes of the picture.
        side: it is seen from the side.
    """
    centre, axes = placed.origin[wheel.body], placed.axes[wheel.body]
    aside = 0.5 * wheel.width * axes[:, 1]
    lines = []
    for number in range(count):
        angle = 2.0 * math.pi * number / count
        direction = axes @ np.array([math.sin(angle), 0.0, math.cos(angle)])
        if side:
            lines.append(np.array([centre + rim_m * direction, centre + (rim_m + height_m) * direction])[:, flat])
        elif direction[2] > 0.0:  # the upper half is seen
            at = centre + max(rim_m, rim_m + height_m) * direction
            lines.append(np.array([at - aside, at + aside])[:, flat])
    return lines
