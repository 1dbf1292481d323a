"""Whether a simulated rig itself stays within what its models hold for: it deviates from its twin."""

from __future__ import annotations

from typing import NamedTuple

from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import kernel
from models.rover.rover import Rover
from models.validity import LIFTED, VALIDITIES
from models.vehicle import VehicleModel, VehicleState
from models.vehicle.invariants import Invariants, check_invariants, make_invariants

# How often a rig is looked at, at most [ns]: what counts lasts for 0.1 s and more, and a look takes 1 us.
EVERY_NS = 5_000_000


class RangeExit(NamedTuple):
    """The first range of models.validity that a rig left.

    Attributes:
        t_ns: since when it was outside [ns].
        value: found once that counted.
        limit: allowed.
        words: which range, for people.
    """

    t_ns: int
    value: float
    limit: float
    words: str


class ValidityWatch:
    """Looks at a vehicle while it moves, until it has left a range.

    Args:
        rover: whose wheels have names.
        vehicle: that moves.
        state: of it, which the caller changes.
        tilt_deg: largest tilt of its main body [deg].

    Attributes:
        outside: the range that was left first; None: none yet.
    """

    def __init__(self, rover: Rover, vehicle: VehicleModel, state: VehicleState, tilt_deg: float) -> None:
        self._wheel_names = rover.wheel_names
        self._invariants = make_invariants(rover, vehicle, state, tilt_deg)
        self._watched = BoundArguments(self._invariants)
        self._looked_ns = 0
        self.outside: RangeExit | None = None

    def look(self, t_ns: int) -> None:
        """It has moved until t_ns [ns]."""
        span_ns = t_ns - self._looked_ns
        if span_ns < EVERY_NS or self.outside is not None:
            return
        self._looked_ns = t_ns
        if code := int(_look(self._watched, span_ns * 1e-9)):
            self.outside = self._left(code, t_ns)

    def _left(self, code: int, t_ns: int) -> RangeExit:
        validity, (_, value, limit) = VALIDITIES[code], self._invariants.found.tolist()
        since_s, words = float(self._invariants.since_s[code]), validity.words(value, limit)
        if code == LIFTED:
            wheel = int(self._invariants.lifted_s.argmax())
            since_s = float(self._invariants.lifted_s[wheel])
            words = f"{self._wheel_names[wheel].replace('_', ' ')} wheel off the ground for {since_s:.2f} s"
        return RangeExit(t_ns - round(since_s * 1e9), value, limit, words)


@kernel
def _look(watched: BoundArguments[Invariants], span: float) -> float:
    invariants = unpack(watched)
    check_invariants(invariants, span)
    return float(invariants.found[0])
