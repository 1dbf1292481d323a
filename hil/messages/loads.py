"""Wheel loads: which distribution is wanted, and what the controller makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Literal

import msgspec

from hil.messages.load_limits import share_errors

# Modes that need nothing but their name; what the load control can be asked for; what a traction experiment compares.
_PlainModeName = Literal["passive", "uniform", "max_traction"]
LoadModeName = Literal[_PlainModeName, "hold", "share", "unload"]
TractionModeName = Literal[_PlainModeName, "front_heavy", "rear_heavy"]


class LoadMode(IntEnum):
    """How the weight is to be shared among the wheels."""

    PASSIVE = 0  # valves off, both ports open: the joints are free
    HOLD = 1  # the torques of the moment at which this mode began
    UNIFORM = 2
    SHARE = 3  # given shares
    MAX_TRACTION = 4  # the largest drawbar pull on the twin's soil
    UNLOAD = 5  # one wheel as light as the limits allow


def load_modes(ground: str) -> tuple[LoadMode, ...]:
    """The modes that there are on a ground of that kind: the pull of a wheel is known on soil only."""
    return tuple(mode for mode in LoadMode if mode is not LoadMode.MAX_TRACTION or ground in ("soil", "scan"))


class LoadGoal(msgspec.Struct, frozen=True, gc=False):
    """The wanted distribution of wheel loads.

    Attributes:
        mode: of `LoadMode`.
        share: (wheels,) of the whole load, with sum 1, for SHARE; else empty.
        wheel: index of the wheel to unload, for UNLOAD; else -1.
    """

    mode: int
    share: tuple[float, ...] = ()
    wheel: int = -1


def load_goal(mode: LoadModeName, share: Sequence[float], wheel: str, wheels: Sequence[str]) -> LoadGoal:
    """The goal that names describe.

    Args:
        mode: name of a `LoadMode`, in lower case.
        share: (wheels,) for share, else ignored.
        wheel: name of the one to unload, for unload, else ignored.
        wheels: names of all wheels.

    Raises:
        ValueError: with everything that is wrong.
    """
    if wrong := goal_errors(mode, share, wheel, wheels):
        raise ValueError("; ".join(wrong))
    number = LoadMode[mode.upper()]
    of_share = tuple(share) if number is LoadMode.SHARE else ()
    return LoadGoal(number, of_share, wheels.index(wheel) if number is LoadMode.UNLOAD else -1)


def goal_errors(mode: LoadModeName, share: Sequence[float], wheel: str, wheels: Sequence[str]) -> list[str]:
    """What is wrong with a goal given by names, one sentence each; arguments as `load_goal`."""
    if mode == "share":
        return share_errors(share, wheels)
    if mode == "unload" and wheel not in wheels:
        return [f"wheel {wheel!r} cannot be unloaded, allowed: {', '.join(wheels)}"]
    return []


class LoadSetPoints(msgspec.Struct, frozen=True, gc=False):
    """Set-points of the load controller in one tick, for the record.

    Attributes:
        mode: that acts, of `LoadMode`: PASSIVE whatever is wanted while anything is in doubt.
        load_N: (wheels,) the distribution aimed at, the nearest feasible one to the goal.
        torque_Nm: (cylinders,) on the joints, wanted.
        pressure_Pa: (cylinders, 2) gauge pressures wanted, by (extend, retract), one after the other.
        binding: limits that keep the goal from being reached, a bit each (hil.control.allocation).
    """

    mode: int
    load_N: tuple[float, ...]
    torque_Nm: tuple[float, ...]
    pressure_Pa: tuple[float, ...]
    binding: int = 0
