"""Whether the loops of a rover can be closed by the joints that are to follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from models.rover.ties import Coupling, LoopClosure, TreeJoint, Vector

if TYPE_CHECKING:
    from models.kernels.compiled import FloatArray


_Joint = TypeVar("_Joint", bound=TreeJoint)


def path_to(carrier: Mapping[str, _Joint], body: str) -> list[_Joint]:
    """The joints that carry a body, its own first; `carrier` gives the joint of each carried body."""
    path: list[_Joint] = []
    while body in carrier:
        path.append(carrier[body])
        body = carrier[body].parent
    return path


def place_at_zero(carrier: Mapping[str, TreeJoint], body: str, place: Vector) -> FloatArray:
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
        joints: Mapping[str, TreeJoint],
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
