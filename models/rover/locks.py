"""A rover with joints locked that else turn, or locked at other angles, or free."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from models.rover.parameters import STEERING, Parameters
from models.rover.tree import Tree

if TYPE_CHECKING:
    from models.kernels.compiled import FloatArray
    from models.rover.rover import Rover  # imports kernels, which a config does without


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
