"""Which links of a file are the wheels of a rover, and which joints follow from its loops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from models.rover.links import FIXED, TURNING, Link, LinkJoint, Shape, added_to, refuse
from models.rover.ties import Vector, path_to
from models.rover.tree import Tree, WheelMount

if TYPE_CHECKING:
    from models.kernels.compiled import FloatArray

# How far an axle may be from the base frame's y axis [rad], and the middle of a wheel from its axle [m].
_ASKEW, _OFF_M = 0.01, 1e-3
_LEAST_M, _MOST_M = 0.005, 5.0
_FRAME = "x forward, y to port, z up; a first link without mass and a fixed joint turn the base"


class FoundWheel(NamedTuple):
    """A wheel of a file.

    Attributes:
        head: link on whose joint it turns.
        link: name of its body's link.
        centre: in the frame of the file's first link [m].
        radius: [m].
        width: [m].
        flipped: whether its axis points to starboard in the file.
        askew: angle of its axle to y in the file [rad].
    """

    head: str
    link: str
    centre: FloatArray
    radius: float
    width: float
    flipped: bool
    askew: float


class _Placed(Protocol):
    @property
    def origin(self) -> FloatArray: ...
    @property
    def axes(self) -> FloatArray: ...


class Links(Protocol):
    """What is known of the links before the wheels are."""

    carrier: dict[str, LinkJoint]
    groups: dict[str, list[str]]
    head: dict[str, str]
    body_of: dict[str, str]

    @property
    def placed(self) -> Mapping[str, _Placed]:
        """Links in the frame of the first."""

    def axis(self, joint: LinkJoint) -> Vector:
        """In base axes."""

    def shape(self, head: str) -> tuple[str, Shape] | None:
        """The round shape of a group."""


def shape_of(links: Sequence[Link]) -> tuple[str, Shape] | None:
    """The largest cylinder or sphere of links, and the link that has it."""
    found = [(link.name, shape) for link in links for shape in link.shapes if shape.kind in ("cylinder", "sphere")]
    return max(found, key=lambda one: one[1].size[0], default=None)


def find_wheels(
    links: Links, named: Sequence[str] | None, radius: float | None, width: float | None
) -> list[FoundWheel]:
    """The wheels, in the order of the file. Raises ValueError: there are none, or they are none."""
    heads = _recognised(links) if named is None else [_head_of(links, name) for name in named]
    if not heads:
        endless = [child for child, joint in links.carrier.items() if joint.kind in TURNING and joint.stops is None]
        raise ValueError(
            "no wheel recognised: no link with a cylinder or a sphere turns without end about y and carries nothing "
            f"that turns ({_FRAME}); allowed: name the wheels' links, --wheels a,b,..., of those that turn without "
            f"end: {', '.join(endless) or 'there are none'}"
        )
    found, problems, alike = [], list[str](), dict[str, list[str]]()
    for head in heads:
        with added_to(problems):
            found.append(_wheel(links, head, radius, width))
    for wheel, _, why in (problem.partition(": ") for problem in problems):
        alike.setdefault(why, []).append(wheel)
    refuse([f"{', '.join(those)}: {why}" for why, those in alike.items()])
    return found


def in_order(found: Sequence[FoundWheel], base: FloatArray) -> list[tuple[WheelMount, FoundWheel]]:
    """The wheels in rows from the front, port first, by the names of their places.

    Raises:
        ValueError: a row has three wheels, or the front row is no pair, which an obstacle needs.
    """
    rows: list[list[FoundWheel]] = []
    for one in sorted(found, key=lambda wheel: -wheel.centre[0]):
        if rows and rows[-1][0].centre[0] - one.centre[0] < 0.5 * one.radius:
            rows[-1].append(one)
        else:
            rows.append([one])
    names = _row_names(len(rows))
    mounts = []
    for name, row in zip(names, rows, strict=True):
        sides = ["left" if one.centre[1] - base[1] > 0.0 else "right" for one in row]
        if len(row) == 1 and abs(row[0].centre[1] - base[1]) < 0.5 * row[0].radius:
            sides = ["centre"]
        if len(set(sides)) < len(sides) or (name == "front" and len(row) < 2):
            places = "; ".join(f"{one.link} at x {one.centre[0]:.3g} m, y {one.centre[1]:.3g} m" for one in row)
            raise ValueError(
                f"{name} row of wheels: {places}; allowed: one to port and one to starboard, and a pair in front, for "
                f"these two meet the obstacle ({_FRAME})"
            )
        for side, one in sorted(zip(sides, row, strict=True), key=lambda each: each[0]):
            mounts.append((WheelMount(f"{name}_{side}", one.link, one.radius, one.width), one))
    return mounts


def _row_names(count: int) -> list[str]:
    if count <= 3:
        return {1: ["front"], 2: ["front", "rear"], 3: ["front", "middle", "rear"]}[count]
    return ["front", *(f"middle_{number}" for number in range(1, count - 1)), "rear"]


def _recognised(links: Links) -> list[str]:
    carrying = {links.head[joint.parent] for joint in links.carrier.values() if joint.kind != FIXED}
    found = []
    for head in links.groups:
        joint = links.carrier.get(head)
        if joint is None or joint.kind not in TURNING or joint.stops is not None or head in carrying:
            continue
        round_one = links.shape(head)
        if round_one is not None and abs(links.axis(joint)[1]) > math.cos(_ASKEW) and _about(links, joint, round_one):
            found.append(head)
    return found


def _about(links: Links, joint: LinkJoint, round_one: tuple[str, Shape]) -> bool:
    """Whether a shape is round about the joint's axis."""
    link, shape = round_one
    along = links.placed[link].axes @ shape.rotation[:, 2]
    return shape.kind == "sphere" or abs(float(along @ np.array(links.axis(joint)))) > math.cos(_ASKEW)


def _head_of(links: Links, name: str) -> str:
    for child, joint in links.carrier.items():
        if name == joint.name and joint.kind in TURNING:
            return child
    if name in links.head and links.head[name] in links.carrier and links.carrier[links.head[name]].kind in TURNING:
        return links.head[name]
    turning = [joint.name for joint in links.carrier.values() if joint.kind in TURNING]
    raise ValueError(
        f"wheel {name!r} is no link that turns, allowed: of these joints or their links: {', '.join(turning)}"
    )


def _wheel(links: Links, head: str, radius: float | None, width: float | None) -> FoundWheel:
    joint, round_one, what = links.carrier[head], links.shape(head), f"wheel {head}"
    if joint.stops is not None:
        raise ValueError(f"{what}: joint {joint.name} has limits, allowed: continuous, for a wheel turns without end")
    axis = np.array(links.axis(joint))
    if abs(axis[1]) < math.cos(_ASKEW):
        along = ", ".join(f"{part:.3g}" for part in axis)
        raise ValueError(f"{what}: its axle is along ({along}), allowed: along y of the base ({_FRAME})")
    if any(links.head[other.parent] == head for other in links.carrier.values() if other.kind != FIXED):
        raise ValueError(f"{what}: it carries joints that turn, allowed: a wheel at the end of its chain")
    askew = math.atan2(math.hypot(axis[0], axis[2]), abs(axis[1]))
    origin = links.placed[head].origin
    centre = origin.copy()
    if round_one is not None:
        link, shape = round_one
        middle = links.placed[link].origin + links.placed[link].axes @ shape.origin
        apart = middle - origin
        off = float(np.hypot(apart[0], apart[2]))
        if off > _OFF_M:
            raise ValueError(f"{what}: the middle of its shape is {1e3 * off:.3g} mm off its axle, allowed: on it")
        centre[1] = middle[1]
        if radius is None:
            radius = shape.size[0]
        if width is None and shape.kind == "cylinder" and _about(links, joint, round_one):
            width = shape.size[1]
    if radius is None or width is None:
        missing = "radius and width" if radius is None and width is None else "radius" if radius is None else "width"
        raise ValueError(
            f"{what}: no {missing}, for its shape is no cylinder about its axle; allowed: such a <collision>, or "
            "--wheel-radius and --wheel-width in m"
        )
    if not (_LEAST_M <= radius <= _MOST_M and _LEAST_M <= width <= _MOST_M):
        raise ValueError(f"{what}: radius {radius:g} m, width {width:g} m, allowed: {_LEAST_M:g} to {_MOST_M:g} m")
    return FoundWheel(head, links.body_of[head], centre, radius, width, bool(axis[1] < 0.0), askew)


# A joint follows if so much of the motion of the loops' ends by it is not that of joints that follow already.
_OWN_SHARE = 1e-3
End = tuple[str, Vector]


def following(tree: Tree, loops: Sequence[tuple[End, End]], named: Set[str]) -> list[str]:
    """Three joints for each loop beyond those `named`: the farthest from the base first, of these the last in the file.

    So the joints of rods follow, and what is left to choose are the joints at the rover's body: the first of them in
    the file stays independent.

    Args:
        tree: without its loops, joints at zero.
        loops: the two ends of each ball: a body, and the place of the ball in its frame [m].
        named: joints that follow by the description.

    Raises:
        ValueError: the loops' ends do not move by enough of their joints.
    """
    carrier = {joint.child: joint for joint in tree.joints}
    wheels = {wheel.body for wheel in tree.wheels}
    coupled = {name for one in tree.couplings for name in (one.joint, *(source for source, _ in one.sources))}
    columns: dict[str, np.ndarray] = {}
    depth: dict[str, int] = {}
    for number, ends in enumerate(loops):
        paths = [path_to(carrier, body) for body, _ in ends]
        at = np.sum([ends[0][1], *(joint.origin for joint in paths[0])], axis=0)
        for sign, path in zip((1.0, -1.0), paths, strict=True):
            for place, joint in enumerate(path):
                origin = np.sum([one.origin for one in path[place:]], axis=0)
                moves = np.array(joint.axis) if joint.slides else np.cross(joint.axis, at - origin)
                column = columns.setdefault(joint.name, np.zeros(3 * len(loops)))
                column[3 * number : 3 * number + 3] += sign * moves
                depth[joint.name] = len(path) - place
    order = {joint.name: place for place, joint in enumerate(tree.joints)}
    free = [joint for joint in tree.joints if joint.name in columns and joint.locked_at is None]
    candidates = [one.name for one in free if one.name not in coupled and one.child not in wheels]
    candidates.sort(key=lambda name: (name not in named, -depth[name], -order[name]))
    chosen: list[str] = []
    basis = np.zeros((0, 3 * len(loops)))
    for name in candidates:
        own = columns[name] - basis.T @ (basis @ columns[name])
        if np.linalg.norm(own) > _OWN_SHARE * np.linalg.norm(columns[name]) > 0.0:
            chosen.append(name)
            basis = np.vstack([basis, own / np.linalg.norm(own)])
    if len(chosen) < 3 * len(loops):
        allowed = (
            f"{3 * len(loops)}, three for each loop: rods with a ball at one end and two joints across at the other"
        )
        raise ValueError(
            f"loops are closed by {len(chosen)} joints ({', '.join(chosen) or 'none'}), allowed: {allowed}"
        )
    return [name for name in chosen if name not in named]
