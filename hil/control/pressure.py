"""Pressure loops: from the wanted pressure of each chamber to its valve, and to the regulators that can be moved.

An on-off valve feeds its chamber or vents it to the atmosphere; in between there is nothing, so a pressure between is
held by switching. A regulator that is moved holds any pressure, and its cylinder's valves only choose the chamber.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from drivers.messages import ValveSet

# Part of the supply that the integral may add to or take from a wanted pressure.
_MOST_CORRECTION = 0.25
# A wanted pressure moves while it is this many dead bands from its own mean over this time [s].
_MOVING, _MOVING_S = 0.5, 0.1
# A chamber's valve opens for a wanted pressure of so many dead bands, and closes below none.
_OPENS_AT = 1.0


class PressureSettings(NamedTuple):
    """Constants of the loops.

    Attributes:
        supply_Pa: highest gauge pressure.
        dead_band_Pa: an on-off valve switches this far below and above the wanted pressure.
        least_cycle_ns: shortest time from one switch-on of a valve to its next.
        integral_per_s: correction per second of the error.
        period_s: between ticks.
    """

    supply_Pa: float
    dead_band_Pa: float
    least_cycle_ns: int
    integral_per_s: float
    period_s: float


class PressureLoops(Protocol):
    """The loops of all chambers."""

    def reset(self) -> None:
        """All valves are off: begin anew."""

    def step(
        self, t_ns: int, wanted_Pa: Sequence[float], measured_Pa: Sequence[float]
    ) -> tuple[ValveSet, tuple[float, ...]]:
        """Valves and regulators of this tick.

        Args:
            t_ns: time of the tick [ns].
            wanted_Pa: (chambers,) gauge; at most one of a cylinder's two above 0.
            measured_Pa: (chambers,) gauge.
        """


class Correction:
    """Integral of a chamber's error, limited.

    It stands still while the actuator is at an end, and while the wanted pressure moves, which the line follows late
    (anti-windup).

    Args:
        settings: of the loops.
        chambers: how many.
    """

    def __init__(self, settings: PressureSettings, chambers: int) -> None:
        self._gain = settings.integral_per_s * settings.period_s
        self._supply_Pa, self._most_Pa = settings.supply_Pa, _MOST_CORRECTION * settings.supply_Pa
        self._share, self._band_Pa = min(settings.period_s / _MOVING_S, 1.0), _MOVING * settings.dead_band_Pa
        self._sum_Pa, self._late_Pa = [0.0] * chambers, [0.0] * chambers

    def reset(self) -> None:
        """Forget it all."""
        self._sum_Pa, self._late_Pa = [0.0] * len(self._sum_Pa), [0.0] * len(self._sum_Pa)

    def corrected(self, chamber: int, wanted_Pa: float, measured_Pa: float) -> float:
        """The pressure to ask for [Pa], 0 to supply."""
        self._late_Pa[chamber] += (wanted_Pa - self._late_Pa[chamber]) * self._share
        if wanted_Pa <= 0.0:
            self._sum_Pa[chamber] = 0.0
            return 0.0
        error_Pa, last = wanted_Pa - measured_Pa, self._sum_Pa[chamber]
        asked, resting = wanted_Pa + last, abs(wanted_Pa - self._late_Pa[chamber]) <= self._band_Pa
        free = (asked < self._supply_Pa or error_Pa < 0.0) and (asked > 0.0 or error_Pa > 0.0)
        if free and resting:
            new = last + self._gain * error_Pa
            self._sum_Pa[chamber] = min(max(new, -self._most_Pa), self._most_Pa)
        return min(max(asked, 0.0), self._supply_Pa)


class OnOffLoops:
    """Two-point control of each chamber by its on-off valve, with dead band and a cap on the number of switchings.

    A valve is switched on `dead_band` below the wanted pressure, off as far above it, and not on again before
    `least_cycle` has passed: its life is counted in switchings. The integral removes what the cap, and lines that
    fill and vent at different rates, leave of the mean error.

    Args:
        settings: constants.
        cylinders: how many.
        common: one regulator feeds all valves and is moved: to the highest pressure asked for, so that its valve stays
            on, and the others fill more slowly.
    """

    def __init__(self, settings: PressureSettings, cylinders: int, *, common: bool = False) -> None:
        self._settings, self._common = settings, common
        self._correction = Correction(settings, 2 * cylinders)
        self._on = [False] * (2 * cylinders)
        self._since_ns = [-settings.least_cycle_ns] * (2 * cylinders)

    def reset(self) -> None:
        """All valves are off: begin anew."""
        self._on = [False] * len(self._on)
        self._correction.reset()

    def step(
        self, t_ns: int, wanted_Pa: Sequence[float], measured_Pa: Sequence[float]
    ) -> tuple[ValveSet, tuple[float, ...]]:
        """See `PressureLoops`."""
        band_Pa, on, highest_Pa = self._settings.dead_band_Pa, self._on, 0.0
        for chamber, (wanted, measured) in enumerate(zip(wanted_Pa, measured_Pa, strict=True)):
            asked = self._correction.corrected(chamber, wanted, measured)
            highest_Pa = max(highest_Pa, asked)
            if asked <= 0.0:
                on[chamber] = False
            elif on[chamber]:
                on[chamber] = measured <= min(asked + band_Pa, self._settings.supply_Pa)
            elif measured < asked - band_Pa and t_ns - self._since_ns[chamber] >= self._settings.least_cycle_ns:
                on[chamber], self._since_ns[chamber] = True, t_ns
        return tuple(zip(on[::2], on[1::2], strict=True)), (highest_Pa,) * self._common


class RegulatedLoops:
    """A proportional regulator for each cylinder, whose valves only choose the chamber: feed-forward and an integral.

    Args:
        settings: constants.
        cylinders: how many.
    """

    def __init__(self, settings: PressureSettings, cylinders: int) -> None:
        self._band_Pa = _OPENS_AT * settings.dead_band_Pa
        self._correction = Correction(settings, 2 * cylinders)
        self._open = [False] * (2 * cylinders)

    def reset(self) -> None:
        """All valves are off: begin anew."""
        self._open = [False] * len(self._open)
        self._correction.reset()

    def step(
        self,
        t_ns: int,  # noqa: ARG002
        wanted_Pa: Sequence[float],
        measured_Pa: Sequence[float],
    ) -> tuple[ValveSet, tuple[float, ...]]:
        """See `PressureLoops`. A valve stays on while its chamber is wanted at all: noise around 0 switches nothing."""
        asked_Pa = []
        for chamber, (wanted, measured) in enumerate(zip(wanted_Pa, measured_Pa, strict=True)):
            self._open[chamber] = wanted > (0.0 if self._open[chamber] else self._band_Pa)
            asked_Pa.append(self._correction.corrected(chamber, wanted * self._open[chamber], measured))
        valves = tuple(zip(self._open[::2], self._open[1::2], strict=True))
        return valves, tuple(map(max, asked_Pa[::2], asked_Pa[1::2]))


def make_loops(settings: PressureSettings, cylinders: int, regulators: str) -> PressureLoops:
    """The loops of a rig whose regulators are none, common or each (`cylinders.regulators`)."""
    if regulators == "each":
        return RegulatedLoops(settings, cylinders)
    return OnOffLoops(settings, cylinders, common=regulators == "common")
