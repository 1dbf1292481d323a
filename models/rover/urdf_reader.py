"""Reads a URDF, whoever wrote it: limited in size and depth, no entities, every number finite."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar
from xml.etree import ElementTree

import numpy as np

from models.rover.links import (
    ENDLESS,
    MOST_LINKS,
    SLIDING,
    Link,
    LinkBall,
    LinkedRover,
    LinkJoint,
    Shape,
    added_to,
    joint_problems,
    refuse,
    rotation_of,
)  # fmt: skip

if TYPE_CHECKING:
    from models.kernels.compiled import FloatArray

# Characters of a file, elements in it, and how deep they are nested.
MOST_CHARACTERS = 200_000
_MOST_ELEMENTS, _DEEPEST = 20_000, 20
_ZERO = "0 0 0"
# How far the length of a quaternion may be from 1, as of one that is rounded to four digits.
_UNIT = 1e-3
_SHAPES = {"box": ("size", 3), "cylinder": ("radius length", 2), "sphere": ("radius", 1)}


_Read = TypeVar("_Read")


class _LimitedTreeBuilder:
    """Builds the tree of a text as it is read, until a limit is passed."""

    def __init__(self, deepest: int) -> None:
        self._builder, self._depth, self._count, self._deepest = ElementTree.TreeBuilder(), 0, 0, deepest

    def start(self, tag: str, attributes: dict[str, str]) -> Any:
        self._depth, self._count = self._depth + 1, self._count + 1
        if self._depth > self._deepest:
            raise ValueError(f"elements nested deeper than {self._deepest}, allowed: up to {self._deepest}")
        if self._count > _MOST_ELEMENTS:
            raise ValueError(f"over {_MOST_ELEMENTS} elements, allowed: {_MOST_ELEMENTS}")
        return self._builder.start(tag, attributes)

    def end(self, tag: str) -> Any:
        self._depth -= 1
        return self._builder.end(tag)

    def data(self, text: str) -> None:
        self._builder.data(text)

    def close(self) -> ElementTree.Element:
        return self._builder.close()


def read_urdf(text: str) -> LinkedRover:
    """The links and joints of a URDF.

    Args:
        text: of the file.

    Raises:
        ValueError: it is no URDF, or a number in it is none; the message says where, and what is allowed.

    Example:
        >>> rover = read_urdf(
        ...     '<robot name="cart"><link name="body"><inertial><mass value="3"/></inertial></link></robot>'
        ... )
        Traceback (most recent call last):
            ...
        ValueError: link body: inertial without <inertia>, allowed: ixx, iyy, izz and products of inertia [kg m^2]
    """
    robot = _parsed(text)
    links, joints = robot.findall("link"), robot.findall("joint")
    if not links:
        raise ValueError("no <link> in it, allowed: a URDF with the links and joints of one rover")
    if len(links) > MOST_LINKS:
        raise ValueError(f"{len(links)} links, allowed: up to {MOST_LINKS}")
    name = robot.get("name") or "rover"
    problems: list[str] = []
    read_links = _each(_link, links, problems)
    read_joints = _each(_joint, joints, problems)
    balls = _each(_ball, robot.findall("loop"), problems)
    if problems:
        refuse([*problems, *(problem for one in read_joints for problem in joint_problems(one))])
    return LinkedRover(name, read_links, read_joints, tuple(_left_out(robot)), balls)


def _each(
    read: Callable[[ElementTree.Element], _Read], elements: Iterable[ElementTree.Element], problems: list[str]
) -> tuple[_Read, ...]:
    """What elements say; what is wrong is added to the problems."""
    found = []
    for element in elements:
        with added_to(problems):
            found.append(read(element))
    return tuple(found)


def _left_out(robot: ElementTree.Element) -> Iterator[str]:
    """What of the file is not used, a sentence each."""
    if robot.find("mujoco") is not None:
        yield "settings for MuJoCo (<mujoco>), left out: masses and inertias are used as they are"
    joints = robot.findall("joint")
    for key in ("damping", "friction"):
        named = [
            one.get("name") or ""
            for one in joints
            if (dynamics := one.find("dynamics")) is not None and dynamics.get(key, "0").strip("0.") != ""
        ]
        if named:
            yield f"{key} of joints (<dynamics>), left out: {', '.join(named)}"
    for one in joints:
        limit = one.find("limit")
        if limit is not None and one.get("type") in ("revolute", SLIDING) and not _bounded(limit):
            yield f"joint {one.get('name')}: a limit without lower and upper, taken as no stop"


def _bounded(limit: ElementTree.Element) -> bool:
    return "lower" in limit.attrib or "upper" in limit.attrib


def read_xml(text: str, deepest: int = _DEEPEST) -> ElementTree.Element:
    """The elements of an XML text without entities; ValueError: it is none, or is beyond a limit."""
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"{len(text)} characters, allowed: up to {MOST_CHARACTERS}; meshes are separate files")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError("a document type or an entity (<!DOCTYPE, <!ENTITY), allowed: elements alone")
    try:
        parser = ElementTree.XMLParser(target=_LimitedTreeBuilder(deepest))
        parser.feed(text)
        root: ElementTree.Element = parser.close()
    except ElementTree.ParseError as error:
        raise ValueError(f"not XML: {error}, allowed: a URDF") from None
    return root


def _parsed(text: str) -> ElementTree.Element:
    robot = read_xml(text)
    if robot.tag == "mujoco":
        raise ValueError("an MJCF (<mujoco>), allowed: a URDF; `hil rover import` makes one of it")
    if robot.tag != "robot":
        raise ValueError(f"<{_short(robot.tag)}> as its first element, allowed: <robot>, as a URDF has it")
    if any("xacro" in element.tag for element in robot.iter()):
        raise ValueError("macros of xacro in it, allowed: a URDF: run `xacro FILE > rover.urdf` first")
    return robot


def _link(element: ElementTree.Element) -> Link:
    name = _name(element, "link")
    what, inertial = f"link {name}", element.find("inertial")
    shapes = tuple(_shapes(element, "collision", what)) or tuple(_shapes(element, "visual", what))
    if inertial is None:
        return Link(name, None, np.zeros(3), np.zeros((3, 3)), shapes)
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    if mass is None:
        raise ValueError(f"{what}: inertial without <mass>, allowed: <mass value=...> [kg]")
    if inertia is None:
        allowed = "ixx, iyy, izz and products of inertia [kg m^2]"
        raise ValueError(f"{what}: inertial without <inertia>, allowed: {allowed}")
    place, turn = _origin(inertial, what)
    xx, yy, zz = (_number(inertia, key, what) for key in ("ixx", "iyy", "izz"))
    xy, xz, yz = (_number(inertia, key, what, "0") for key in ("ixy", "ixz", "iyz"))
    own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Link(name, _number(mass, "value", what), place, turn @ own @ turn.T, shapes)


def _shapes(element: ElementTree.Element, role: str, what: str) -> Iterator[Shape]:
    for shape in element.findall(role):
        geometry = shape.find("geometry")
        place, turn = _origin(shape, what)
        for form in () if geometry is None else geometry:
            attributes, count = _SHAPES.get(form.tag, ("", 0))
            size = tuple(number for key in attributes.split() for number in _numbers(form, key, what))
            if role == "visual" and len(size) == count and not any(size):  # a point that marks a frame
                continue
            if len(size) != count or not all(number > 0.0 for number in size):
                raise ValueError(f"{what}: {role} {form.tag} of size {size}, allowed: {count} numbers above 0 [m]")
            yield Shape(form.tag, size, place, turn, shape.get("name") or "")


def _joint(element: ElementTree.Element) -> LinkJoint:
    name = _name(element, "joint")
    what, kind = f"joint {name}", element.get("type") or ""
    parent, child = (_end(element, role, what) for role in ("parent", "child"))
    place, turn = _origin(element, what)
    axis, limit, mimic = (element.find(tag) for tag in ("axis", "limit", "mimic"))
    along = (1.0, 0.0, 0.0) if axis is None else _numbers(axis, "xyz", what)
    if len(along) != 3:
        raise ValueError(f"{what}: axis of {len(along)} numbers, allowed: 3")
    stops = None
    if kind in ("revolute", SLIDING) and limit is not None and _bounded(limit):
        stops = _number(limit, "lower", what, "0"), _number(limit, "upper", what, "0")
        if kind == SLIDING and stops[0] <= -ENDLESS and stops[1] >= ENDLESS:
            stops = None
    follows = None
    if mimic is not None:
        ratio, offset = _number(mimic, "multiplier", what, "1"), _number(mimic, "offset", what, "0")
        follows = mimic.get("joint") or "", ratio, offset
    return LinkJoint(name, kind, parent, child, place, turn, np.array(along), stops, follows)


def _ball(element: ElementTree.Element) -> LinkBall:
    """A loop, told by an element of ours: <loop name joints><point link xyz/><point link xyz/></loop>."""
    name = _name(element, "loop")
    what, points = f"loop {name}", element.findall("point")
    if len(points) != 2:
        raise ValueError(f"{what}: {len(points)} <point>, allowed: 2, each with link and xyz [m]")
    places = []
    for point in points:
        place = _numbers(point, "xyz", what)
        if len(place) != 3:
            raise ValueError(f"{what}: point of {len(place)} numbers, allowed: 3 [m]")
        places.append((point.get("link") or "", np.array(place)))
    joints = tuple((element.get("joints") or "").split())
    if len(joints) not in (0, 3):
        raise ValueError(f"{what}: {len(joints)} joints that follow, allowed: 3, or none: then they are chosen")
    (link, place_on_it), (other, place_on_other) = places
    return LinkBall(name, link, place_on_it, other, place_on_other, joints)


def _end(element: ElementTree.Element, role: str, what: str) -> str:
    """The link at an end of a joint."""
    end = element.find(role)
    link = None if end is None else end.get("link")
    if not link:
        raise ValueError(f"{what}: no {role}, allowed: <{role} link=...>")
    return link


def _origin(element: ElementTree.Element, what: str) -> tuple[FloatArray, FloatArray]:
    """Place [m] and rotation of what an element describes."""
    origin = element.find("origin")
    if origin is None:
        return np.zeros(3), np.eye(3)
    place, angles = (_numbers(origin, key, what, _ZERO) for key in ("xyz", "rpy"))
    turn = _numbers(origin, "quat_xyzw", what, "0 0 0 1")
    if len(place) != 3 or len(angles) != 3 or len(turn) != 4:
        allowed = "xyz and rpy of 3 numbers each, or xyz and quat_xyzw of 3 and 4"
        raise ValueError(f"{what}: origin {dict(origin.attrib)}, allowed: {allowed}")
    if "quat_xyzw" not in origin.attrib:
        return np.array(place), rotation_of(*angles)
    if "rpy" in origin.attrib or abs(math.hypot(*turn) - 1.0) > _UNIT:
        allowed = f"a quaternion of length 1 within {_UNIT:g}, without rpy"
        raise ValueError(f"{what}: origin {dict(origin.attrib)}, allowed: {allowed}")
    return np.array(place), _rotation_of_quaternion(np.array(turn) / math.hypot(*turn))


def _rotation_of_quaternion(quaternion: FloatArray) -> FloatArray:
    """Rotation matrix (3, 3) of a quaternion x y z w of length 1 (URDF 1.1)."""
    vector, w = quaternion[:3], float(quaternion[3])
    x, y, z = vector
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turn: FloatArray = np.eye(3) + 2.0 * w * cross + 2.0 * cross @ cross
    return turn


def _name(element: ElementTree.Element, what: str) -> str:
    name = element.get("name") or ""
    if not name or len(name) > 100 or not name.isprintable():
        raise ValueError(f"a {what} named {_short(name)!r}, allowed: a name of up to 100 characters")
    return name


def _number(element: ElementTree.Element, key: str, what: str, default: str = "") -> float:
    numbers = _numbers(element, key, what, default)
    if len(numbers) != 1:
        raise ValueError(f"{what}: {key} of <{element.tag}> has {len(numbers)} numbers, allowed: 1")
    return numbers[0]


def _numbers(element: ElementTree.Element, key: str, what: str, default: str = "") -> tuple[float, ...]:
    text = element.get(key, default)
    try:
        numbers = tuple(float(word) for word in text.split())
    except ValueError:
        numbers = (math.nan,)
    if not numbers or not all(map(math.isfinite, numbers)):
        raise ValueError(f"{what}: {key} of <{element.tag}> is {_short(text)!r}, allowed: finite numbers")
    return numbers


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
