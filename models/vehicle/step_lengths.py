"""How long a step of time may be, by the state of the vehicle: long in a steady drive with nothing stiff near."""

from __future__ import annotations

from typing import NamedTuple

from models.kernels.compiled import IntArray, kernel
from models.vehicle.model import VehicleState

# A wheel is near the obstacle if it could reach it in so many of the longest steps; a grouser's tip is up to twice as
# fast as its rover.
_STEPS_AHEAD = 4
# A drive has settled if its axle turns as it was told to, within this [rad/s]; a cut one should stand.
_SETTLED = 2e-3


class StepLengths(NamedTuple):
    """Limits of a step of time [ns].

    Attributes:
        brief: while a wheel touches the obstacle or is near it, and until the drives have settled.
        steady: otherwise.
    """

    brief: int
    steady: int


@kernel
def longest_step_ns(lengths: StepLengths, driven: IntArray, wheel_body: IntArray, state: VehicleState) -> int:
    """Longest step that the state allows [ns]; a gap to the obstacle is that of the step before.

    `driven` are the wheels that have a motor (models.rover.reduction.Chain.motor_wheel).
    """
    v, drives = state.v, state.drives
    reach = 1e-9 * lengths.steady * _STEPS_AHEAD * (abs(v[0]) + abs(v[1]) + abs(v[2]))
    for gap in state.obstacle.gap:
        if gap < reach:
            return lengths.brief
    for wheel in driven:
        wished = 0.0 if drives.cut[wheel] > 0.0 else drives.set_speed[wheel]
        if abs(wished - v[5 + wheel_body[wheel]]) > _SETTLED:
            return lengths.brief
    return lengths.steady
