"""Currents and supply voltages of several motor controllers as one sample."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from drivers.messages import PowerSample


class ControllerPower(NamedTuple):
    """Newest readings of one controller.

    Attributes:
        t_ns: when the older one was taken [ns]; -1 before both have been.
        current_A: by wheel [A].
        supply_V: [V].
    """

    t_ns: int
    current_A: dict[int, float]
    supply_V: float


def power_sample(controllers: Iterable[ControllerPower]) -> PowerSample:
    """The readings of all controllers, which together have every wheel."""
    each = tuple(controllers)
    currents = {wheel: current for one in each for wheel, current in one.current_A.items()}
    return PowerSample(
        min(one.t_ns for one in each),
        tuple(currents[wheel] for wheel in sorted(currents)),
        tuple(one.supply_V for one in each),
    )
