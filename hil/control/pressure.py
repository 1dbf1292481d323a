"""Pressure loops: from the wanted pressure of each chamber to its valve, and to the regulators that can be moved.

An on-off valve feeds its chamber or vents it to the atmosphere; in between there is nothing, so a pressure between is
held as the mean of pulses (hil.control.pulse_width). A regulator that is moved holds any pressure, and its cylinder's
valves only choose the chamber.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from typing_extensions import override

from drivers.messages import ValveSet
from hil.control.pressure_settings import PressureSettings
from hil.control.pulse_width import EndPressures, PulseWidth

# Part of the supply that the integral may add to or take from a wanted pressure.
_MOST_CORRECTION = 0.25
# A wanted pressure moves while it is this many dead bands from its own mean over this time [s].
_MOVING, _MOVING_S = 0.5, 0.1
# A chamber's valve opens for a wanted pressure of so many dead bands, and closes below none.
_OPENS_AT = 1.0


class PressureLoops(Protocol):
    """The loops of all chambers."""

    def reset(self) -> None:
        """All valves are off: begin anew."""

    def step(
        self, t_ns: int, wanted_Pa: Sequence[float], measured_Pa: Sequence[float], read_ns: int
    ) -> tuple[ValveSet, tuple[float, ...]]:
        """Valves and regulators of this tick.

        Args:
            t_ns: time of the tick [ns].
            wanted_Pa: (chambers,) gauge; at most one of a cylinder's two above 0.
            measured_Pa: (chambers,) gauge.
            read_ns: time of these [ns].
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


class OnOffLoops(PressureLoops):
    """Pulse-width control of all chambers.

    Args:
        settings: constants.
        cylinders: how many.
        common: one regulator feeds all valves and is moved: to the highest pressure wanted, so that its valve stays
            on, and the others fill more slowly.
    """

    def __init__(self, settings: PressureSettings, cylinders: int, *, common: bool = False) -> None:
        self._supply_Pa, self._common = settings.supply_Pa, common
        self._correction = Correction(settings, 1)
        ends = EndPressures(settings)
        self._chambers = [PulseWidth(settings, ends) for _ in range(2 * cylinders)]

    def reset(self) -> None:
        """All valves are off: begin anew."""
        self._correction.reset()
        for chamber in self._chambers:
            chamber.reset()

    @override
    def step(
        self, t_ns: int, wanted_Pa: Sequence[float], measured_Pa: Sequence[float], read_ns: int
    ) -> tuple[ValveSet, tuple[float, ...]]:
        supply_Pa = self._supply_Pa
        if self._common:
            highest = max(range(len(wanted_Pa)), key=wanted_Pa.__getitem__)
            supply_Pa = self._correction.corrected(0, wanted_Pa[highest], measured_Pa[highest])
        on = [
            chamber.step(t_ns, wanted, measured, read_ns, supply_Pa)
            for chamber, wanted, measured in zip(self._chambers, wanted_Pa, measured_Pa, strict=True)
        ]
        return tuple(zip(on[::2], on[1::2], strict=True)), (supply_Pa,) * self._common


class RegulatedLoops(PressureLoops):
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

    @override
    def step(
        self,
        t_ns: int,
        wanted_Pa: Sequence[float],
        measured_Pa: Sequence[float],
        read_ns: int,
    ) -> tuple[ValveSet, tuple[float, ...]]:
        """A valve stays on while its chamber is wanted at all: noise around 0 switches nothing."""
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
