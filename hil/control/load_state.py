"""What the load controller knows of the rig in a tick, smoothed, and every doubt about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hil.messages.stages import Estimate, Prediction, Samples

# Doubts, a bit each above the limits of an allocation in `LoadSetPoints.binding`.
DOUBT_NAMES = ("pressure_unknown", "pressure_does_not_follow", "load_unknown", "load_disagrees", "no_solution")
_FIRST = 16
# A chamber comes nearer if it moves by this part of the limit while it counts.
_PROGRESS = 0.2
PRESSURE_UNKNOWN, DOES_NOT_FOLLOW, LOAD_UNKNOWN, DISAGREES, NO_SOLUTION = (
    1 << (_FIRST + bit) for bit in range(len(DOUBT_NAMES))
)


def doubt_names(binding: int) -> tuple[str, ...]:
    """Names of the doubts in `LoadSetPoints.binding`."""
    return tuple(name for bit, name in enumerate(DOUBT_NAMES) if binding >> (_FIRST + bit) & 1)


class Smoothed:
    """Loads and torques behind the same first-order filter, so that the torques' part of the loads cancels.

    Args:
        share: of a new value, 0 to 1.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self.values: tuple[float, ...] = ()

    def add(self, values: Sequence[float]) -> None:
        """Take the values of a tick; the first ones as they are."""
        if not self.values:
            self.values = tuple(values)
            return
        share = self._share
        self.values = tuple([last + share * (new - last) for last, new in zip(self.values, values, strict=True)])

    def forget(self) -> None:
        """Begin anew with the next values."""
        self.values = ()


class DoubtSettings(NamedTuple):
    """From when on something counts as wrong.

    Attributes:
        follow_Pa: a chamber is this far from its wanted pressure.
        disagreement_N: a leg sensor is this far from the rover twin.
        ticks: for so many ticks in a row, plus one.
    """

    follow_Pa: float
    disagreement_N: float
    ticks: int


class Doubts:
    """Looks for reasons not to push.

    Args:
        settings: limits.
        sensors: the loads come from leg sensors.
    """

    def __init__(self, settings: DoubtSettings, *, sensors: bool) -> None:
        self._settings, self._sensors = settings, sensors
        self._apart: list[int] = []
        self._seen_Pa: list[float] = []
        self._disagree = 0

    def forget(self) -> None:
        """Count anew."""
        self._apart, self._seen_Pa, self._disagree = [], [], 0

    def found(self, samples: Samples, estimate: Estimate, prediction: Prediction, wanted_Pa: Sequence[float]) -> int:
        """The doubts of this tick, a bit each.

        Args:
            samples: of the tick.
            estimate: of the tick.
            prediction: of the tick.
            wanted_Pa: (chambers,) gauge pressures wanted since the last tick.
        """
        measured_Pa = [pressure for pair in samples.valves.pressure_Pa for pressure in pair]
        if not math.isfinite(sum(measured_Pa)):
            return PRESSURE_UNKNOWN
        loads = estimate.wheel_load_N if self._sensors else prediction.normal_force_N
        if not loads or not math.isfinite(sum(loads)) or not prediction.finite:
            return LOAD_UNKNOWN
        return self._following(measured_Pa, wanted_Pa) | self._disagreeing(loads, prediction)

    def _following(self, measured_Pa: Sequence[float], wanted_Pa: Sequence[float]) -> int:
        """A chamber that is far away counts while it comes no nearer: a throttled line takes its time."""
        limit_Pa, worst = self._settings.follow_Pa, 0
        if not self._apart:
            self._apart, self._seen_Pa = [0] * len(measured_Pa), list(measured_Pa)
        for chamber, (measured, wanted) in enumerate(zip(measured_Pa, wanted_Pa, strict=True)):
            error = wanted - measured
            way = measured - self._seen_Pa[chamber]
            if abs(error) <= limit_Pa or (way if error > 0.0 else -way) > _PROGRESS * limit_Pa:
                self._apart[chamber], self._seen_Pa[chamber] = 0, measured
            else:
                self._apart[chamber] += 1
            worst = max(worst, self._apart[chamber])
        return DOES_NOT_FOLLOW if worst > self._settings.ticks else 0

    def _disagreeing(self, loads: Sequence[float], prediction: Prediction) -> int:
        if not self._sensors:
            return 0
        limit_N = self._settings.disagreement_N
        apart = any(abs(one - other) > limit_N for one, other in zip(loads, prediction.normal_force_N, strict=True))
        self._disagree = self._disagree + 1 if apart else 0
        return DISAGREES if self._disagree > self._settings.ticks else 0
