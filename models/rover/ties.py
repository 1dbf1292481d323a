"""Joints of a rover that depend on others: couplings of gears, and balls that close loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

Vector = tuple[float, float, float]


class TreeJoint(Protocol):
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


def check_couplings(rover: str, joints: Mapping[str, TreeJoint], couplings: Sequence[Coupling]) -> None:
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
