"""Pressure loops: from the wanted pressure of each chamber to its valve, and to the regulators that can be moved.

An on-off valve feeds its chamber or vents it to the atmosphere; in between there is nothing, so a pressure between is
held as the mean of pulses. A regulator that is moved holds any pressure, and its cylinder's
valves only choose the chamber.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from typing_extensions import override

from drivers.messages import ValveSet


class PressureSettings(NamedTuple):
    """Constants of the loops."""

    supply_Pa: float  #: highest gauge pressure
    dead_band_Pa: float  #: smaller changes of a pressure are not worth a switching
    cycle_ns: int  #: from one switch-on of an on-off valve to its next; at least twice `least_pulse_s`
    integral_per_s: float  #: of the moved regulators: correction per second of the error
    period_s: float  #: between ticks
    fill_s: float  #: time constant of a chamber that fills
    vent_s: float  #: of one that vents
    delay_s: float = 0.0  #: from the command to a valve until its chamber fills or vents
    least_pulse_s: float = 0.0  #: shortest pulse of an on-off valve, and shortest gap between two


# Pulse lengths for which the end of a cycle is worked out.
_POINTS = 64
# Pressures are no older than this, as far as the prediction goes [s].
_OLDEST_S = 0.5


class _PressurePredictor:
    """Smith predictor: a chamber's pressure as it will be once the commands under way have had their effect.

    A model of the chamber follows the commands without delay. A reading shows the effect of the commands up to a time
    before it; the error of the model at that time is added to its pressure of now.
    """

    def __init__(self, settings: PressureSettings) -> None:
        self._fill, self._vent = (
            -math.expm1(-settings.period_s / time_s) for time_s in (settings.fill_s, settings.vent_s)
        )
        self._period_ns, self._delay_ns = round(settings.period_s * 1e9), round(settings.delay_s * 1e9)
        self._length = round((settings.delay_s + _OLDEST_S) / settings.period_s) + 1
        self._past_Pa = [0.0] * self._length
        self.reset()

    def reset(self) -> None:
        """The valve has been off for long."""
        self._past_Pa[:] = [0.0] * self._length
        self._newest, self._model_Pa, self._error_Pa = 0, 0.0, 0.0
        self._read_ns = -1

    def add(self, on: bool, supply_Pa: float) -> None:
        """Take the command of a tick, of a valve that this pressure [Pa] feeds."""
        model_Pa, newest = self._model_Pa, self._newest + 1
        model_Pa += (supply_Pa - model_Pa) * self._fill if on else -model_Pa * self._vent
        newest = newest if newest < self._length else 0
        self._past_Pa[newest] = self._model_Pa = model_Pa
        self._newest = newest

    def predicted(self, t_ns: int, measured_Pa: float, read_ns: int) -> float:
        """Pressure [Pa] that the commands before a tick [ns] lead to; measured at another time [ns]."""
        if read_ns != self._read_ns:
            self._read_ns = read_ns
            ticks = max(t_ns - read_ns + self._delay_ns, 0) // self._period_ns  # a reading may be newer than the tick
            self._error_Pa = measured_Pa - self._past_Pa[self._newest - min(ticks, self._length - 1)]
        return self._model_Pa + self._error_Pa


class EndPressures:
    """Pressure at the end of a cycle that repeats itself, by the mean of the cycle: what the next one begins with."""

    def __init__(self, settings: PressureSettings) -> None:
        cycle_s, fill_s, vent_s = settings.cycle_ns * 1e-9, settings.fill_s, settings.vent_s
        self._means, self._ends = [0.0], [0.0]
        for part in range(1, _POINTS + 1):
            on_s = cycle_s * part / _POINTS
            filled, vented = math.exp(-on_s / fill_s), math.exp((on_s - cycle_s) / vent_s)
            most = (1.0 - filled) / (1.0 - filled * vented)
            self._ends.append(most * vented)
            self._means.append((on_s + (vent_s - fill_s) * most * (1.0 - vented)) / cycle_s)

    def after(self, mean: float) -> float:
        """End pressure of a mean, both over the supply's."""
        place = bisect(self._means, mean)
        if place > _POINTS:
            return 1.0
        low, high = self._means[place - 1], self._means[place]
        return self._ends[place - 1] + (self._ends[place] - self._ends[place - 1]) * (mean - low) / (high - low)


class PulseWidth:
    """Pulse-width control of one chamber by its on-off valve: the mean pressure of each cycle is the wanted one.

    A cycle begins with the valve on. The valve is switched off as soon as the pressure so far and the venting to come
    give the wanted mean of the cycle, and leave the pressure that a repeated cycle ends with. The pressure is measured,
    so supply and filling need not be known for it. An error of the venting, and the surplus of a shortest pulse, are
    corrected in the next cycle. A pulse, or a gap between two, that would change the mean by less than the dead band is
    left out.
    """

    def __init__(self, settings: PressureSettings, ends: EndPressures) -> None:
        self._vent_s, self._cycle_s, self._ends = settings.vent_s, settings.cycle_ns * 1e-9, ends
        self._least_s = settings.least_pulse_s
        self._least_area = settings.dead_band_Pa * self._cycle_s
        self._predictor = _PressurePredictor(settings)
        self._begin_ns = -settings.cycle_ns
        self._vented_for, self._vented_Pas = (0.0, 0.0), 0.0
        self.reset()

    def reset(self) -> None:
        """The valve is off: begin anew. It is not switched on before the running cycle is over."""
        self._predictor.reset()
        self._on = False
        self._last_ns: int | None = None
        self._missing = 0.0  # integral of the wanted less the present pressure, over the cycle [Pa s]
        self._to_come: float | None = None  # integral of the pressure that is still expected of the venting [Pa s]

    def step(self, t_ns: int, wanted_Pa: float, measured_Pa: float, read_ns: int, supply_Pa: float) -> bool:
        """Whether the valve is on in this tick.

        Args:
            t_ns: time of the tick [ns].
            wanted_Pa: gauge.
            measured_Pa: gauge.
            read_ns: time of that [ns].
            supply_Pa: gauge pressure that feeds the valve.
        """
        pressure_Pa = self._predictor.predicted(t_ns, measured_Pa, read_ns)
        passed_s = 0.0 if self._last_ns is None else (t_ns - self._last_ns) * 1e-9
        self._last_ns = t_ns
        if wanted_Pa <= 0.0 or supply_Pa <= 0.0:
            self._on, self._missing, self._to_come = False, 0.0, None
        else:
            decide = self._stays_on if self._on else self._begins
            self._on = decide(t_ns, passed_s, wanted_Pa, pressure_Pa, supply_Pa)
        self._predictor.add(self._on, supply_Pa)
        return self._on

    def _stays_on(self, t_ns: int, passed_s: float, wanted_Pa: float, pressure_Pa: float, supply_Pa: float) -> bool:
        self._missing += (wanted_Pa - pressure_Pa) * passed_s
        left_s = self._left_s(t_ns)
        if left_s <= 0.0:  # a whole cycle on is all that there is, so what is missing is not made up for
            self._begin_ns, self._missing = t_ns, min(self._missing, 0.0)
            return True
        vented = pressure_Pa * self._vent_s
        missing = self._missing + wanted_Pa * left_s + self._vented_next(wanted_Pa, supply_Pa) - vented
        longest_s = self._cycle_s - self._least_s
        if missing > 0.0 or not self._least_s <= left_s <= longest_s or pressure_Pa * left_s <= self._least_area:
            return True
        self._missing, self._to_come = max(missing, -pressure_Pa * self._least_s), vented
        return False

    def _begins(self, t_ns: int, passed_s: float, wanted_Pa: float, pressure_Pa: float, supply_Pa: float) -> bool:
        if self._left_s(t_ns) > 0.0:
            if self._to_come is not None:
                self._to_come -= pressure_Pa * passed_s
            return False
        vented = pressure_Pa * self._vent_s
        if self._to_come is not None:
            self._missing, self._to_come = self._missing + self._to_come - vented, None
        self._missing += max(wanted_Pa - pressure_Pa, 0.0) * passed_s  # less than none cannot be had either
        missing = self._missing + wanted_Pa * self._cycle_s + self._vented_next(wanted_Pa, supply_Pa) - vented
        if missing <= self._least_area:
            return False
        self._begin_ns = t_ns
        return True

    def _vented_next(self, wanted_Pa: float, supply_Pa: float) -> float:
        """What the pressure at the end of a repeated cycle gives while it vents [Pa s]; kept from tick to tick."""
        if (wanted_Pa, supply_Pa) != self._vented_for:
            self._vented_for = wanted_Pa, supply_Pa
            self._vented_Pas = self._vent_s * supply_Pa * self._ends.after(wanted_Pa / supply_Pa)
        return self._vented_Pas

    def _left_s(self, t_ns: int) -> float:
        """Of the running cycle [s]; below 0: it is over."""
        return self._cycle_s - (t_ns - self._begin_ns) * 1e-9


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
    """A proportional regulator for each cylinder, whose valves choose the chamber: feed-forward and an integral."""

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
