"""A rover as description files have it: links that have their own frames, joints of every kind, shapes, and places."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
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
# Of a name: a MAT file takes 63 with that of the field before it (set_servo_angle_rad).
_MOST_LETTERS = 40
_NAME_RULE = f"up to {_MOST_LETTERS} ASCII letters, digits, space and _ . : + - /, letters and digits that differ"


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
        stops: lower and upper angle [rad], or distance [m] of a prismatic one; or None.
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


def joint_problems(joint: LinkJoint) -> Iterator[str]:
    """What is wrong with a joint, whatever it joins: its kind, its axis, the order of its limits."""
    what = f"joint {joint.name}"
    if joint.kind not in (FIXED, SLIDING, *TURNING):
        yield (
            f"{what} is {joint.kind or 'of no type'}, allowed: revolute, continuous, prismatic or fixed; rovers have "
            "no other joints here: make it fixed where it stands"
        )
    elif joint.kind != FIXED and not np.any(joint.axis):
        yield f"{what}: axis is {joint.axis.tolist()}, allowed: a direction"
    if joint.stops is not None and not joint.stops[0] < joint.stops[1]:
        allowed = f'the lower one first; of a joint that does not move, type="{FIXED}"'
        yield f"{limits_in_words(joint)}, allowed: {allowed}"


def limits_in_words(joint: LinkJoint) -> str:
    """Name and limits of a joint that has them."""
    low, high = joint.stops or (-np.inf, np.inf)
    return f"joint {joint.name}: limits {low:g} to {high:g} {'m' if joint.kind == SLIDING else 'rad'}"


@contextmanager
def added_to(problems: list[str]) -> Iterator[None]:
    """What is wrong inside is added to the problems, so that all of them are reported at once."""
    try:
        yield
    except ValueError as error:
        problems += [one for one in [str(error)] if one not in problems]


def refuse(problems: Iterable[str]) -> None:
    """Raise ValueError with all problems, if there are any."""
    if problems:
        raise ValueError("; ".join(problems))


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


def with_safe_names(linked: LinkedRover) -> tuple[LinkedRover, dict[str, str]]:
    """The same rover, its names such that columns, files and terminals take them, and the new ones by the old ones.

    A name stays if it follows the rule. Names are columns of a record and of its exports, where all but letters and
    digits is `_`, so no two may be the same in that form.

    Example:
        >>> with_safe_names(LinkedRover("cart", (), ()))[1]
        {}
    """
    links = _renamed([link.name for link in linked.links])
    joints = _renamed([joint.name for joint in linked.joints])
    balls = _renamed([ball.name for ball in linked.balls])
    changed = {**links, **joints, **balls}
    name = _renamed([linked.name]).get(linked.name, linked.name)
    if not changed:
        return linked._replace(name=name), {}

    def link(old: str) -> str:
        return links.get(old, old)

    def joint(old: str) -> str:
        return joints.get(old, old)

    shown = ", ".join(f"{old[:_MOST_LETTERS]!r} is {new}" for old, new in changed.items())
    renamed = LinkedRover(
        name,
        tuple(one._replace(name=link(one.name)) for one in linked.links),
        tuple(
            one._replace(
                name=joint(one.name),
                parent=link(one.parent),
                child=link(one.child),
                follows=one.follows and (joint(one.follows[0]), *one.follows[1:]),
            )
            for one in linked.joints
        ),
        (*linked.left_out, f"names that were changed ({_NAME_RULE}): {shown}"),
        tuple(
            one._replace(
                name=balls.get(one.name, one.name),
                link=link(one.link),
                other=link(one.other),
                dependent=tuple(map(joint, one.dependent)),
            )
            for one in linked.balls
        ),
    )
    return renamed, changed


def _renamed(names: Iterable[str]) -> dict[str, str]:
    """The names of one kind that do not follow the rule, and what they are here. Those that do keep theirs."""
    names = list(dict.fromkeys(names))
    taken: set[str] = set()
    wrong = []
    for name in names:
        form = re.sub("[^0-9A-Za-z]", "_", name)
        if re.fullmatch(rf"[0-9A-Za-z_/.][0-9A-Za-z_ .:+/-]{{0,{_MOST_LETTERS - 1}}}", name) and form not in taken:
            taken.add(form)
        else:
            wrong.append(name)
    changed = {}
    for name in wrong:
        plain = unicodedata.normalize("NFKD", name.replace("\u00df", "ss")).encode("ascii", "ignore").decode()
        form = re.sub("[^0-9A-Za-z]+", "_", plain).strip("_")[: _MOST_LETTERS - 4] or "name"
        forms = (form, *(f"{form}_{number}" for number in range(2, 2 * MOST_LINKS)))
        changed[name] = next(new for new in forms if new not in taken)
        taken.add(changed[name])
    return changed


class _LinkPose(NamedTuple):
    """A link in the base frame, all joints at zero: place [m], base axes from its axes."""

    origin: FloatArray
    axes: FloatArray


def carriers(linked: LinkedRover) -> dict[str, LinkJoint]:
    """The joint that carries each link. Raises ValueError: joints that are none of a rover, or a loop."""
    links, problems = [link.name for link in linked.links], []
    for kind, names in (("link", links), ("joint", [joint.name for joint in linked.joints])):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            problems.append(f"{kind} named twice: {', '.join(twice[:5])}")
    carrier: dict[str, LinkJoint] = {}
    for joint in linked.joints:
        problems += joint_problems(joint)
        strangers = sorted({joint.parent, joint.child} - set(links))
        if strangers:
            problems.append(f"joint {joint.name}: no link {', '.join(strangers)}, allowed: links of the file")
        if joint.child in carrier:
            problems.append(
                f"link {joint.child}: carried by {carrier[joint.child].name} and by {joint.name}, which closes a loop; "
                "allowed: one joint; cut the loop, and tell it by <loop> (docs/how-to/bring-your-own-rover.md)"
            )
        carrier[joint.child] = joint
    refuse(problems)
    return carrier


def place_links(linked: LinkedRover, carrier: dict[str, LinkJoint]) -> tuple[dict[str, _LinkPose], list[str]]:
    """Every link in the frame of the first, and their names, each after what carries it. Raises ValueError: a loop."""
    roots = [link.name for link in linked.links if link.name not in carrier]
    if len(roots) != 1:
        found = f"links that no joint carries: {', '.join(roots[:5]) or 'none'}"
        raise ValueError(f"{found}, allowed: one, the rover's body; joints close no loop")
    placed = {roots[0]: _LinkPose(np.zeros(3), np.eye(3))}
    order = list(roots)
    children: dict[str, list[LinkJoint]] = {}
    for joint in linked.joints:
        children.setdefault(joint.parent, []).append(joint)
    for name in order:  # which grows
        origin, axes = placed[name]
        for joint in children.get(name, ()):
            placed[joint.child] = _LinkPose(origin + axes @ joint.origin, axes @ joint.rotation)
            order.append(joint.child)
    lost = sorted({link.name for link in linked.links} - set(order))
    if lost:
        raise ValueError(f"joints close a loop: {', '.join(lost[:5])}, allowed: every link carried by {roots[0]}")
    return placed, order


def join_masses(parts: Sequence[tuple[float, FloatArray, FloatArray]]) -> tuple[float, FloatArray, FloatArray]:
    """Mass, centre of mass and inertia of parts that are one body, by Steiner (MacMahon 2016 (4.4)-(4.5)).

    Args:
        parts: of each the mass [kg], the centre of mass (3,) [m], and the inertia (3, 3) about it [kg m^2]; all in one
            frame.
    """
    if len(parts) == 1:
        return parts[0]
    mass = math.fsum(part[0] for part in parts)
    com: FloatArray = sum((one * place for one, place, _ in parts), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for one, place, own in parts:
        arm = place - com
        inertia += own + one * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return mass, com, inertia
