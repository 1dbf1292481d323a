"""Every rover of this package by its name, made from its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from models.rover.assembly import Parameters
from models.rover.exomars import exomars
from models.rover.exomars_like import exomars_like
from models.rover.parametric import parametric
from models.rover.rcp import rcp
from models.rover.rocker_bogie import rocker_bogie
from models.rover.rover import Rover

ROVERS: Mapping[str, Callable[..., Rover]] = MappingProxyType(
    {
        "rcp": rcp,
        "parametric": parametric,
        "exomars_like": exomars_like,
        "exomars": exomars,
        "rocker_bogie": rocker_bogie,
    }
)


def rover_of(parameters: Parameters, *, locks: Mapping[str, float | None] | None = None) -> Rover:
    """The rover whose parameters these are.

    Args:
        parameters: of any of the rovers in ROVERS.
        locks: see `models.rover.rcp`.

    Raises:
        ValueError: a lock of no joint.
    """
    return ROVERS[parameters.rover](locks=locks, **vars(parameters))
