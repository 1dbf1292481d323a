"""Limits of the wheels' loads and of the cylinders' torques, and what is wrong with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

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
