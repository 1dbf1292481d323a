"""From the full tree to the reduced model: locks merge bodies, couplings make joints depend on others.

Both are the natural orthogonal complement of Cyril 1993 (18)-(21), M~ = N^T M N. A lock is its simplest case: the
columns of N that belong to locked speeds are dropped, which leaves the inertia of the merged bodies, so locked joints
are not in the arrays. A coupled joint stays: kernels place bodies and collect forces over all joints that
turn ("tree speeds"), and only the factorisation (models.rover.factor) folds the few dependent rows into independent
ones. N of the couplings is constant, so it adds no term to the bias. N of a closed loop is not (models.rover.loops):
its ratios are among those of the couplings, and every placing (models.rover.dynamics.place_bodies) sets them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, IntArray
from models.rover.loops import Loops, make_loops
from models.rover.tree import Joint, Tree


class Chain(NamedTuple):
    """The reduced rover as arrays, body 0 the base, body i carried by joint i - 1 with speed number 5 + i.

    Below, `speeds` is the number of tree speeds, 6 + turning joints; without couplings it is nv.

    Attributes:
        parent: (bodies,) index of the carrying body; -1 for the base.
        speed_parent: (speeds,) index of the speed next nearer to the base; -1 for speed 0.
        elimination_parent: (speeds,) the same for the independent speeds of the coupled rover: where the factor of the
            folded mass matrix has entries. -1 for dependent speeds, equal to speed_parent without couplings.
        independent: (nv,) tree speed of each independent speed.
        dependent: (terms,) tree speed of a coupled joint; with `source` and `ratio` one term of one coupling,
            speed[dependent] = sum of ratio * speed[source].
        source: (terms,) independent tree speed.
        ratio: (terms,) [-]; those of closed loops come last, and are of the configuration that was placed last.
        offset: (speeds,) coordinate [rad, m] of a coupled joint with its sources at zero; 0 for others.
        wheel_body: (wheels,) body that is each wheel.
        motor_wheel: (motors,) the wheels with a motor: all except those coupled to another wheel (by a chain).
        origin: (bodies, 3) joint origin [m] in the parent's frame.
        rotation: (bodies, 3, 3) parent axes from body axes at joint angle zero, and for good where the joint slides.
        axis: (bodies, 3) joint axis in the body's frame.
        carried_axis: (bodies, 3) joint axis in the parent's frame.
        sideways: (bodies, 3, 3) rotation times the cross product with the axis, [a]x.
        inwards: (bodies, 3, 3) rotation times [a]x [a]x: with the joint at an angle, parent axes from body axes are
            rotation + sin(angle) sideways + (1 - cos(angle)) inwards.
        base_inertia: (10,) of body 0 about its origin, as `Work.inertia`.
        mass: (bodies,) [kg]; of a carrier, with the round bodies that it carries, whose mass here is 0.
        com: (bodies, 3) centre of mass [m] in the body frame.
        inertia: (bodies, 3, 3) about the centre of mass [kg m^2] in body axes.
        wheel_radius: (wheels,) [m]; of a crowned rim that of its middle.
        crown: (wheels, 2) radius of each rim's crown and half its width [m], without one its radius and infinity, as
            a sphere; None: no rim has any.
        spin_inertia: (bodies,) of a round body about its joint's axis [kg m^2]; 0 for all others. A round body is the
            same at any angle of its joint, and carries no body: a wheel. Its mass belongs to its carrier's inertia, and
            only its spin is treated separately.
        slides: (bodies,) 1 where the joint slides along its axis and 0 where it turns; None: all turn, which costs
            nothing.
        loops: the closed loops, or None, which costs nothing: kernels know which when they are compiled. A rover with
            loops is for one vehicle, and for one thread at a time.
    """

    parent: IntArray
    speed_parent: IntArray
    elimination_parent: IntArray
    independent: IntArray
    dependent: IntArray
    source: IntArray
    ratio: FloatArray
    offset: FloatArray
    wheel_body: IntArray
    motor_wheel: IntArray
    origin: FloatArray
    rotation: FloatArray
    axis: FloatArray
    carried_axis: FloatArray
    sideways: FloatArray
    inwards: FloatArray
    base_inertia: FloatArray
    mass: FloatArray
    com: FloatArray
    inertia: FloatArray
    wheel_radius: FloatArray
    crown: FloatArray | None
    spin_inertia: FloatArray
    slides: IntArray | None
    loops: Loops | None


class _MergedBody:
    """A reduced body while its members are being collected."""

    def __init__(
        self, parent: int, origin: FloatArray, rotation: FloatArray, axis: FloatArray, *, slides: bool = False
    ) -> None:
        self.parent, self.origin, self.rotation, self.axis, self.slides = parent, origin, rotation, axis, slides
        self.members: list[tuple[float, FloatArray, FloatArray]] = []

    def mass_properties(self) -> tuple[float, FloatArray, FloatArray]:
        if not self.members:
            return 0.0, np.zeros(3), np.zeros((3, 3))
        mass = sum(member[0] for member in self.members)
        com = sum((m * c for m, c, _ in self.members), np.zeros(3)) / mass
        inertia = np.zeros((3, 3))
        for m, c, about_own in self.members:
            arm = c - com
            inertia += about_own + m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return mass, com, inertia


def _crowns(tree: Tree) -> FloatArray | None:
    """`Chain.crown` of the wheels."""
    if all(wheel.crown is None for wheel in tree.wheels):
        return None
    return np.array(
        [(wheel.radius, math.inf) if wheel.crown is None else (wheel.crown, 0.5 * wheel.width) for wheel in tree.wheels]
    )


def reduce(tree: Tree) -> tuple[Chain, tuple[str, ...]]:
    """Merge locked bodies and number turning ones, depth first, siblings in alphabetical order.

    Returns:
        The arrays and the names of the turning joints in the order of their tree speeds.
    """
    merged: list[_MergedBody] = []
    index_of: dict[str, int] = {}
    placed: dict[str, tuple[FloatArray, FloatArray]] = {}
    free_joints: list[str] = []

    def visit(name: str, index: int, offset: FloatArray, turn: FloatArray) -> None:
        """Add body `name`, placed at (offset, turn) in the frame of reduced body `index`, and all that it carries."""
        body = tree.body[name]
        index_of[name], placed[name] = index, (offset, turn)
        merged[index].members.append(
            (body.mass, offset + turn @ np.array(body.com), turn @ body.inertia_matrix @ turn.T)
        )
        for joint in tree.children(name):
            if joint.locked_at is None:
                origin = offset + turn @ np.array(joint.origin)
                merged.append(_MergedBody(index, origin, turn.copy(), np.array(joint.axis), slides=joint.slides))
                free_joints.append(joint.name)
                visit(joint.child, len(merged) - 1, np.zeros(3), np.eye(3))
            else:
                place, axes = joint.placed(joint.locked_at)
                visit(joint.child, index, offset + turn @ place, turn @ axes)

    merged.append(_MergedBody(-1, np.zeros(3), np.eye(3), np.zeros(3)))
    visit(tree.bodies[0].name, 0, np.zeros(3), np.eye(3))

    parent = np.array([body.parent for body in merged], dtype=np.int64)
    spin_inertia = _join_round(merged)
    properties = [body.mass_properties() for body in merged]
    speed_parent = np.array([-1, 0, 1, 2, 3, 4] + [5 + p for p in parent[1:]], dtype=np.int64)
    number = {name: 6 + k for k, name in enumerate(free_joints)}
    terms = [
        (number[coupling.joint], number[source], ratio)
        for coupling in tree.couplings
        for source, ratio in coupling.sources
    ]
    loops = _loops(tree, merged, index_of, placed, number, len(terms))
    if loops is not None:
        terms += [(int(d), int(s), 0.0) for d in loops.dependent for s in loops.source]
    dependent = {term[0] for term in terms}
    offset = np.zeros(speed_parent.size)
    for coupling in tree.couplings:
        offset[number[coupling.joint]] = coupling.offset
    wheel_body = np.array([index_of[wheel.body] for wheel in tree.wheels], dtype=np.int64)
    rotation, axis = np.array([body.rotation for body in merged]), np.array([body.axis for body in merged])
    crossed = np.cross(axis[:, None, :], np.eye(3)).swapaxes(1, 2)
    chain = Chain(
        parent=parent,
        speed_parent=speed_parent,
        elimination_parent=_elimination_parent(speed_parent, terms),
        independent=np.array([k for k in range(speed_parent.size) if k not in dependent], dtype=np.int64),
        dependent=np.array([term[0] for term in terms], dtype=np.int64),
        source=np.array([term[1] for term in terms], dtype=np.int64),
        ratio=np.array([term[2] for term in terms], dtype=np.float64),
        offset=offset,
        wheel_body=wheel_body,
        motor_wheel=np.array([k for k, body in enumerate(wheel_body) if 5 + body not in dependent], dtype=np.int64),
        origin=np.array([body.origin for body in merged]),
        rotation=rotation,
        axis=axis,
        carried_axis=np.einsum("iab,ib->ia", rotation, axis),
        sideways=rotation @ crossed,
        inwards=rotation @ crossed @ crossed,
        base_inertia=_about_origin(*properties[0]),
        mass=np.array([mass for mass, _, _ in properties]),
        com=np.array([com for _, com, _ in properties]),
        inertia=np.array([inertia for _, _, inertia in properties]),
        wheel_radius=np.array([wheel.radius for wheel in tree.wheels]),
        crown=_crowns(tree),
        spin_inertia=spin_inertia,
        slides=np.array([body.slides for body in merged], np.int64) if any(body.slides for body in merged) else None,
        loops=loops,
    )
    _require_free_wheels(tree, index_of, free_joints)
    return chain, tuple(free_joints)


def _loops(
    tree: Tree,
    merged: list[_MergedBody],
    index_of: dict[str, int],
    placed: dict[str, tuple[FloatArray, FloatArray]],
    number: dict[str, int],
    first_term: int,
) -> Loops | None:
    """The closures of a tree between reduced bodies; None: it has none."""
    if not tree.closures:
        return None
    body, point = np.zeros((len(tree.closures), 2), dtype=np.int64), np.zeros((len(tree.closures), 2, 3))
    for k, closure in enumerate(tree.closures):
        for end, (name, place) in enumerate(((closure.body, closure.place), (closure.other, closure.other_place))):
            offset, turn = placed[name]
            i, at = index_of[name], offset + turn @ np.array(place)
            axis = merged[i].axis
            if i > 0 and not merged[i].slides and np.abs(np.cross(at, axis)).max() <= 1e-12:
                # a point on the axis of its body's joint is one of the carrier too: the rod may spin about itself
                i, at = merged[i].parent, merged[i].origin + merged[i].rotation @ at
            body[k, end], point[k, end] = i, at
    dependent = [number[name] for closure in tree.closures for name in closure.dependent]
    inside: set[int] = set()
    for pair in body.tolist():
        first, second = (_speeds_above(merged, i) for i in pair)
        inside |= first ^ second
    source = sorted(inside - set(dependent))
    speeds = 5 + len(merged)
    return make_loops(
        body, point, np.array(dependent, dtype=np.int64), np.array(source, dtype=np.int64), first_term, speeds
    )


def _speeds_above(merged: list[_MergedBody], body: int) -> set[int]:
    """Tree speeds of the joints that carry a reduced body, its own included."""
    speeds: set[int] = set()
    while body > 0:
        speeds.add(5 + body)
        body = merged[body].parent
    return speeds


def _join_round(merged: list[_MergedBody]) -> FloatArray:
    """Move the members of each round body to its carrier; the inertia of their spin."""
    spin_inertia = np.zeros(len(merged))
    carriers = {body.parent for body in merged}
    for i, body in enumerate(merged):
        if i == 0 or i in carriers or body.slides:
            continue
        mass, com, inertia = body.mass_properties()
        along = float(body.axis @ inertia @ body.axis)
        across = 0.5 * (float(np.trace(inertia)) - along)
        revolution = across * np.eye(3) + (along - across) * np.outer(body.axis, body.axis)
        off_axis = com - (com @ body.axis) * body.axis
        if np.abs(inertia - revolution).max() > 1e-12 * along or np.abs(off_axis).max() > 1e-12:
            continue
        spin_inertia[i] = along
        turn = body.rotation
        merged[body.parent].members.append((mass, body.origin + turn @ com, turn @ inertia @ turn.T))
        body.members = []
    return spin_inertia


def _about_origin(mass: float, com: FloatArray, inertia: FloatArray) -> FloatArray:
    """Mass, first moment and moments xx xy xz yy yz zz (10,) about the body's origin."""
    about = inertia + mass * (com @ com * np.eye(3) - np.outer(com, com))
    return np.array([mass, *(mass * com), *about[np.triu_indices(3)]])


def _elimination_parent(speed_parent: IntArray, terms: list[tuple[int, int, float]]) -> IntArray:
    """Elimination tree of N^T M N: each body's path to the base, dependent speeds replaced by their sources.

    Speeds that move the same body have common entries in the mass matrix. Eliminating the last of them couples the
    others; the next of these is its parent (elimination tree of sparse Cholesky factorisation, from the last row up).
    """
    sources: dict[int, set[int]] = {}
    for joint, source, _ in terms:
        sources.setdefault(joint, set()).add(source)
    meets: list[set[int]] = [set() for _ in speed_parent]  # earlier speeds with which a speed has an entry
    for last in range(speed_parent.size):
        path: set[int] = set()
        k = last
        while k >= 0:
            path |= sources.get(k, {k})
            k = int(speed_parent[k])
        for k in path:
            meets[k] |= {j for j in path if j < k}
    parent = np.full(speed_parent.size, -1, dtype=np.int64)
    for k in range(speed_parent.size - 1, 0, -1):
        if meets[k]:
            parent[k] = max(meets[k])
            meets[parent[k]] |= meets[k] - {int(parent[k])}
    return parent


def _require_free_wheels(tree: Tree, index_of: dict[str, int], free_joints: list[str]) -> None:
    joint_of: dict[str, Joint] = {joint.child: joint for joint in tree.joints}
    for wheel in tree.wheels:
        if joint_of[wheel.body].name not in free_joints:
            raise ValueError(f"rover {tree.name}: wheel {wheel.name} is carried by a locked joint; a wheel must turn")
        if list(index_of.values()).count(index_of[wheel.body]) > 1:
            raise ValueError(f"rover {tree.name}: wheel {wheel.name} carries other bodies; its axle must be its own")
