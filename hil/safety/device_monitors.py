"""Monitors of samples, measured values, wheels and valves: rows 1 to 4, 7, 17, 30, 31 and 38 of the fault table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from drivers.messages import DaqBlock, DriveSample, PowerSample, ValveSample, ValveSet
from hil.config.schema.equipment import LimitsConfig
from hil.messages.fault import (
    BAD_TICKS_ALLOWED,
    GAP_ALLOWED,
    LEAST_SET_RADPS,
    NOT_FOLLOWING_NS,
    POWER_AGE_NS,
    STANDS_SHARE,
    SWITCHING_PRESSURE_RATIO,
    TIMEOUT_FACTOR,
    Alarm,
    Check,
    Fault,
)
from hil.messages.layout import Layout
from hil.messages.stages import Command, Estimate, LoadState, Samples
from hil.safety.arming import Limit, alarms, power_limits, pressure_limits

if TYPE_CHECKING:
    from hil.config.rig import Rig


class MeasuredMonitor:
    """Watches what the config limits, and what a driver therefore measures."""

    def __init__(self, layout: Layout, limits: LimitsConfig) -> None:
        self._power, self._pressures = power_limits(layout, limits), pressure_limits(layout, limits)
        self.watched = bool(self._power or self._pressures)

    def alarms(self, samples: Samples) -> Iterator[Alarm]:
        """What is near or beyond a limit, and readings that are too old. A value not read yet is neither."""
        power = samples.drives.power
        if power is not None and power.t_ns >= 0 and samples.t_ns - power.t_ns > POWER_AGE_NS:
            age_ms, allowed_ms = (samples.t_ns - power.t_ns) * 1e-6, POWER_AGE_NS * 1e-6
            words = f"motor currents and supply: {age_ms:.0f} ms old"
            yield Alarm(Fault.SENSOR_STALE, age_ms, allowed_ms, words)
        if power is not None:
            yield from alarms(self._power, power)
        yield from alarms(self._pressures, samples.valves)

    def arming_checks(self, samples: Samples) -> list[Check]:
        """Whether everything that is watched has been read, and is within its limits."""
        return [*self.power_checks(samples.drives.power), *self.pressure_checks(samples.valves)]

    def power_checks(self, power: PowerSample | None) -> list[Check]:
        """The same of motor currents and supply alone."""
        return [] if power is None else _checks(self._power, power)

    def pressure_checks(self, valves: ValveSample) -> list[Check]:
        """The same of the pressures alone."""
        return _checks(self._pressures, valves)


def _checks(limits: Sequence[Limit], sample: PowerSample | ValveSample) -> list[Check]:
    values = [(limit, limit.quantity(sample)) for limit in limits]
    return [
        limit.check(value, f"{round(value, 3):g} {limit.unit}" if math.isfinite(value) else "not read yet")
        for limit, value in values
    ]


class SpeedMonitor:
    """Compares measured with commanded speeds, of wheels that are commanded by speed.

    A drive that has stopped by itself, as by its own time-out, and a wheel that is blocked are meant, not one that is
    slow or late. A drive's loop gathers the error until its torque exceeds what holds the wheel: gear friction, or the
    load. So a wheel that stands is judged only when the loop asks for all its torque and that does not turn the wheel.

    Args:
        wheels: names.
        full_torque_rad: error that the loop gathers until then [rad] (`DrivesConfig.full_torque_rad`).
    """

    def __init__(self, wheels: Sequence[str], full_torque_rad: float) -> None:
        self._wheels, self._full_rad = wheels, full_torque_rad
        self._set: Sequence[float] = ()
        self._since_ns: list[int | None] = [None] * len(wheels)
        self._gathered_rad, self._answered_ns = [0.0] * len(wheels), 0

    def record_command(self, command: Command) -> None:
        """Store the command of a tick; the next answer is compared with it."""
        asked = () if command.cut or command.duty else command.speed_radps
        if self._set and not asked:  # a drive's loop forgets what it has gathered, too
            self._since_ns = [None] * len(self._wheels)
            self._gathered_rad = [0.0] * len(self._wheels)
        self._set = asked

    def check(self, drives: DriveSample) -> Alarm | None:
        """Called with each new answer of the drives: a wheel that does not turn, or None."""
        found, full_rad = None, self._full_rad
        passed_s, self._answered_ns = (drives.t_ns - self._answered_ns) * 1e-9, drives.t_ns
        for place, (asked, measured) in enumerate(zip(self._set, drives.speed_radps, strict=False)):
            error_rad = self._gathered_rad[place] + (asked - measured) * passed_s
            self._gathered_rad[place] = error_rad = min(full_rad, max(-full_rad, error_rad))  # also if NaN
            least = STANDS_SHARE * abs(asked)
            turning, behind_rad = (measured, error_rad) if asked > 0.0 else (-measured, -error_rad)
            if abs(asked) < LEAST_SET_RADPS or not turning < least:
                self._since_ns[place] = None
                continue
            since_ns = self._since_ns[place]
            if since_ns is None:
                self._since_ns[place] = drives.t_ns
            elif drives.t_ns - since_ns >= NOT_FOLLOWING_NS and behind_rad >= full_rad and found is None:
                seconds = (drives.t_ns - since_ns) * 1e-9
                detail = (
                    f"wheel {self._wheels[place]}: {measured:.3f} rad/s for {seconds:.2f} s, set: {asked:.3f} rad/s"
                )
                found = Alarm(Fault.SPEED_NOT_FOLLOWING, turning, least, detail)
        return found


# A command that has changed by this part of the allowed error is a new one.
_NEW_COMMAND = 0.5


class ValveMonitor:
    """Compares each chamber's pressure with the one commanded: that of its regulator, or of the supply, or none.

    The pressure has the time that a valve may take, twice. A command that has moved by half of the allowed error counts
    as a new one: while a regulator follows a moving command, nothing is compared.

    Args:
        rig: that is watched; without `devices.valves.moves_within_s`, or with a supply pressure of 0, nothing is.
    """

    def __init__(self, rig: Rig) -> None:
        config, layout = rig.config, rig.layout
        valves = config.devices.valves if config.devices else None
        within_s = valves.moves_within_s if valves else None
        self._supply_Pa, self._layout = config.cylinders.supply_kPa * 1e3, layout
        self._error_Pa = SWITCHING_PRESSURE_RATIO * self._supply_Pa
        if valves and layout.regulators:
            self._error_Pa = min(valves.follows_within_kPa * 1e3, self._error_Pa)
        self.watched = within_s is not None and self._error_Pa > 0.0
        self._timeout_ns = round(TIMEOUT_FACTOR * 1e9 * (within_s or 0.0))
        self._names, self._by_valve = layout.valves, layout.valve_layout.by_valve
        self._commanded_Pa, self._since_ns = [0.0] * len(self._names), [0] * len(self._names)
        self._command: tuple[ValveSet, tuple[float, ...]] = layout.valves_off, ()

    def record_command(self, t_ns: int, valves: ValveSet, regulators_Pa: tuple[float, ...]) -> None:
        """Store the command that holds from a time on [ns]: valves, and regulators where they are moved."""
        if (valves, regulators_Pa) == self._command:
            return
        self._command = valves, regulators_Pa
        supplies_Pa = regulators_Pa or (self._supply_Pa,)
        if len(supplies_Pa) == 1:
            supplies_Pa *= len(valves)
        pairs = [(on * supply, back * supply) for (on, back), supply in zip(valves, supplies_Pa, strict=True)]
        for valve, commanded_Pa in enumerate(self._by_valve(pairs)):
            last_Pa = self._commanded_Pa[valve]
            if abs(commanded_Pa - last_Pa) > _NEW_COMMAND * self._error_Pa or (commanded_Pa > 0.0) != (last_Pa > 0.0):
                self._commanded_Pa[valve], self._since_ns[valve] = commanded_Pa, t_ns

    def stuck(self, samples: Samples) -> Alarm | None:
        """A valve whose chamber does not follow [Pa]; None: all follow.

        A reading is compared with the command that is older than the reading by the valve's timeout.
        """
        for valve, pressure_Pa in enumerate(self._by_valve(samples.valves.pressure_Pa)):
            if samples.valves.t_ns - self._since_ns[valve] <= self._timeout_ns:
                continue
            commanded_Pa = self._commanded_Pa[valve]
            if not abs(pressure_Pa - commanded_Pa) < self._error_Pa:  # NaN is not
                above = commanded_Pa == 0.0 or pressure_Pa > commanded_Pa
                limit_Pa = commanded_Pa + (self._error_Pa if above else -self._error_Pa)
                words = self._words(valve, pressure_Pa, limit_Pa, above=above)
                return Alarm(Fault.VALVE_STUCK, pressure_Pa, limit_Pa, words)
        return None

    def _words(self, valve: int, pressure_Pa: float, limit_Pa: float, *, above: bool) -> str:
        commanded_Pa, late = self._commanded_Pa[valve], f"{self._timeout_ns * 1e-9:g} s"
        commanded, side = "on" if commanded_Pa else "off", "below" if above else "above"
        if commanded_Pa and self._layout.regulators:
            commanded += f" with its regulator at {commanded_Pa * 1e-3:.0f} kPa"
        found, allowed = f"{pressure_Pa * 1e-3:.0f} kPa", f"{side} {limit_Pa * 1e-3:.0f}"
        return f"valve {self._names[valve]} is {commanded} for {late} and has {found}, allowed: {allowed}"


class BlockMonitor:
    """Checks what a tick took in from one data acquisition.

    Args:
        device: name for messages.
        names: of the channels.
        still_allowed: number of equal samples in a row from which each channel counts as frozen; infinity: not checked.
        setting: config key of that number.
    """

    def __init__(self, device: str, names: Sequence[str], still_allowed: Sequence[float], setting: str) -> None:
        self._device, self._names, self._setting = device, names, setting
        self._still_allowed = still_allowed
        self._least_still = min(still_allowed, default=math.inf)
        self._bad_ticks = 0

    def alarms(self, blocks: Sequence[DaqBlock], gap: int, found: Estimate | LoadState) -> Iterator[Alarm]:
        """What is wrong with the blocks of a tick that took in any: missing, samples not finite, frozen, saturated."""
        device, still = self._device, found.still
        self._bad_ticks = 0 if found.finite else self._bad_ticks + 1
        if gap > GAP_ALLOWED:
            detail = f"{device}: {gap} blocks of samples are missing in a row, allowed: {GAP_ALLOWED}"
            yield Alarm(Fault.SEQUENCE_GAP, gap, GAP_ALLOWED, detail)
        if max(still, default=0) >= self._least_still:
            for name, count, allowed in zip(self._names, still, self._still_allowed, strict=True):
                if count >= allowed:
                    detail = f"{device}: {name} has not changed in {count} samples ({self._setting})"
                    yield Alarm(Fault.SENSOR_STALE, count, allowed, detail)
        if found.saturated or any(True in block.overload for block in blocks):
            yield Alarm(Fault.ADC_SATURATED, math.nan, math.nan, f"{device}: a channel at the end of its range")
        if self._bad_ticks > BAD_TICKS_ALLOWED:
            detail = f"{device}: samples that are not finite in 3 reads in a row"
            yield Alarm(Fault.SAMPLE_NOT_FINITE, math.nan, BAD_TICKS_ALLOWED, detail)
