"""Cylinders, voltages and readings for simulated devices to act on and to report: simple, and settable by a test."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from threading import RLock

import numpy as np
import numpy.typing as npt

# Samples and readings that are kept for a reader that comes late.
KEPT_S = 2.0


class Cylinders:
    """Chambers that fill through their valves towards the pressure of the supply; regulators set that pressure.

    Args:
        now_ns: the clock [ns].
        valves: how many, each with a chamber.
        regulators: how many.

    Attributes:
        supply_Pa: gauge pressure that a chamber with a powered valve fills to [Pa]; with regulators, that of the one
            with the number of the chamber, modulo their count.
        fill_s: time constant of filling and emptying [s].
        powered: (valves,) which are powered.
        set_Pa: (regulators,) gauge pressures that the regulators are set to [Pa].
        reading_error: added to each reading of a pressure [Pa]: a wrong sensor.
    """

    def __init__(self, now_ns: Callable[[], int], valves: int = 4, regulators: int = 0) -> None:
        self.valves, self.regulators = valves, regulators
        self.supply_Pa, self.fill_s, self.reading_error = 6.0e5, 0.05, 0.0
        self.powered, self.set_Pa = [False] * valves, [0.0] * regulators
        self._now_ns = now_ns
        self._filled: list[tuple[int, float]] = [(now_ns(), 0.0)] * valves  # since when, from which pressure
        self._lock = RLock()

    def power(self, valve: int, on: bool) -> None:
        """Switch a valve."""
        with self._lock:
            self._filled[valve] = (self._now_ns(), self.pressure(valve))
            self.powered[valve] = on

    def regulate(self, regulator: int, pressure_Pa: float) -> None:
        """Set a regulator [Pa, gauge]."""
        with self._lock:
            for valve in range(self.valves):
                self._filled[valve] = (self._now_ns(), self.pressure(valve))
            self.set_Pa[regulator] = pressure_Pa

    def pressure(self, valve: int) -> float:
        """Gauge pressure of the chamber at a valve [Pa]."""
        with self._lock:
            since_ns, from_Pa = self._filled[valve]
            to_Pa = self._supply(valve) if self.powered[valve] else 0.0
            return to_Pa + (from_Pa - to_Pa) * math.exp(-(self._now_ns() - since_ns) * 1e-9 / self.fill_s)

    def set_pressure(self, valve: int, pressure_Pa: float) -> None:
        """Let a chamber have a gauge pressure now [Pa]."""
        with self._lock:
            self._filled[valve] = (self._now_ns(), pressure_Pa)

    def pressure_Pa(self, valve: int) -> float:
        """Pressure as read [Pa]."""
        return self.pressure(valve) + self.reading_error

    def _supply(self, valve: int) -> float:
        return self.set_Pa[valve % self.regulators] if self.regulators else self.supply_Pa


class Voltages:
    """Voltages of channels, each constant until set, or a function of time; sampled at a rate, and read one by one.

    Args:
        now_ns: the clock [ns].
        channels: how many.
        rate_hz: samples a second.

    Attributes:
        reading_error: added to each sample [V]: a wrong sensor.
    """

    def __init__(self, now_ns: Callable[[], int], channels: int, rate_hz: int = 25_600) -> None:
        self.channels, self.rate_hz, self.reading_error = channels, rate_hz, 0.0
        self._now_ns, self._began_ns, self._passed_s = now_ns, now_ns(), 0.0
        self._constant = [0.0] * channels
        self._since: deque[tuple[int, int, float]] = deque(maxlen=4096)  # from which sample, channel, volts before
        self._functions: dict[int, Callable[[npt.NDArray[np.float64]], npt.ArrayLike]] = {}
        self._lock = RLock()

    def __len__(self) -> int:
        return self.channels

    def __getitem__(self, channel: int) -> float:
        return self.volts(channel)

    def __setitem__(self, channel: int, volts: float | Callable[[npt.NDArray[np.float64]], npt.ArrayLike]) -> None:
        """Set a channel from now on [V]: a number, or a function of the times since the start [s], as an array."""
        place = range(self.channels)[channel]
        with self._lock:
            if callable(volts):
                self._functions[place] = volts
                return
            self._functions.pop(place, None)
            self._since.append((self.taken(), place, self._constant[place]))
            self._constant[place] = float(volts)

    def volts(self, channel: int) -> float:
        """Newest value of a channel [V]."""
        with self._lock:
            place = range(self.channels)[channel]
            if (function := self._functions.get(place)) is None:
                return self._constant[place] + self.reading_error
            now_s = self._passed_s + (self._now_ns() - self._began_ns) * 1e-9
            return float(np.asarray(function(np.array([now_s])), dtype=float).reshape(-1)[0]) + self.reading_error

    def pace(self, rate_hz: float) -> None:
        """Take so many samples a second, rounded, from now on, counted from 0; functions of the time go on."""
        with self._lock:
            now_ns = self._now_ns()
            self._passed_s += (now_ns - self._began_ns) * 1e-9
            self._began_ns, self.rate_hz = now_ns, max(round(rate_hz), 1)
            self._since.clear()

    def taken(self) -> int:
        """Samples of each channel so far."""
        return (self._now_ns() - self._began_ns) * self.rate_hz // 1_000_000_000

    def at_ns(self, sample: int) -> int:
        """When a sample is taken [ns]."""
        return self._began_ns + -(-sample * 1_000_000_000 // self.rate_hz)

    def due_ns(self, count: int) -> int:
        """When so many samples are there [ns]."""
        return self.at_ns(count)

    def read_in_blocks(self, first: int, count: int) -> None:
        """Any rhythm will do."""

    def copy(self, first: int, volts: npt.NDArray[np.float64]) -> None:
        """Samples first, first + 1, ... into volts (n, channels) [V]. Raises OverflowError: too old."""
        if first < self.taken() - KEPT_S * self.rate_hz:
            raise OverflowError(f"sample {first}")
        with self._lock:
            volts[:] = self._constant
            for sample, channel, before in reversed(self._since):
                volts[: max(sample - first, 0), channel] = before
            times_s = self._passed_s + (first + np.arange(len(volts))) / self.rate_hz
            for channel, function in self._functions.items():
                volts[:, channel] = function(times_s)
        volts += self.reading_error


class SteadyReading:
    """Values that an instrument measures at a steady rate: a test sets them; a `plant_ports.Instrument`.

    Args:
        now_ns: the clock [ns].
        channels: their names.
        rate_hz: readings a second.

    Attributes:
        values: (channels,) in the units of the instrument; set any of them. NaN: not measured.
        reading_error: added to each value: a wrong sensor.
    """

    def __init__(self, now_ns: Callable[[], int], channels: Sequence[str], rate_hz: float) -> None:
        self.channels, self.rate_hz = tuple(channels), rate_hz
        self.values, self.reading_error = [0.0] * len(self.channels), 0.0
        self._now_ns, self._began_ns, self._number = now_ns, now_ns(), 0
        self._kept: deque[tuple[int, int, tuple[float, ...]]] = deque(maxlen=max(round(KEPT_S * rate_hz), 2))
        self._lock = RLock()

    def since(self, sequence: int) -> Sequence[tuple[int, int, tuple[float, ...]]]:
        """Readings after a number: number, time of measurement [ns], values."""
        with self._lock:
            newest = int((self._now_ns() - self._began_ns) * 1e-9 * self.rate_hz) + 1
            values = tuple(value + self.reading_error for value in self.values)
            for number in range(max(self._number + 1, newest - (self._kept.maxlen or 0) + 1), newest + 1):
                at_ns = self._began_ns + round((number - 1) * 1e9 / self.rate_hz)
                self._kept.append((number, at_ns, values))
            self._number = max(self._number, newest)
            return [reading for reading in self._kept if reading[0] > sequence]


class Angles:
    """Angles of joints, as a test sets them; the `plant_ports.Instrument` of encoders, which are always up to date.

    Args:
        joints: their names.

    Attributes:
        values: (joints,) angles [rad]; set any of them.
        reading_error: added to each value [rad]: a wrong sensor.
    """

    rate_hz = 1000.0

    def __init__(self, joints: Sequence[str]) -> None:
        self.channels, self.values, self.reading_error = tuple(joints), [0.0] * len(joints), 0.0
        self._number = 0

    def since(self, sequence: int) -> Sequence[tuple[int, int, tuple[float, ...]]]:
        """The present values, as one reading that was measured long ago."""
        self._number = max(self._number, sequence) + 1
        return [(self._number, 0, tuple(value + self.reading_error for value in self.values))]
