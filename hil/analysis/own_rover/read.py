"""Reads a rover from a URDF, or from an MJCF, which MuJoCo compiles in a limited process."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from drivers.extensions import install_command
from hil.config.files import read_bytes, read_text
from hil.config.limited_process import in_limited_process
from models.rover.from_links import ImportedRover, rover_of
from models.rover.links import SLIDING, Link, LinkBall, LinkedRover, LinkJoint, Shape, added_to, refuse
from models.rover.mjcf import FOLLOWING
from models.rover.urdf_reader import MOST_CHARACTERS, read_urdf, read_xml

# A chain of bodies is nested; a model that makes bodies by number, or takes other models, is not bounded by its text.
_DEEPEST = 60
_REFUSED = ("include", "replicate", "composite", "flexcomp", "flex", "plugin", "model", "attach")
_MOST_BYTES, _FOLDERS = 100_000_000, ("meshdir", "texturedir", "assetdir")  # of meshes and pictures
_MOST_NUMBER = 4096  # pixels of a texture, points of a height field
# What of a rover of a file is an array, and what has parts.
_ARRAYS = ("com", "inertia", "origin", "rotation", "axis", "place", "other_place")
_PARTS: dict[str, Any] = {"links": Link, "joints": LinkJoint, "balls": LinkBall, "shapes": Shape}
_COUNTS = ("width", "height", "nrow", "ncol", "memory", "njmax", "nconmax", "nstack", "nuserdata", "nkey")


def read_mjcf(text: str, path: Path) -> LinkedRover:
    """The links and joints of an MJCF. Meshes stand next to the file.

    Raises ValueError: MuJoCo is not installed or does not take it, or it has what no rover of ours can have.
    """
    root = read_xml(text, _DEEPEST)
    _check_bounds(root)
    files = _taken_files(root, path.parent)
    if find_spec("mujoco") is None:
        raise ValueError(f"an MJCF is read by MuJoCo, which is not installed; allowed: {install_command('mjcf')}")
    checked = ElementTree.tostring(root, encoding="unicode")
    rover: LinkedRover = _of_lists(LinkedRover, in_limited_process(_prepare, partial(_compiled, checked, files)))
    return rover


def _prepare() -> None:
    os.environ["MUJOCO_GL"] = "off"  # in this process: what draws in windows starts another one
    import_module("mujoco")


def _compiled(text: str, files: dict[str, bytes]) -> Any:
    """What MuJoCo makes of it, as lists; in the limited process."""
    mujoco = import_module("mujoco")
    try:
        model = mujoco.MjModel.from_xml_string(text, files)
    except (ValueError, RuntimeError) as error:  # the latter where memory ends
        raise ValueError(f"MuJoCo does not take it: {' '.join(str(error).split())}, allowed: an MJCF") from None
    return _as_lists(_Model(mujoco, model).linked())


def _as_lists(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_as_lists(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _of_lists(kind: Any, values: Any) -> Any:
    """A tuple of a kind as it was before `_as_lists`."""
    made = dict(zip(kind._fields, values, strict=True))
    for name, value in made.items():
        if name in _PARTS:
            made[name] = tuple(_of_lists(_PARTS[name], one) for one in value)
        elif isinstance(value, list):
            made[name] = np.array(value) if name in _ARRAYS else tuple(value)
    return kind(**made)


def _check_bounds(root: ElementTree.Element) -> None:
    problems: list[str] = []
    for element in root.iter():
        if "}" in element.tag:  # MuJoCo does not know of namespaces: to it that is a plain element
            problems.append(f"{element.tag[:40]} of a namespace in it, allowed: elements without xmlns")
        if element.tag in _REFUSED:
            allowed = "bodies, joints and geoms one by one; MuJoCo writes them so (mj_saveLastXML)"
            problems.append(f"<{element.tag}> in it, allowed: {allowed}")
        problems += [
            f"{key} of <{element.tag}> is {word[:40]}, allowed: up to {_MOST_NUMBER}"
            for key in _COUNTS
            for word in (element.get(key) or "").split()
            if not word.isdigit() or int(word) > _MOST_NUMBER
        ]
    refuse(dict.fromkeys(problems))


def _taken_files(root: ElementTree.Element, folder: Path) -> dict[str, bytes]:
    """The meshes and pictures that it names, by names that take the place of theirs: MuJoCo opens no file."""
    compilers = root.findall("compiler") or [ElementTree.SubElement(root, "compiler")]
    folders = [folder / one.attrib.pop(key, "") for key in _FOLDERS for one in compilers]
    for one in compilers:
        one.set("usethread", "false")  # the limited process starts none
    files, problems, left = dict[str, bytes](), list[str](), _MOST_BYTES
    for element in root.iter():
        for key in [key for key in element.attrib if key.startswith("file")]:
            name = element.get(key, "")
            if key == "file" and "name" not in element.attrib:
                element.set("name", Path(name).stem)
            places = [one / part for part in (name, Path(name).name) for one in folders]
            with added_to(problems):
                content = _content(f"file {name[:100]} of <{element.tag}>", places, left)
                left -= len(content)
                taken = f"{len(files)}{Path(name).suffix}"
                files[taken] = content
                element.set(key, taken)
    refuse(problems)
    return files


def _content(what: str, places: list[Path], left: int) -> bytes:
    """Of the first of the places that is there; a pipe or a device is never read to its end."""
    allowed = f"a regular file; all of them together up to {_MOST_BYTES} bytes"
    try:
        return read_bytes(next(one for one in places if one.exists()), left)
    except StopIteration:
        found = "is not there"
    except (OSError, ValueError) as error:
        found = getattr(error, "strerror", None) or str(error)
    raise ValueError(f"{what}: {found}, allowed: {allowed}")


class _Model:
    """A compiled model, read body by body."""

    def __init__(self, mujoco: Any, model: Any) -> None:
        self._of, self._model = mujoco, model
        self._left_out: list[str] = []

    def linked(self) -> LinkedRover:
        """Its links and joints."""
        model = self._model
        roots = [i for i in range(1, model.nbody) if model.body_parentid[i] == 0]
        moving = [i for i in roots if self._moves(i)] or roots
        if len(moving) != 1:
            names = ", ".join(map(self._body, moving[:5])) or "none"
            raise ValueError(f"bodies of the world that move: {names}, allowed: one, the rover's body")
        kept = [i for i in range(1, model.nbody) if model.body_rootid[i] == moving[0]]
        if len(kept) < model.nbody - 1:
            others = [self._body(i) for i in range(1, model.nbody) if i not in kept]
            self._left_out.append(f"bodies that are not of the rover, left out: {', '.join(others)}")
        joints = [self._joint(i, moving[0]) for i in kept]
        offsets = {self._body(i): joint[1] for i, joint in zip(kept, joints, strict=True)}
        if model.dof_armature.any():
            self._left_out.append("armature of joints, left out: a rotor's inertia has no place in a URDF")
        named = {"springs": model.jnt_stiffness, "damping": model.dof_damping, "dry friction": model.dof_frictionloss}
        self._left_out += [f"{what} of joints, left out" for what, values in named.items() if values.any()]
        if model.body_gravcomp.any():
            self._left_out.append(
                "gravity compensation of bodies (gravcomp), left out: they weigh what their mass says"
            )
        follows = dict(self._couplings())
        made = []
        for (joint, _), i in zip(joints, kept, strict=True):
            if joint is None:
                continue
            parent = self._body(model.body_parentid[i])
            # frames are on the joints here, and at the bodies' own origins in MuJoCo
            origin = joint.origin - offsets[parent]
            made.append(joint._replace(parent=parent, origin=origin, follows=follows.get(joint.name)))
        links = [self._link(i, offsets[self._body(i)]) for i in kept]
        name = self._of.mj_id2name(model, self._of.mjtObj.mjOBJ_BODY, 0) or "rover"
        balls = tuple(self._balls(offsets))
        name = "rover" if name == "world" else name
        return LinkedRover(name, tuple(links), tuple(made), tuple(self._left_out), balls)

    def _moves(self, root: int) -> bool:
        model = self._model
        return any(model.body_rootid[model.jnt_bodyid[j]] == root for j in range(model.njnt))

    def _body(self, number: int) -> str:
        return self._of.mj_id2name(self._model, self._of.mjtObj.mjOBJ_BODY, int(number)) or f"body_{number}"

    def _joint_name(self, number: int) -> str:
        return self._of.mj_id2name(self._model, self._of.mjtObj.mjOBJ_JOINT, int(number)) or f"joint_{number}"

    def _joint(self, i: int, root: int) -> tuple[LinkJoint | None, Any]:
        """What carries a body, its origin that of the joint in the parent body's frame; and the joint's place on it."""
        model, name, nowhere = self._model, self._body(i), np.zeros(3)
        first, count = int(model.body_jntadr[i]), int(model.body_jntnum[i])
        kinds = {int(kind): word for kind, word in zip(range(4), ("free", "ball", "slide", "hinge"), strict=True)}
        types = [kinds[int(model.jnt_type[j])] for j in range(first, first + count)]
        if i == root:
            if any(kind != "free" for kind in types):
                raise ValueError(f"body {name}: {types[0]} joint to the world, allowed: a free joint, or none")
            return None, nowhere
        turn, origin = _matrix(model.body_quat[i]), model.body_pos[i].copy()
        if not count:
            return LinkJoint(f"{name}_fixed", "fixed", "", name, origin, turn, np.array([0.0, 1.0, 0.0])), nowhere
        if types not in (["hinge"], ["slide"]):
            words = " and ".join(types)
            allowed = "one hinge or slide, or no joint: rovers have no other joints here; put a body between two"
            raise ValueError(f"body {name}: {words} joint {self._joint_name(first)}, allowed: {allowed}")
        at, stops = model.jnt_pos[first].copy(), None
        zero = float(model.qpos0[model.jnt_qposadr[first]])
        if model.jnt_limited[first]:
            low, high = (float(angle) - zero for angle in model.jnt_range[first])
            stops = low, high
        kind, axis = ("continuous" if stops is None else "revolute"), model.jnt_axis[first].copy()
        if types == ["slide"]:
            kind = SLIDING
        return LinkJoint(self._joint_name(first), kind, "", name, origin + turn @ at, turn, axis, stops), at

    def _link(self, i: int, offset: Any) -> Link:
        """A body, in a frame that is moved to its joint."""
        model, turn = self._model, _matrix(self._model.body_iquat[i])
        inertia = turn @ np.diag(model.body_inertia[i]) @ turn.T
        mass = float(model.body_mass[i]) or None
        geoms = [g for g in range(model.ngeom) if model.geom_bodyid[g] == i]
        colliding = [g for g in geoms if model.geom_contype[g] or model.geom_conaffinity[g]]
        shapes = tuple(self._shape(g, offset) for g in colliding or geoms)
        return Link(self._body(i), mass, model.body_ipos[i] - offset, inertia, shapes)

    def _shape(self, g: int, offset: Any) -> Shape:
        kinds = self._of.mjtGeom
        kind, size = int(self._model.geom_type[g]), self._model.geom_size[g]
        place, turn = self._model.geom_pos[g] - offset, _matrix(self._model.geom_quat[g])
        if kind == int(kinds.mjGEOM_BOX):
            return Shape("box", tuple(float(2.0 * half) for half in size), place, turn)
        if kind == int(kinds.mjGEOM_CYLINDER):
            return Shape("cylinder", (float(size[0]), float(2.0 * size[1])), place, turn)
        if kind == int(kinds.mjGEOM_SPHERE):
            return Shape("sphere", (float(size[0]),), place, turn)
        return Shape("other", (), place, turn)

    def _couplings(self) -> Iterator[tuple[str, tuple[str, float, float]]]:
        """Joints that follow others in proportion."""
        model, connect = self._model, int(self._of.mjtEq.mjEQ_CONNECT)
        for e in range(model.neq):
            if not model.eq_active0[e] or int(model.eq_type[e]) == connect:
                continue
            poly, follower, source = model.eq_data[e][:5], int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
            if int(model.eq_type[e]) != int(self._of.mjtEq.mjEQ_JOINT) or source < 0 or poly[2:].any():
                allowed = "equality of two joints with a polynomial of degree 1, and <connect>"
                raise ValueError(f"equality {e} is a weld or another, or is not linear, allowed: {allowed}")
            yield self._joint_name(follower), (self._joint_name(source), float(poly[1]), float(poly[0]))

    def _balls(self, offsets: dict[str, Any]) -> Iterator[LinkBall]:
        """Points of two bodies, or two sites, that stay together (<connect>): these close loops."""
        model, of = self._model, self._of
        follow = {
            of.mj_id2name(model, of.mjtObj.mjOBJ_TEXT, i): bytes(model.text_data[at : at + size - 1]).decode()
            for i, (at, size) in enumerate(zip(model.text_adr, model.text_size, strict=True))
        }
        for e in range(model.neq):
            if not model.eq_active0[e] or int(model.eq_type[e]) != int(of.mjtEq.mjEQ_CONNECT):
                continue
            name = of.mj_id2name(model, of.mjtObj.mjOBJ_EQUALITY, e) or f"loop_{e}"
            ends = []
            for end, number in enumerate((int(model.eq_obj1id[e]), int(model.eq_obj2id[e]))):
                body, place = number, model.eq_data[e][3 * end : 3 * end + 3]
                if int(model.eq_objtype[e]) == int(of.mjtObj.mjOBJ_SITE):
                    body, place = int(model.site_bodyid[number]), model.site_pos[number]
                if self._body(body) not in offsets:
                    allowed = "two bodies of the rover"
                    raise ValueError(f"equality {name} connects body {self._body(body)}, allowed: {allowed}")
                ends.append((self._body(body), place - offsets[self._body(body)]))
            (link, place), (other, other_place) = ends
            joints = tuple(follow.get(FOLLOWING + name, "").split())
            if len(joints) not in (0, 3):
                allowed = "3, or no such text: then they are chosen"
                raise ValueError(f"text {FOLLOWING}{name}: {len(joints)} joints that follow, allowed: {allowed}")
            yield LinkBall(name, link, place, other, other_place, joints)


def _matrix(quaternion: Any) -> Any:
    """Rotation matrix (3, 3) of a quaternion w x y z; right angles that rounding has moved are put back."""
    turn = Rotation.from_quat(quaternion, scalar_first=True).as_matrix()
    whole = np.round(turn)
    return whole if np.abs(turn - whole).max() < 2e-5 else turn


class RoverFileError(ValueError):
    """A file that is no rover, or cannot be read or written; the message names what is wrong and what is allowed."""


def read_rover(
    path: Path,
    wheels: Sequence[str] | None = None,
    wheel_radius_m: float | None = None,
    wheel_width_m: float | None = None,
) -> ImportedRover:
    """The rover of a file.

    An MJCF is told by its first element, <mujoco>. Wheels are links or joints; without them those that are recognised.
    A radius or width [m] holds for every wheel; None: that of its shape.

    Raises RoverFileError: it cannot be read, or is no rover.
    """
    try:
        text = read_text(path, MOST_CHARACTERS)
        if _first_element(text) == "mujoco":
            linked = read_mjcf(text, path)
        else:
            linked = read_urdf(text)
        return rover_of(linked, wheels, wheel_radius_m, wheel_width_m)
    except (OSError, ValueError) as error:
        raise RoverFileError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _first_element(text: str) -> str:
    """Its name; "" of what is no XML, which the reader of URDF names. A URDF may have <mujoco> inside."""
    try:
        return str(next(element.tag for _, element in ElementTree.iterparse(io.StringIO(text), ("start",))))
    except (ElementTree.ParseError, StopIteration):
        return ""
