"""Wheel loads: which distribution is wanted, and what the controller makes of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Literal, NamedTuple

import msgspec

# What keeps a distribution from being reached; a bit each, in this order, of `Allocation.binding`.
LIMIT_NAMES = ("equilibrium", "cylinders", "torque", "pressure", "slew", "least_load", "most_load", "solver")
EQUILIBRIUM, CYLINDERS, TORQUE, PRESSURE, SLEW, LEAST_LOAD, MOST_LOAD, SOLVER = (1 << bit for bit in range(8))
# Shares may miss a sum of 1 by so much: two decimals each of six wheels.
SHARE_TOLERANCE = 0.005


class LoadLimits(NamedTuple):
    """Limits of a distribution of loads.

    Attributes:
        torque_Nm: of each cylinder on its joint, either way.
        slew_Nmps: fastest change of a wanted torque.
        least_load_N: of each wheel.
        most_load_N: likewise.
    """

    torque_Nm: float = 60.0
    slew_Nmps: float = 120.0
    least_load_N: float = 20.0
    most_load_N: float = math.inf


def binding_names(binding: int) -> tuple[str, ...]:
    """Names of the limits in `Allocation.binding`."""
    return tuple(name for bit, name in enumerate(LIMIT_NAMES) if binding >> bit & 1)


def share_errors(share: Sequence[float], wheels: Sequence[str]) -> list[str]:
    """What is wrong with wanted shares of the whole load, one sentence each."""
    if len(share) != len(wheels):
        return [f"{len(share)} shares, needed: {len(wheels)}, one for each of {', '.join(wheels)}"]
    wrong = [
        f"the share of {name} is {value:g}, allowed: 0 to 1"
        for name, value in zip(wheels, share, strict=True)
        if not 0.0 <= value <= 1.0
    ]
    total = math.fsum(share)
    if not abs(total - 1.0) <= SHARE_TOLERANCE:
        wrong.append(f"the shares {', '.join(f'{value:g}' for value in share)} add up to {total:.4g}, needed: 1")
    return wrong


def limit_errors(limits: LoadLimits, load_N: Sequence[float], wheels: Sequence[str]) -> list[str]:
    """What is wrong with limits for a rover whose wheels now bear load_N (passive, or as the cylinders push)."""
    wrong = [
        f"{name} is {value:g}, allowed: above 0"
        for name, value in limits._asdict().items()
        if name != "least_load_N" and not value > 0.0
    ]
    mean = math.fsum(load_N) / len(wheels)
    if not 0.0 <= limits.least_load_N < mean:
        wrong.append(
            f"least_load_N is {limits.least_load_N:g} N, allowed: 0 to below the mean load of the wheels, {mean:.0f} N"
        )
    if not limits.most_load_N > mean:
        wrong.append(
            f"most_load_N is {limits.most_load_N:g} N, allowed: above the mean load of the wheels, {mean:.0f} N"
        )
    for name, load in zip(wheels, load_N, strict=True):
        if load < limits.least_load_N:
            wrong.append(
                f"{name} bears {load:.0f} N to begin with, below least_load_N, {limits.least_load_N:g} N: "
                "lower that limit, or move the payload"
            )
        if load > limits.most_load_N:
            wrong.append(
                f"{name} bears {load:.0f} N to begin with, above most_load_N, {limits.most_load_N:g} N: "
                "raise that limit, or move the payload"
            )
    return wrong


def require_shares(share: Sequence[float], wheels: Sequence[str]) -> None:
    """Raises ValueError with everything that is wrong with wanted shares."""
    if wrong := share_errors(share, wheels):
        raise ValueError("; ".join(wrong))


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
        binding: limits that keep the goal from being reached, a bit each (hil.control.normal_force).
    """

    mode: int
    load_N: tuple[float, ...]
    torque_Nm: tuple[float, ...]
    pressure_Pa: tuple[float, ...]
    binding: int = 0
