"""Compares measured motor currents, supply voltages and pressures with their limits: rows 30 and 31 of the table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from drivers.messages import PowerSample, ValveSample
from hil.config.schema.equipment import LimitsConfig
from hil.config.schema.measured import MeasuredLimits
from hil.messages.check import Check
from hil.messages.fault import Fault
from hil.messages.fault_bounds import POWER_AGE_NS
from hil.messages.layout import Layout
from hil.messages.stages import Samples

Latch = Callable[[Fault, float, float, str], None]


class _Reading(NamedTuple):
    """A measured value: of what, in which unit, by which key of the config it is limited."""

    name: str
    value: float
    unit: str
    key: str
    limits: MeasuredLimits


class MeasuredMonitor:
    """Watches what the config limits, and what a driver therefore measures.

    Args:
        layout: of the rig.
        limits: of it.

    Attributes:
        watched: whether anything is.
    """

    def __init__(self, layout: Layout, limits: LimitsConfig) -> None:
        self._layout = layout
        self._current, self._supply, self._pressure = limits.motor_current_A, limits.supply_V, limits.pressure_kPa
        self.watched = any((self._current, self._supply, self._pressure))

    def check(self, samples: Samples, latch: Latch) -> None:
        """Latch what is near or beyond a limit, and readings that are too old. A value not read yet is neither."""
        power = samples.drives.power
        if power is not None and power.t_ns >= 0 and samples.t_ns - power.t_ns > POWER_AGE_NS:
            age_ms, allowed_ms = (samples.t_ns - power.t_ns) * 1e-6, POWER_AGE_NS * 1e-6
            latch(Fault.SENSOR_STALE, age_ms, allowed_ms, f"motor currents and supply: {age_ms:.0f} ms old")
        for reading in (*self._power_readings(power), *self._pressure_readings(samples.valves)):
            if (beyond := _beyond(reading.value, reading.limits.safe_below, reading.limits.safe_above)) is not None:
                latch(Fault.MEASURED_OUT_OF_LIMIT, reading.value, beyond, _words(reading, beyond))
            elif (near := _beyond(reading.value, reading.limits.warn_below, reading.limits.warn_above)) is not None:
                latch(Fault.MEASURED_NEAR_LIMIT, reading.value, near, _words(reading, near))

    def arming_checks(self, samples: Samples) -> list[Check]:
        """Whether everything that is watched has been read, and is within its limits."""
        return [*self.power_checks(samples.drives.power), *self.pressure_checks(samples.valves)]

    def power_checks(self, power: PowerSample | None) -> list[Check]:
        """The same of motor currents and supply alone."""
        return _checks(self._power_readings(power))

    def pressure_checks(self, valves: ValveSample) -> list[Check]:
        """The same of the pressures alone."""
        return _checks(self._pressure_readings(valves))

    def _power_readings(self, power: PowerSample | None) -> Iterator[_Reading]:
        layout = self._layout
        if power is not None and self._current is not None:
            for wheel, current_A in zip(layout.wheels, power.current_A, strict=True):
                yield _Reading(f"motor current {wheel}", abs(current_A), "A", "limits.motor_current_A", self._current)
        if power is not None and self._supply is not None:
            for name, voltage_V in zip(layout.supplies, power.supply_V, strict=True):
                yield _Reading(f"supply voltage {name}", voltage_V, "V", "limits.supply_V", self._supply)

    def _pressure_readings(self, valves: ValveSample) -> Iterator[_Reading]:
        if self._pressure is not None:
            layout = self._layout
            for valve, pressure_Pa in zip(layout.valves, layout.by_valve(valves.pressure_Pa), strict=True):
                yield _Reading(f"pressure {valve}", 1e-3 * pressure_Pa, "kPa", "limits.pressure_kPa", self._pressure)


def _checks(readings: Iterator[_Reading]) -> list[Check]:
    checks = []
    for reading in readings:
        limits = reading.limits
        least, most = limits.safe_below, limits.safe_above
        ok = math.isfinite(reading.value) and _beyond(reading.value, least, most) is None
        found = f"{round(reading.value, 3):g} {reading.unit}" if math.isfinite(reading.value) else "not read yet"
        both = (("at least", least), ("at most", most))
        sides = [f"{side} {limit:g}" for side, limit in both if limit is not None]
        allowed = f"{' and '.join(sides)} {reading.unit}" if sides else "any: it is only marked"
        to_do = "measure it by hand; then mend its cause, its sensor, or the limit in the config"
        checks.append(Check(reading.name, ok, found, f"{allowed} ({reading.key})", to_do))
    return checks


def _beyond(value: float, least: float | None, most: float | None) -> float | None:
    """The limit that a value is beyond, or None; NaN is beyond none."""
    if least is not None and value < least:
        return least
    return most if most is not None and value > most else None


def _words(reading: _Reading, limit: float) -> str:
    side = "at least" if reading.value < limit else "at most"
    name, value, unit, key, _ = reading
    return f"{name}: {value:.4g} {unit}, allowed: {side} {limit:g} {unit} ({key})"
