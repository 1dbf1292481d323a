"""Pulse-width control of a chamber by its on-off valve; its pressure is predicted over the delays of link and valve."""

from __future__ import annotations

import math
from bisect import bisect

from hil.control.pressure_settings import PressureSettings

# Pulse lengths for which the end of a cycle is worked out.
_POINTS = 64
# Pressures are no older than this, as far as the prediction goes [s].
_OLDEST_S = 0.5


class _PressurePredictor:
    """Smith predictor: a chamber's pressure as it will be once the commands under way have had their effect.

    A model of the chamber follows the commands without delay. A reading shows the effect of the commands up to a time
    before it; the error of the model at that time is added to its pressure of now.

    Args:
        settings: of the loops.
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
    """Pressure at the end of a cycle that repeats itself, by the mean of the cycle: what the next one begins with.

    Args:
        settings: of the loops.
    """

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

    Args:
        settings: of the loops.
        ends: of the chamber's cycles.
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
