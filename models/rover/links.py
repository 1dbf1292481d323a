"""A rover as description files have it: links with frames of their own, joints of every kind, and shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from models.kernels.compiled import FloatArray

# A shape that stands for the inertia of a body, and is not its outline.
EQUIVALENT = "equivalent_box"
FIXED, TURNING, SLIDING = "fixed", ("continuous", "revolute"), "prismatic"
# Limits that a URDF wants of a prismatic joint which has none [m].
ENDLESS = 1e9
# What the links of a rover can be at most.
MOST_LINKS = 500


class Shape(NamedTuple):
    """A shape of a link.

    Attributes:
        kind: box, cylinder (along z), sphere, or the name of another.
        size: sides of a box; radius and length of a cylinder; radius of a sphere [m]; empty for others.
        origin: its middle [m] in the link's frame.
        rotation: link axes from its own axes (3, 3).
        name: of the shape; "" for none.
    """

    kind: str
    size: tuple[float, ...]
    origin: FloatArray
    rotation: FloatArray
    name: str = ""


class Link(NamedTuple):
    """A rigid body of a file.

    Attributes:
        name: unique.
        mass: [kg]; None: the file says nothing of it.
        com: centre of mass [m] in the link's frame.
        inertia: (3, 3) about it, in the link's axes [kg m^2].
        shapes: that collide, or else those that are seen.
    """

    name: str
    mass: float | None
    com: FloatArray
    inertia: FloatArray
    shapes: tuple[Shape, ...]


class LinkJoint(NamedTuple):
    """A joint of a file.

    Attributes:
        name: unique.
        kind: fixed, continuous, revolute, prismatic, or another, which no rover of ours can have.
        parent: name of the carrying link.
        child: name of the carried link, whose frame is on the joint.
        origin: [m] in the parent's frame.
        rotation: parent axes from child axes (3, 3) at angle zero.
        axis: in the child's frame, of any length.
        stops: lower and upper angle [rad], or way [m] of a prismatic one; or None.
        follows: joint, ratio and offset [rad, m] of a coupling, or None.
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: FloatArray
    rotation: FloatArray
    axis: FloatArray
    stops: tuple[float, float] | None = None
    follows: tuple[str, float, float] | None = None


class LinkBall(NamedTuple):
    """A ball joint that closes a loop: a point of one link stays on a point of another.

    Attributes:
        name: unique.
        link: a link.
        place: the point [m] in its frame.
        other: the other link.
        other_place: the point [m] in that one's frame.
        dependent: the three joints that follow from it; empty: they are chosen.
    """

    name: str
    link: str
    place: FloatArray
    other: str
    other_place: FloatArray
    dependent: tuple[str, ...] = ()


class LinkedRover(NamedTuple):
    """A rover of a file: name, links and joints, what was left out of it, in words, and balls that close loops."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[LinkJoint, ...]
    left_out: tuple[str, ...] = ()
    balls: tuple[LinkBall, ...] = ()


def rotation_of(roll: float, pitch: float, yaw: float) -> FloatArray:
    """Rotation matrix (3, 3) of URDF's angles [rad]: about x, then y, then z of the parent's axes.

    A multiple of a right angle that was rounded to five digits counts as one: 1.5708 is a right angle.
    """
    (cr, sr), (cp, sp), (cy, sy) = (_turn(angle) for angle in (roll, pitch, yaw))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def _turn(angle: float) -> tuple[float, float]:
    """Cosine and sine."""
    quarters = round(angle / (0.5 * np.pi))
    if quarters and abs(angle - quarters * 0.5 * np.pi) < 2e-5:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarters % 4]
    return float(np.cos(angle)), float(np.sin(angle))
