"""From the full tree to the reduced model: bodies joined by locked joints become one.

A lock is the simplest case of the natural orthogonal complement (Cyril 1993 (18)-(21)): the columns of N that belong
to the locked speeds are dropped, and N^T M N of what is left is the inertia of the merged bodies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.compiled import FloatArray, IntArray
from models.rover.tree import Joint, Tree, rotation_about


class Chain(NamedTuple):
    """The reduced rover as arrays, body 0 the base, body i carried by joint i - 1 with speed number 5 + i.

    Attributes:
        parent: (bodies,) index of the carrying body; -1 for the base.
        speed_parent: (nv,) index of the speed next nearer to the base; -1 for speed 0.
        wheel_body: (wheels,) body that is each wheel.
        origin: (bodies, 3) joint origin [m] in the parent's frame.
        rotation: (bodies, 3, 3) parent axes from body axes at joint angle zero.
        axis: (bodies, 3) joint axis in the body's own frame.
        mass: (bodies,) [kg].
        com: (bodies, 3) centre of mass [m] in the body frame.
        inertia: (bodies, 3, 3) about the centre of mass [kg m^2] in body axes.
        wheel_radius: (wheels,) [m].
    """

    parent: IntArray
    speed_parent: IntArray
    wheel_body: IntArray
    origin: FloatArray
    rotation: FloatArray
    axis: FloatArray
    mass: FloatArray
    com: FloatArray
    inertia: FloatArray
    wheel_radius: FloatArray


class _Merged:
    """A reduced body while its members are being collected."""

    def __init__(self, parent: int, origin: FloatArray, rotation: FloatArray, axis: FloatArray) -> None:
        self.parent, self.origin, self.rotation, self.axis = parent, origin, rotation, axis
        self.members: list[tuple[float, FloatArray, FloatArray]] = []

    def mass_properties(self) -> tuple[float, FloatArray, FloatArray]:
        mass = sum(member[0] for member in self.members)
        com = sum((m * c for m, c, _ in self.members), np.zeros(3)) / mass
        inertia = np.zeros((3, 3))
        for m, c, about_own in self.members:
            arm = c - com
            inertia += about_own + m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return mass, com, inertia


def reduce(tree: Tree) -> tuple[Chain, tuple[str, ...]]:
    """Merge what is locked and number what is free, depth first, siblings in alphabetical order.

    Returns:
        The arrays and the names of the free joints in the order of their speeds.
    """
    merged: list[_Merged] = []
    index_of: dict[str, int] = {}
    free_joints: list[str] = []

    def visit(name: str, index: int, offset: FloatArray, turn: FloatArray) -> None:
        """Add body `name`, placed at (offset, turn) in the frame of reduced body `index`, and all it carries."""
        body = tree.body[name]
        index_of[name] = index
        merged[index].members.append(
            (body.mass, offset + turn @ np.array(body.com), turn @ np.diag(body.inertia) @ turn.T)
        )
        for joint in tree.children(name):
            origin = offset + turn @ np.array(joint.origin)
            if joint.locked_at is None:
                merged.append(_Merged(index, origin, turn.copy(), np.array(joint.axis)))
                free_joints.append(joint.name)
                visit(joint.child, len(merged) - 1, np.zeros(3), np.eye(3))
            else:
                visit(joint.child, index, origin, turn @ rotation_about(joint.axis, joint.locked_at))

    merged.append(_Merged(-1, np.zeros(3), np.eye(3), np.zeros(3)))
    visit(tree.bodies[0].name, 0, np.zeros(3), np.eye(3))

    properties = [body.mass_properties() for body in merged]
    parent = np.array([body.parent for body in merged], dtype=np.int64)
    chain = Chain(
        parent=parent,
        speed_parent=np.array([-1, 0, 1, 2, 3, 4] + [5 + p for p in parent[1:]], dtype=np.int64),
        wheel_body=np.array([index_of[wheel.body] for wheel in tree.wheels], dtype=np.int64),
        origin=np.array([body.origin for body in merged]),
        rotation=np.array([body.rotation for body in merged]),
        axis=np.array([body.axis for body in merged]),
        mass=np.array([mass for mass, _, _ in properties]),
        com=np.array([com for _, com, _ in properties]),
        inertia=np.array([inertia for _, _, inertia in properties]),
        wheel_radius=np.array([wheel.radius for wheel in tree.wheels]),
    )
    _require_free_wheels(tree, index_of, free_joints)
    return chain, tuple(free_joints)


def _require_free_wheels(tree: Tree, index_of: dict[str, int], free_joints: list[str]) -> None:
    joint_of: dict[str, Joint] = {joint.child: joint for joint in tree.joints}
    for wheel in tree.wheels:
        if joint_of[wheel.body].name not in free_joints:
            raise ValueError(f"rover {tree.name}: wheel {wheel.name} hangs on a locked joint; a wheel must turn")
        if list(index_of.values()).count(index_of[wheel.body]) > 1:
            raise ValueError(f"rover {tree.name}: wheel {wheel.name} carries other bodies; its axle must be its own")
