"""A rover as data: a tree of rigid bodies, revolute and prismatic joints (free, locked or coupled), loops, wheels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from models.rover.ties import Coupling, LoopChecks, LoopClosure, Vector, check_couplings

if TYPE_CHECKING:
    from models.kernels.compiled import FloatArray


@dataclass(frozen=True)
class Body:
    """One rigid body.

    Attributes:
        name: unique within the tree.
        mass: [kg], positive.
        com: centre of mass [m] in the body frame, whose origin is the joint to the parent.
        inertia: moments (xx, yy, zz) [kg m^2] about the centre of mass, along the body axes.
        products: entries (xy, xz, yz) of the same matrix; 0: the body axes are principal ones.
        size: sides [m] of the box, along the body axes around the centre of mass, that meets the ground if the rover
            turns over; None: it meets nothing. It counts for bodies that are fixed to the base.
    """

    name: str
    mass: float
    com: Vector
    inertia: Vector
    size: Vector | None = None
    products: Vector = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        for key, value, unit in (
            ("mass", self.mass, "kg"),
            ("com", self.com, "m"),
            ("inertia", self.inertia, "kg m^2"),
            ("products", self.products, "kg m^2"),
        ):
            if not np.isfinite(value).all():
                raise ValueError(f"body {self.name}: {key} is {value} {unit}, allowed: finite")
        if self.mass <= 0.0:
            raise ValueError(f"body {self.name}: mass is {self.mass} kg, allowed: above 0")
        if self.size is not None and not all(0.0 < side < math.inf for side in self.size):
            raise ValueError(f"body {self.name}: size is {self.size} m, allowed: each above 0, or None")
        turned = any(self.products)
        moments = np.linalg.eigvalsh(self.inertia_matrix).tolist() if turned else self.inertia
        if min(moments) <= 0.0 or 2.0 * max(moments) > sum(moments) * (1.0 + (1e-9 if turned else 1e-12)):
            found = f"inertia is {self.inertia} kg m^2"
            if turned:
                found = f"principal moments are {', '.join(f'{moment:.6g}' for moment in moments)} kg m^2"
            raise ValueError(
                f"body {self.name}: {found}, which breaks the triangle inequality, "
                "allowed: each above 0 and at most the sum of the other two"
            )

    @property
    def inertia_matrix(self) -> FloatArray:
        """Inertia (3, 3) [kg m^2] about the centre of mass, body axes."""
        (xx, yy, zz), (xy, xz, yz) = self.inertia, self.products
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    @property
    def box(self) -> Vector:
        """Sides [m] of the uniform box with the same mass and the same moments along the body axes."""
        total = sum(self.inertia)
        x, y, z = (math.sqrt(max(0.0, 6.0 / self.mass * (total - 2.0 * moment))) for moment in self.inertia)
        return x, y, z


@dataclass(frozen=True)
class Joint:
    """A revolute or prismatic joint that carries `child` on `parent`.

    Its coordinate is an angle [rad], or of one that slides a distance [m] along the axis. At zero the child's axes are
    parallel to the parent's, and its frame is at `origin`.

    Attributes:
        name: unique; joints that share a parent are kept in alphabetical order, as URDF readers do.
        parent: name of the carrying body.
        child: name of the carried body.
        origin: [m] in the parent's frame.
        axis: unit vector in the parent's frame; along one of the frame's axes if it is locked at an angle.
        locked_at: coordinate [rad, m] of a locked joint, or None for a free one.
        stops: coordinates [rad, m] at which it meets its lower and its upper stop, or None: it moves without end.
        slides: it is prismatic.
        stiffness: of a passive spring on it, relaxed at coordinate 0 [N m/rad, N/m]; 0: there is none.
        damping: of a passive damper on it [N m s/rad, N s/m].
    """

    name: str
    parent: str
    child: str
    origin: Vector
    axis: Vector
    locked_at: float | None = None
    stops: tuple[float, float] | None = None
    slides: bool = False
    stiffness: float = 0.0
    damping: float = 0.0

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, self.origin)):
            raise ValueError(f"joint {self.name}: origin is {self.origin} m, allowed: finite")
        length = math.hypot(*self.axis)
        if not abs(length - 1.0) <= 1e-9:
            raise ValueError(f"joint {self.name}: axis {self.axis} has length {length:.9g}, allowed: 1")
        if self.stops is not None and not (np.all(np.isfinite(self.stops)) and self.stops[0] < self.stops[1]):
            raise ValueError(
                f"joint {self.name}: stops are {self.stops} {self.unit}, allowed: finite, the lower one first, or None"
            )
        for key, value in (("stiffness", self.stiffness), ("damping", self.damping)):
            if not 0.0 <= value < math.inf:
                raise ValueError(f"joint {self.name}: {key} is {value}, allowed: 0 or more")
        if self.locked_at is None:
            return
        if not np.isfinite(self.locked_at):
            raise ValueError(f"joint {self.name}: locked_at is {self.locked_at} {self.unit}, allowed: finite, or None")
        if (
            self.locked_at and not self.slides and np.count_nonzero(self.axis) != 1
        ):  # URDF's angles cannot express other axes here
            raise ValueError(f"joint {self.name}: axis of a lock is {self.axis}, allowed: along x, y or z")

    @property
    def unit(self) -> str:
        """Of its coordinate: rad, or m of one that slides."""
        return "m" if self.slides else "rad"

    def placed(self, at: float) -> tuple[FloatArray, FloatArray]:
        """Origin (3,) [m] of the child's frame in the parent's, and parent axes from child axes (3, 3), at `at`."""
        if self.slides:
            return np.array(self.origin) + at * np.array(self.axis), np.eye(3)
        return np.array(self.origin), rotation_about(self.axis, at)

    @property
    def kind(self) -> str:
        """Last word of the name, the same for the joints of all legs: "drive" of "front_left_drive"."""
        return self.name.rsplit("_", 1)[-1]


@dataclass(frozen=True)
class WheelMount:
    """A wheel: the body that carries it and its cylinder, centred on the body's origin, axle along body y.

    Attributes:
        name: unique.
        body: name of the body.
        radius: [m]; of a crowned rim that of its middle.
        width: [m].
        crown: radius of the rim's arc across [m]; None: it is a cylinder.
    """

    name: str
    body: str
    radius: float
    width: float
    crown: float | None = None

    def __post_init__(self) -> None:
        for key, value in (("radius", self.radius), ("width", self.width)):
            if not (np.isfinite(value) and value > 0.0):
                raise ValueError(f"wheel {self.name}: {key} is {value} m, allowed: above 0")
        if self.crown is None:
            return
        if not 0.5 * self.width <= self.crown < math.inf:
            raise ValueError(
                f"wheel {self.name}: crown is {self.crown:g} m, allowed: at least {0.5 * self.width:g} m, half its "
                "width, or None"
            )
        edge = self.radius - self.crown + math.sqrt(self.crown**2 - 0.25 * self.width**2)
        if edge <= 0.0:
            raise ValueError(
                f"wheel {self.name}: crown is {self.crown:g} m, allowed: one whose edges lie outside the axle, "
                f"{self.radius:g} m away, or None"
            )


@dataclass(frozen=True)
class Tree:
    """The whole rover; `bodies[0]` is the free-flying base, couplings and closures make joints depend on others.

    `guided`: the base is a carriage on rails, and moves ahead and up only.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    wheels: tuple[WheelMount, ...]
    couplings: tuple[Coupling, ...] = ()
    closures: tuple[LoopClosure, ...] = ()
    guided: bool = False

    def __post_init__(self) -> None:
        for kind, names in (
            ("body", [body.name for body in self.bodies]),
            ("joint", [joint.name for joint in self.joints]),
            ("wheel", [wheel.name for wheel in self.wheels]),
            ("wheel's body", [wheel.body for wheel in self.wheels]),
            ("coupled joint", [coupling.joint for coupling in self.couplings]),
            ("closure", [closure.name for closure in self.closures]),
            ("dependent joint of a closure", [name for closure in self.closures for name in closure.dependent]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"rover {self.name}: {kind} named twice: {', '.join(twice)}")
        carried = {joint.child for joint in self.joints}
        known = {body.name for body in self.bodies}
        loose = sorted(known - carried - {self.bodies[0].name})
        strangers = sorted(
            ({joint.parent for joint in self.joints} | carried | {wheel.body for wheel in self.wheels}) - known
        )
        if loose or strangers:
            raise ValueError(f"rover {self.name}: bodies without a joint {loose}, unknown bodies {strangers}")
        # no body is loose, so one joint too many is a body carried twice or a carried base, and makes a loop
        if len(self.joints) != len(self.bodies) - 1 or self._reached() != known:
            raise ValueError(
                f"rover {self.name}: joints make a loop, allowed: each body but {self.bodies[0].name} carried once"
            )
        wheels = {wheel.body for wheel in self.wheels}
        if self.bodies[0].name in wheels:
            raise ValueError(f"rover {self.name}: a wheel is the base {self.bodies[0].name}, allowed: a carried body")
        for joint in self.joints:
            if joint.slides and joint.child in wheels:
                raise ValueError(f"rover {self.name}: wheel {joint.child} slides on {joint.name}, allowed: it turns")
        by_name = {joint.name: joint for joint in self.joints}
        check_couplings(self.name, by_name, self.couplings)
        if self.closures:
            LoopChecks(self.name, by_name, known, self.couplings, self.closures).check(wheels)

    def _reached(self) -> set[str]:
        """Names of the bodies carried by the base."""
        reached: set[str] = set()
        ahead = [self.bodies[0].name]
        while ahead:
            name = ahead.pop()
            reached.add(name)
            ahead += [joint.child for joint in self.joints if joint.parent == name and joint.child not in reached]
        return reached

    def with_locks(self, locks: Mapping[str, float | None]) -> Tree:
        """The same rover with other joints locked, or locked at other angles.

        Args:
            locks: by name of a joint ("front_left_steering") or kind of joint ("steering": all of them; a name has
                priority), the coordinate [rad, m] at which it is locked, or None where it is free.

        Raises:
            ValueError: no joint of that name or kind, or a coordinate that is not finite.
        """
        kinds = {joint.kind for joint in self.joints}
        unknown = sorted(set(locks) - kinds - {joint.name for joint in self.joints})
        if unknown:
            raise ValueError(
                f"rover {self.name}: locks of {', '.join(unknown)}, allowed: names of joints or one of {sorted(kinds)}"
            )
        joints = tuple(
            replace(joint, locked_at=locks.get(joint.name, locks.get(joint.kind, joint.locked_at)))
            for joint in self.joints
        )
        return replace(self, joints=joints)

    def with_load(self, name: str, mass: float, inertia: Vector, place: Vector) -> Tree:
        """The same rover with one more body, fixed to its base: mass [kg], principal moments, centre [m]."""
        seat = Joint(f"{name}_seat", self.bodies[0].name, name, place, (0.0, 1.0, 0.0), locked_at=0.0)
        load = Body(name, mass, (0.0, 0.0, 0.0), inertia)
        return replace(self, bodies=(*self.bodies, load), joints=(*self.joints, seat))

    @property
    def body(self) -> Mapping[str, Body]:
        """Bodies by name."""
        return {body.name: body for body in self.bodies}

    def children(self, parent: str) -> list[Joint]:
        """Joints carried by a body, in alphabetical order (the order in which URDF readers visit them)."""
        return sorted((joint for joint in self.joints if joint.parent == parent), key=lambda joint: joint.name)


def rotation_about(axis: Vector, angle: float) -> FloatArray:
    """Rotation matrix (3, 3) for an angle [rad] about a unit axis (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotation: FloatArray = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross)
    return rotation
