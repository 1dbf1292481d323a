"""The rover as URDF, for visualisers and for other engines to be checked against."""

from __future__ import annotations

from xml.etree import ElementTree

from models.rover.tree import Body, Joint, Tree


def to_urdf(tree: Tree) -> str:
    """URDF text of a rover; a locked joint becomes a fixed joint turned by its angle, a coupled one stays free.

    Stops become the limits of a revolute joint; the effort and speed that URDF wants there are without bound.
    """
    robot = ElementTree.Element("robot", name=tree.name)
    wheels = {wheel.body: wheel for wheel in tree.wheels}
    for body in tree.bodies:
        link = _link(robot, body)
        if body.name in wheels:
            wheel = wheels[body.name]
            for role in ("visual", "collision"):
                shape = ElementTree.SubElement(link, role)
                # a URDF cylinder stands along z, the axle lies along y
                ElementTree.SubElement(shape, "origin", xyz="0 0 0", rpy="1.5707963267948966 0 0")
                geometry = ElementTree.SubElement(shape, "geometry")
                ElementTree.SubElement(geometry, "cylinder", radius=repr(wheel.radius), length=repr(wheel.width))
    for joint in tree.joints:
        _joint(robot, joint)
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding="unicode")


def _link(robot: ElementTree.Element, body: Body) -> ElementTree.Element:
    link = ElementTree.SubElement(robot, "link", name=body.name)
    inertial = ElementTree.SubElement(link, "inertial")
    ElementTree.SubElement(inertial, "origin", xyz=_numbers(body.com), rpy="0 0 0")
    ElementTree.SubElement(inertial, "mass", value=repr(body.mass))
    xx, yy, zz = (repr(moment) for moment in body.inertia)
    ElementTree.SubElement(inertial, "inertia", ixx=xx, iyy=yy, izz=zz, ixy="0", ixz="0", iyz="0")
    return link


def _joint(robot: ElementTree.Element, joint: Joint) -> None:
    turning = "continuous" if joint.stops is None else "revolute"
    kind = turning if joint.locked_at is None else "fixed"
    element = ElementTree.SubElement(robot, "joint", name=joint.name, type=kind)
    # axes are along body axes, so a lock's rotation is one of roll, pitch and yaw
    turn = _numbers(tuple((joint.locked_at or 0.0) * part for part in joint.axis))
    ElementTree.SubElement(element, "origin", xyz=_numbers(joint.origin), rpy=turn)
    ElementTree.SubElement(element, "parent", link=joint.parent)
    ElementTree.SubElement(element, "child", link=joint.child)
    if joint.locked_at is None:
        ElementTree.SubElement(element, "axis", xyz=_numbers(joint.axis))
    if kind == "revolute":
        assert joint.stops is not None
        low, high = (repr(float(angle)) for angle in joint.stops)
        ElementTree.SubElement(element, "limit", lower=low, upper=high, effort="1e9", velocity="1e9")


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(repr(float(value)) for value in values)
