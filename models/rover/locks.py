"""A rover with joints locked that else turn, or locked at other angles, or free."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from models.rover.parameters import STEERING, Parameters
from models.rover.ties import path_to, place_at_zero
from models.rover.tree import Joint, Tree

if TYPE_CHECKING:
    from models.kernels.compiled import FloatArray
    from models.rover.rover import Rover  # imports kernels, which a config does without

# Up to this angle to the vertical [rad] an axis over a wheel steers it; a lever below [m] is none.
_UPRIGHT, _NO_LEVER_M = math.radians(30.0), 1e-3
_NOWHERE = (0.0, 0.0, 0.0)


def hanging(tree: Tree) -> dict[str, str]:
    """Free joints that nothing holds, by name, and what they do, in words: without a drive they are to be locked.

    Wheels on both sides of a joint's axis hold it, as a rocker. A stop does not: models end there. Joints that close
    loops, or have springs, are not judged.
    """
    carrier = {joint.child: joint for joint in tree.joints}
    by_name = {joint.name: joint for joint in tree.joints}
    paths = {mount: path_to(carrier, mount.body)[1:] for mount in tree.wheels}
    moved = {name: [(name, 1.0)] for name in by_name}
    for coupling in tree.couplings:
        for source, ratio in coupling.sources:
            moved[source].append((coupling.joint, ratio))
    axles = {mount.body for mount in tree.wheels}
    tied = {coupling.joint for coupling in tree.couplings} | {n for one in tree.closures for n in one.dependent}
    found = {}
    for joint in tree.joints:
        if joint.locked_at is not None or joint.child in axles or joint.name in tied or joint.stiffness:
            continue
        levers = [
            ratio * _lever(by_name[name], carrier, place_at_zero(carrier, mount.body, (0.0, 0.0, -mount.radius)))
            for name, ratio in moved[joint.name]
            for mount, path in paths.items()
            if by_name[name] in path
        ]
        low, high = min(levers, default=0.0), max(levers, default=0.0)
        if not levers:
            found[joint.name] = "carries no wheel"
        elif tree.closures:
            continue
        elif not joint.slides and abs(joint.axis[2]) > math.cos(_UPRIGHT) and any(joint in p for p in paths.values()):
            found[joint.name] = "steers"
        elif max(-low, high) <= _NO_LEVER_M:
            found[joint.name] = "is not pushed by the ground"
        elif low >= -_NO_LEVER_M or high <= _NO_LEVER_M:
            found[joint.name] = "yields under its wheels" if joint.stops is None else "is pushed to its stop"
    if not tree.closures:
        found |= dict.fromkeys(_line_of_body(tree, carrier, paths.values()), "lets the body turn over")
    return found


def _lever(joint: Joint, carrier: dict[str, Joint], contact: FloatArray) -> float:
    """Upward speed of a contact for a unit of the joint's speed [m, 1]."""
    if joint.slides:
        return joint.axis[2]
    x, y, _ = contact - place_at_zero(carrier, joint.child, _NOWHERE)
    return float(joint.axis[0] * y - joint.axis[1] * x)


def _line_of_body(tree: Tree, carrier: dict[str, Joint], paths: Iterable[list[Joint]]) -> Iterator[str]:
    """Names of the joints between body and wheels, if all lie on one line about which the body is free."""
    firsts: list[Joint] = []
    for path in paths:
        free = [joint for joint in path if joint.locked_at is None]
        if not free:
            return
        firsts.append(free[-1])
    if not firsts:
        return
    tied = {name for one in tree.couplings for name in (one.joint, *(source for source, _ in one.sources))}
    axis, place = np.array(firsts[0].axis), place_at_zero(carrier, firsts[0].child, _NOWHERE)
    for joint in firsts:
        apart = np.cross(place_at_zero(carrier, joint.child, _NOWHERE) - place, axis)
        askew = np.cross(joint.axis, axis)
        if joint.slides or joint.stops or joint.stiffness or joint.name in tied:
            return
        if np.abs(apart).max() > _NO_LEVER_M or np.abs(askew).max() > 1e-6:
            return
    yield from dict.fromkeys(joint.name for joint in firsts)


@functools.lru_cache(maxsize=64)
def locked(kind: type[Parameters], locks: tuple[tuple[str, float | None], ...]) -> type[Parameters]:
    """The same rover with joints locked, or free.

    Args:
        kind: of the rover.
        locks: by name or kind of a joint (`Tree.with_locks`), the angle at which it is locked [rad], or None: it turns.

    Returns:
        A rover whose tree has them; a rig does not lock what is locked or free here already.

    Example:
        >>> from models.rover import RcpParameters
        >>> locked(RcpParameters, (("rear_bogie", 0.0),)).turning()
        ('left_bogie', 'right_bogie')
    """
    named = dict(locks)

    def tree(self: Parameters) -> Tree:
        return kind.tree(self).with_locks(named)

    def rig_locks(cls: type[Parameters]) -> tuple[str, ...]:
        usual = kind.rig_locks()
        if not usual or STEERING in named:
            return ()
        joints = [joint.name for joint in cls._default_tree().joints if joint.kind == STEERING]
        left = joints if STEERING in usual else usual
        return tuple(name for name in left if name not in named) if {*joints} & {*named} else usual

    def reduce(self: Parameters) -> tuple[Any, ...]:
        return _made_again, (kind, locks, {name: getattr(self, name) for name in kind.quantities()})

    members = {"tree": tree, "rig_locks": classmethod(rig_locks), "__reduce__": reduce, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind,), {**members, "__module__": kind.__module__})


def with_joints_at(rover: Parameters, angles: tuple[tuple[str, float], ...]) -> Parameters:
    """A rover of the same numbers, with joints locked at these angles [rad]."""
    numbers = {name: getattr(rover, name) for name in rover.quantities()}
    return locked(type(rover), angles)(**numbers)  # type: ignore[arg-type]  # a class can be hashed


def held_rover(
    rover: Rover, q: FloatArray, v: FloatArray, joints: Sequence[str]
) -> tuple[Rover, FloatArray, FloatArray]:
    """A rover with joints locked where they are, and its configuration (nq,) and velocity (nv,).

    Args:
        rover: with these joints free.
        q: configuration over all joints that turn, as models.vehicle.VehicleState has it.
        v: velocity, likewise; how fast these joints turn is left out.
        joints: to lock.
    """
    q, v = rover.own_configuration(q), rover.own_speeds(v)
    if not joints:
        return rover, q, v
    place = {name: 6 + number for number, name in enumerate(rover.joint_names)}
    held = rover.with_locks({name: float(q[place[name] + 1]) for name in joints})
    left = [place[name] for name in held.joint_names]
    return held, np.concatenate([q[:7], q[[k + 1 for k in left]]]), np.concatenate([v[:6], v[left]])


def _made_again(
    kind: type[Parameters], locks: tuple[tuple[str, float | None], ...], numbers: dict[str, Any]
) -> Parameters:
    return locked(kind, locks)(**numbers)  # type: ignore[arg-type]  # a class can be hashed
