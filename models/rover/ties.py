"""Joints of a rover that depend on others: couplings of gears, and balls that close loops, if they can be closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from models.kernels.compiled import FloatArray

Vector = tuple[float, float, float]


class _TreeJoint(Protocol):
    """What a tie asks of a joint: see `models.rover.tree.Joint`."""

    @property
    def name(self) -> str:
        """Unique."""

    @property
    def parent(self) -> str:
        """The carrying body."""

    @property
    def child(self) -> str:
        """The carried body."""

    @property
    def origin(self) -> Vector:
        """In the parent's frame [m]."""

    @property
    def axis(self) -> Vector:
        """Unit vector in the parent's frame."""

    @property
    def locked_at(self) -> float | None:
        """Coordinate [rad, m] of a locked joint."""

    @property
    def slides(self) -> bool:
        """It is prismatic."""


@dataclass(frozen=True)
class Coupling:
    """A gear between joints: the angle of `joint` is `offset` plus the sum of ratio times angle over `sources`.

    A differential between two rockers, which turn by equal and opposite angles (Xu 2021, section 1), is
    `Coupling("right_rocker", (("left_rocker", -1.0),))`.

    Attributes:
        joint: the dependent joint.
        sources: (independent joint, ratio), one or more.
        offset: [rad].

    Example:
        >>> differential = Coupling("right_rocker", (("left_rocker", -1.0),))
        >>> Coupling("right_rocker", (("right_rocker", -1.0),))
        Traceback (most recent call last):
            ...
        ValueError: coupling of right_rocker: it is coupled to itself, allowed: other joints
    """

    joint: str
    sources: tuple[tuple[str, float], ...]
    offset: float = 0.0

    def __post_init__(self) -> None:
        names = [name for name, _ in self.sources]
        if not names:
            raise ValueError(f"coupling of {self.joint}: sources is empty, allowed: one joint or more")
        if self.joint in names:
            raise ValueError(f"coupling of {self.joint}: it is coupled to itself, allowed: other joints")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"coupling of {self.joint}: source named twice: {', '.join(twice)}, allowed: once")
        for name, ratio in self.sources:
            if not (np.isfinite(ratio) and ratio != 0.0):
                raise ValueError(f"coupling of {self.joint}: ratio to {name} is {ratio}, allowed: finite and not 0")
        if not np.isfinite(self.offset):
            raise ValueError(f"coupling of {self.joint}: offset is {self.offset} rad, allowed: finite")


@dataclass(frozen=True)
class LoopClosure:
    """A ball joint that closes a loop: a point of one body stays on a point of another.

    Both are carried by the tree, and with all joints at zero the points coincide. Of a rod with ball ends one end is
    carried by two joints across each other, and the other end is the closure (`models.rover.TreeBuilder.add_rod`).

    Attributes:
        name: unique.
        body: a body.
        place: the point [m] in its frame.
        other: the other body.
        other_place: the point [m] in that one's frame.
        dependent: three joints whose angles follow from the loop; those of all closures together must suffice.

    Example:
        >>> ends = "rocker", (0.5, 0.0, 0.0), "rod", (0.0, 0.0, -0.3)
        >>> LoopClosure("rod_end", *ends, ("bar", "rod_swing", "rod_sway")).other
        'rod'
    """

    name: str
    body: str
    place: Vector
    other: str
    other_place: Vector
    dependent: tuple[str, str, str]

    def __post_init__(self) -> None:
        for place in (self.place, self.other_place):
            if len(place) != 3 or not np.all(np.isfinite(place)):
                raise ValueError(f"closure {self.name}: place is {place} m, allowed: three finite numbers")
        if self.body == self.other:
            raise ValueError(f"closure {self.name}: it ties body {self.body} to itself, allowed: two bodies")
        if len(set(self.dependent)) != 3:
            raise ValueError(f"closure {self.name}: dependent is {self.dependent}, allowed: three different joints")


def check_couplings(rover: str, joints: Mapping[str, _TreeJoint], couplings: Sequence[Coupling]) -> None:
    """Every coupled joint and every source is a free joint, and no source is itself coupled. Raises ValueError."""
    free = {name for name, joint in joints.items() if joint.locked_at is None}
    coupled = {coupling.joint for coupling in couplings}
    for coupling in couplings:
        for name in (coupling.joint, *(name for name, _ in coupling.sources)):
            if name not in free:
                raise ValueError(
                    f"rover {rover}: coupling of {coupling.joint}: {name} is locked or no joint, allowed: a free joint"
                )
        chained = sorted(coupled & {name for name, _ in coupling.sources})
        if chained:
            raise ValueError(
                f"rover {rover}: coupling of {coupling.joint}: source {', '.join(chained)} is coupled itself, "
                "allowed: independent joints"
            )


_Joint = TypeVar("_Joint", bound=_TreeJoint)


def path_to(carrier: Mapping[str, _Joint], body: str) -> list[_Joint]:
    """The joints that carry a body, its own first; `carrier` gives the joint of each carried body."""
    path: list[_Joint] = []
    while body in carrier:
        path.append(carrier[body])
        body = carrier[body].parent
    return path


def place_at_zero(carrier: Mapping[str, _TreeJoint], body: str, place: Vector) -> FloatArray:
    """A place of a body [m] in the base frame with all joints at zero, where all axes are parallel."""
    found: FloatArray = np.sum([place, *(joint.origin for joint in path_to(carrier, body))], axis=0)
    return found


class LoopChecks:
    """The loops of one rover.

    Args:
        rover: its name, for messages.
        joints: of its tree, by name.
        bodies: names of its bodies.
        couplings: of its joints.
        closures: of its loops.
    """

    def __init__(
        self,
        rover: str,
        joints: Mapping[str, _TreeJoint],
        bodies: set[str],
        couplings: Sequence[Coupling],
        closures: Sequence[LoopClosure],
    ) -> None:
        self._rover, self._joints, self._bodies = rover, joints, bodies
        self._couplings, self._closures = couplings, closures
        self._carrier = {joint.child: joint for joint in joints.values()}

    def check(self, wheels: set[str]) -> None:
        """Every loop is one of free, uncoupled joints, closed at joint angles zero, and says which of them follow.

        Raises:
            ValueError: one is not; `wheels` are the bodies that are wheels.
        """
        joints, loops = self._joints, self._joined()
        coupled = {name for one in self._couplings for name in (one.joint, *(source for source, _ in one.sources))}
        for closure in self._closures:
            said = f"rover {self._rover}: closure {closure.name}: "
            for name in closure.dependent:
                if name not in joints or joints[name].locked_at is not None:
                    raise ValueError(f"{said}{name} is locked or no joint, allowed: a free joint")
                if name not in loops or name in coupled or joints[name].child in wheels:
                    allowed = "a joint of a loop, without a coupling or a wheel"
                    raise ValueError(f"{said}{name} cannot follow from it, allowed: {allowed}")
            apart = place_at_zero(self._carrier, closure.body, closure.place) - place_at_zero(
                self._carrier, closure.other, closure.other_place
            )
            if not np.abs(apart).max() <= 1e-6:
                found = ", ".join(f"{part:.6g}" for part in apart)
                raise ValueError(
                    f"{said}its points are ({found}) m apart at joint angles zero, allowed: the same place"
                )
        if not np.linalg.cond(self._slope()) < 1e8:
            names = ", ".join(name for closure in self._closures for name in closure.dependent)
            raise ValueError(
                f"rover {self._rover}: the angles of {names} do not follow from its closures at joint angles zero, "
                "allowed: joints that these determine, and no dead centre"
            )
        follow = {one.joint for one in self._couplings} & loops
        if follow:
            raise ValueError(
                f"rover {self._rover}: joint {sorted(follow)[0]} is coupled and part of a loop, allowed: one of the two"
            )

    def _joined(self) -> set[str]:
        """Names of the joints between the two bodies of each closure. Raises ValueError: a closure of an unknown body.

        Joints that carry both bodies do not count: they turn the loop as a whole.
        """
        found: set[str] = set()
        for closure in self._closures:
            for name in (closure.body, closure.other):
                if name not in self._bodies:
                    raise ValueError(f"rover {self._rover}: closure {closure.name}: {name} is no body, allowed: one")
            found |= {joint.name for joint in path_to(self._carrier, closure.body)} ^ {
                j.name for j in path_to(self._carrier, closure.other)
            }
        return found

    def _slope(self) -> FloatArray:
        """Derivative (3 closures, 3 closures) of the points' distances by the dependent coordinates, joints at zero."""
        dependent = [name for closure in self._closures for name in closure.dependent]
        slope = np.zeros((3 * len(self._closures), len(dependent)))
        for k, closure in enumerate(self._closures):
            at = place_at_zero(self._carrier, closure.body, closure.place)
            for sign, body in ((1.0, closure.body), (-1.0, closure.other)):
                for joint in path_to(self._carrier, body):
                    if joint.name in dependent:
                        arm = at - place_at_zero(self._carrier, joint.child, (0.0, 0.0, 0.0))
                        moves = joint.axis if joint.slides else np.cross(joint.axis, arm)
                        slope[3 * k : 3 * k + 3, dependent.index(joint.name)] += sign * np.asarray(moves)
        return slope
