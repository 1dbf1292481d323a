"""The rover as MJCF, the format of MuJoCo, which can state closed loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree

from models.rover.tree import Joint, Tree

# Before the name of a loop, that of the text that says which joints follow from it.
FOLLOWING = "following "


def to_mjcf(tree: Tree) -> str:
    """MJCF text of a rover that flies free: bodies nested as they are carried, axes and lengths as ours.

    A locked joint is a fixed body, turned or moved by its coordinate. A coupling is an equality of two joints, a
    loop closure an equality of two points (`connect`), a stop a limit. MuJoCo holds all three by springs, softly. Which
    joints follow from a loop is a separate text (`custom`), named as the loop after `FOLLOWING`.

    Raises:
        ValueError: a joint follows two others, which MuJoCo cannot say.
    """
    root = ElementTree.Element("mujoco", model=tree.name)
    ElementTree.SubElement(root, "compiler", angle="radian")
    world = ElementTree.SubElement(root, "worldbody")
    base = ElementTree.SubElement(world, "body", name=tree.bodies[0].name)
    ElementTree.SubElement(base, "freejoint", name="flying")
    _fill(base, tree, tree.bodies[0].name)
    if tree.couplings or tree.closures:
        equality = ElementTree.SubElement(root, "equality")
        for coupling in tree.couplings:
            if len(coupling.sources) > 1:
                names = ", ".join(name for name, _ in coupling.sources)
                raise ValueError(f"joint {coupling.joint} follows {names}, allowed in an MJCF: one joint (polycoef)")
            ((source, ratio),) = coupling.sources
            line = _numbers((coupling.offset, ratio, 0.0, 0.0, 0.0))
            ElementTree.SubElement(equality, "joint", joint1=coupling.joint, joint2=source, polycoef=line)
        for closure in tree.closures:
            ends = {"body1": closure.body, "body2": closure.other, "anchor": _numbers(closure.place)}
            ElementTree.SubElement(equality, "connect", {"name": closure.name, **ends})
    if tree.closures:
        custom = ElementTree.SubElement(root, "custom")
        for closure in tree.closures:
            ElementTree.SubElement(custom, "text", name=FOLLOWING + closure.name, data=" ".join(closure.dependent))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def _fill(element: ElementTree.Element, tree: Tree, name: str) -> None:
    """Mass, shape and carried bodies of a body."""
    body = tree.body[name]
    (xx, yy, zz), (xy, xz, yz) = body.inertia, body.products
    mass, inertia = _numbers((body.mass,)), _numbers((xx, yy, zz, xy, xz, yz))
    ElementTree.SubElement(element, "inertial", pos=_numbers(body.com), mass=mass, fullinertia=inertia)
    wheels = {wheel.body: wheel for wheel in tree.wheels}
    if name in wheels:
        size = _numbers((wheels[name].radius, 0.5 * wheels[name].width))
        ElementTree.SubElement(element, "geom", type="cylinder", size=size, zaxis="0 1 0")
    else:
        half = _numbers(tuple(max(0.5 * side, 5e-5) for side in body.size or body.box))
        ElementTree.SubElement(
            element, "geom", type="box", size=half, pos=_numbers(body.com), contype="0", conaffinity="0"
        )
    for joint in tree.children(name):
        place = joint.placed(joint.locked_at or 0.0)[0].tolist()
        child = ElementTree.SubElement(element, "body", name=joint.child, pos=_numbers(place))
        _hinge(child, joint)
        _fill(child, tree, joint.child)


def _hinge(child: ElementTree.Element, joint: Joint) -> None:
    if joint.locked_at is None:
        limits = {} if joint.stops is None else {"range": _numbers(joint.stops), "limited": "true"}
        kind = {"type": "slide"} if joint.slides else {}
        ElementTree.SubElement(child, "joint", {"name": joint.name, **kind, "axis": _numbers(joint.axis), **limits})
    elif joint.locked_at != 0.0 and not joint.slides:
        half = 0.5 * joint.locked_at
        child.set("quat", _numbers((math.cos(half), *(math.sin(half) * part for part in joint.axis))))


def _numbers(values: Sequence[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
