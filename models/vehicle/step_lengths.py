"""How long a step of time may be, by the state of the vehicle: short at the obstacle, long where nothing stiff is near."""

from __future__ import annotations

from typing import NamedTuple

from models.kernels.compiled import kernel
from models.vehicle.model import VehicleState

# A wheel is near the obstacle if it could reach it in so many of the longest steps; a grouser's tip is up to twice as
# fast as its rover.
_STEPS_AHEAD = 4


class StepLengths(NamedTuple):
    """Limits of a step of time [ns].

    Attributes:
        at_contact: of a wheel that touches the obstacle or is near it.
        free: elsewhere.
    """

    at_contact: int
    free: int


@kernel
def longest_step_ns(lengths: StepLengths, state: VehicleState) -> int:
    """Longest step that the state allows [ns]; a gap to the obstacle is that of the step before."""
    v, longest = state.v, lengths.free
    reach = 1e-9 * longest * _STEPS_AHEAD * (abs(v[0]) + abs(v[1]) + abs(v[2]))
    for gap in state.obstacle.gap:
        if gap < reach:
            longest = lengths.at_contact
    return longest
