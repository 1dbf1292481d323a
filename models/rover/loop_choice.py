"""Which joints follow from the loops of a rover whose description does not say so."""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np

from models.rover.tie_checks import path_to
from models.rover.ties import Vector
from models.rover.tree import Tree

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
