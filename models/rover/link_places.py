"""Where the links of a file are, and which joint carries each: one tree, with no loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from models.rover.links import LinkedRover, LinkJoint, joint_problems, refuse

if TYPE_CHECKING:
    from models.kernels.compiled import FloatArray


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
