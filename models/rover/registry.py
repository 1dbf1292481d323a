"""Every rover of this package: one entry each, and from its parameters to the rover."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from models.rover.assembly import Parameters
from models.rover.exomars import ExomarsParameters, exomars_tree
from models.rover.exomars_like import ExomarsLikeParameters, exomars_like_tree
from models.rover.juno import JunoParameters, juno_tree
from models.rover.parametric import ParametricParameters, parametric_tree
from models.rover.rcp import RcpParameters, rcp_tree
from models.rover.rocker_bogie import RockerBogieParameters, rocker_bogie_tree
from models.rover.rover import Rover
from models.rover.tree import Tree

Locks = Mapping[str, float | None]


@dataclass(frozen=True)
class RoverKind:
    """Description of a kind of rover.

    Attributes:
        parameters: its numbers, with their defaults; their class names the kind (`Parameters.rover`).
        tree: makes the tree from them.
        rig_locks: kinds of joints that a rig locks at zero, see `Tree.with_locks`.
        cylinder_joints: joints on which a rig has its air cylinders, in the order of their valves.
    """

    parameters: type[Parameters]
    tree: Callable[[Any], Tree]
    rig_locks: tuple[str, ...] = ("steering",)
    cylinder_joints: tuple[str, ...] = ("left_bogie", "right_bogie")

    def build(self, parameters: Parameters, *, locks: Locks | None = None) -> Rover:
        """A rover of this kind. Raises ValueError: a lock of an unknown joint."""
        return Rover(self.tree(parameters).with_locks(locks or {}))


ROVERS: Mapping[str, RoverKind] = MappingProxyType(
    {
        "rcp": RoverKind(RcpParameters, rcp_tree),
        "parametric": RoverKind(ParametricParameters, parametric_tree),
        "exomars_like": RoverKind(ExomarsLikeParameters, exomars_like_tree),
        "exomars": RoverKind(ExomarsParameters, exomars_tree),
        "rocker_bogie": RoverKind(RockerBogieParameters, rocker_bogie_tree),
        "juno": RoverKind(JunoParameters, juno_tree, rig_locks=(), cylinder_joints=()),
    }
)


def kind_of(parameters: Parameters) -> RoverKind:
    """The kind of rover whose parameters these are."""
    return ROVERS[parameters.rover]


def rover_of(parameters: Parameters, *, locks: Locks | None = None) -> Rover:
    """The rover whose parameters these are.

    Args:
        parameters: of any of the rovers in ROVERS.
        locks: see `models.rover.rcp`.

    Raises:
        ValueError: a lock of an unknown joint.

    Example:
        >>> rover_of(JunoParameters()).wheel_names
        ('front_left', 'front_right', 'rear_left', 'rear_right')
    """
    return kind_of(parameters).build(parameters, locks=locks)
