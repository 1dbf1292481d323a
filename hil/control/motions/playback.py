"""What a timeline sets at a time: smooth between its samples, ready for a tick."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.control.motions.timeline import STEP_S, Timeline

_STEP_NS = round(STEP_S * 1e9)
Numbers = tuple[float, ...]


class Playback:
    """The set-points of a timeline in plain numbers.

    Args:
        line: that is played.

    Attributes:
        length_ns: how long it lasts [ns].
    """

    def __init__(self, line: Timeline) -> None:
        self._speeds = [tuple(row) for row in line.speeds.tolist()]
        self._angles = [tuple(row) for row in line.angles.tolist()]
        # changes in a step: with them angles between two samples are smooth, as the limiter wants them
        changes = np.gradient(line.angles, axis=0) if len(line.angles) > 1 else np.zeros_like(line.angles)
        self._changes = [tuple(row) for row in changes.tolist()]
        self.length_ns = _STEP_NS * (len(self._speeds) - 1)

    def at(self, elapsed_ns: int) -> tuple[Numbers, Numbers]:
        """Speeds of the drives (wheels,) [rad/s] and angles of the joints (servos,) [rad], so long after the begin.

        After the end: those of the end.
        """
        before, left = divmod(min(elapsed_ns, self.length_ns), _STEP_NS)
        part, after = left / _STEP_NS, min(before + 1, len(self._speeds) - 1)
        speeds = _between(self._speeds[before], self._speeds[after], part)
        angles, changes = self._angles, self._changes
        return speeds, _smoothly(angles[before], angles[after], changes[before], changes[after], part)


def _between(one: Sequence[float], later: Sequence[float], part: float) -> Numbers:
    return tuple([a + (b - a) * part for a, b in zip(one, later, strict=True)])


def _smoothly(
    one: Sequence[float], later: Sequence[float], change: Sequence[float], later_change: Sequence[float], part: float
) -> Numbers:
    """Cubic between two samples, with their changes in a step as slopes (Hermite)."""
    rest = 1.0 - part
    a, b = rest * rest * (1.0 + 2.0 * part), part * part * (3.0 - 2.0 * part)
    c, d = rest * rest * part, -part * part * rest
    rows = zip(one, later, change, later_change, strict=True)
    return tuple([a * at + b * to + c * slope + d * last for at, to, slope, last in rows])
