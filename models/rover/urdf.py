"""The rover as URDF, for visualisers and for other engines to be checked against."""

from __future__ import annotations

from xml.etree import ElementTree

from models.rover.links import ENDLESS, EQUIVALENT, SLIDING
from models.rover.ties import Coupling, Vector
from models.rover.tree import Body, Joint, Tree


def to_urdf(tree: Tree, *, whole: bool = False) -> str:
    """URDF text of a rover; a locked joint becomes a fixed joint, turned or moved by its coordinate.

    Stops become the limits of a revolute or prismatic joint; what else URDF wants there is without bound (`ENDLESS`).

    Args:
        tree: of the rover.
        whole: with a shape for every body, couplings as mimic joints, and loops as elements <loop>, which are ours:
            other programs leave them out. Else wheels alone have shapes, and joints that follow stay free. A body
            without a size is shown as the box of its mass and moments; the name of that shape begins with
            `equivalent_box`.

    Raises:
        ValueError: `whole`, and a joint follows two others, which a URDF cannot say.
    """
    robot = ElementTree.Element("robot", name=tree.name)
    wheels = {wheel.body: wheel for wheel in tree.wheels}
    couplings = {coupling.joint: coupling for coupling in tree.couplings} if whole else {}
    for body in tree.bodies:
        link = _link(robot, body)
        if body.name in wheels:
            wheel = wheels[body.name]
            for role in ("visual", "collision"):
                shape = ElementTree.SubElement(link, role)
                # a URDF cylinder stands along z, the axle lies along y
                ElementTree.SubElement(shape, "origin", xyz="0 0 0", rpy="1.5707963267948966 0 0")
                size = {"radius": _numbers((wheel.radius,)), "length": _numbers((wheel.width,))}
                ElementTree.SubElement(ElementTree.SubElement(shape, "geometry"), "cylinder", size)
        elif whole:
            _box(link, body)
    for joint in tree.joints:
        _joint(robot, joint, couplings.get(joint.name))
    for closure in tree.closures if whole else ():
        loop = ElementTree.SubElement(robot, "loop", name=closure.name, joints=" ".join(closure.dependent))
        for body_name, place in ((closure.body, closure.place), (closure.other, closure.other_place)):
            ElementTree.SubElement(loop, "point", link=body_name, xyz=_numbers(place))
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding="unicode")


def inertial_text(body: Body) -> str:
    """Element <inertial> of a link whose frame is the body's."""
    link = ElementTree.Element("link")
    _add_inertial(link, body)
    ElementTree.indent(link[0])
    return ElementTree.tostring(link[0], encoding="unicode").rstrip()


def _link(robot: ElementTree.Element, body: Body) -> ElementTree.Element:
    link = ElementTree.SubElement(robot, "link", name=body.name)
    _add_inertial(link, body)
    return link


def _add_inertial(link: ElementTree.Element, body: Body) -> None:
    inertial = ElementTree.SubElement(link, "inertial")
    ElementTree.SubElement(inertial, "origin", xyz=_numbers(body.com), rpy="0 0 0")
    ElementTree.SubElement(inertial, "mass", value=_numbers((body.mass,)))
    xx, yy, zz = (repr(float(moment)) for moment in body.inertia)
    xy, xz, yz = (repr(float(product)) if product else "0" for product in body.products)
    ElementTree.SubElement(inertial, "inertia", ixx=xx, iyy=yy, izz=zz, ixy=xy, ixz=xz, iyz=yz)


def _box(link: ElementTree.Element, body: Body) -> None:
    """Its outline, or where it has none, the box of its mass and moments."""
    least = 1e-4  # [m]: a flat box is none that every reader takes
    size: Vector = body.size or tuple(max(side, least) for side in body.box)  # type: ignore[assignment]
    for role in ("visual", "collision"):
        # names of shapes are once in a file
        named = {} if body.size or role == "visual" else {"name": f"{EQUIVALENT}_{body.name}"}
        shape = ElementTree.SubElement(link, role, named)
        ElementTree.SubElement(shape, "origin", xyz=_numbers(body.com), rpy="0 0 0")
        ElementTree.SubElement(ElementTree.SubElement(shape, "geometry"), "box", size=_numbers(size))


def _joint(robot: ElementTree.Element, joint: Joint, coupling: Coupling | None) -> None:
    moving = SLIDING if joint.slides else "continuous" if joint.stops is None else "revolute"
    kind = moving if joint.locked_at is None else "fixed"
    element = ElementTree.SubElement(robot, "joint", name=joint.name, type=kind)
    # axes are along body axes, so a lock's rotation is one of roll, pitch and yaw
    at = joint.locked_at or 0.0
    turn = (0.0, 0.0, 0.0) if joint.slides else tuple(at * part for part in joint.axis)
    place = tuple(joint.placed(at)[0].tolist())
    ElementTree.SubElement(element, "origin", xyz=_numbers(place), rpy=_numbers(turn))
    ElementTree.SubElement(element, "parent", link=joint.parent)
    ElementTree.SubElement(element, "child", link=joint.child)
    if joint.locked_at is None:
        ElementTree.SubElement(element, "axis", xyz=_numbers(joint.axis))
    if kind in ("revolute", SLIDING):
        low, high = (repr(float(at)) for at in joint.stops or (-ENDLESS, ENDLESS))
        ElementTree.SubElement(element, "limit", lower=low, upper=high, effort="1e9", velocity="1e9")
    if coupling is not None:
        if len(coupling.sources) > 1:
            names = ", ".join(name for name, _ in coupling.sources)
            raise ValueError(f"joint {joint.name} follows {names}, allowed in a URDF: one joint (<mimic>)")
        ((source, ratio),) = coupling.sources
        ElementTree.SubElement(
            element, "mimic", joint=source, multiplier=repr(float(ratio)), offset=repr(float(coupling.offset))
        )


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(repr(float(value)) for value in values)
