"""Monitors of samples, measured values, wheels, joints and valves, by the rows of `hil.safety.limits`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from drivers.messages import DaqBlock, DriveSample, ValveSet
from hil.config.schema.equipment import LimitsConfig
from hil.messages.fault import LEAST_SET_RADPS, STANDS_SHARE, Alarm, Check, Fault
from hil.messages.layout import Layout
from hil.messages.stages import Command, Estimate, LoadState, Samples
from hil.safety.limits import (
    POWER_AGE,
    History,
    Limit,
    alarms,
    block_limits,
    finite_limit,
    follow_limits,
    joint_limits,
    limit_checks,
    power_limits,
    pressure_limits,
    turning_limits,
    valve_limit,
)

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
        if power is not None:
            if power.t_ns >= 0 and (old := POWER_AGE.alarm((samples.t_ns - power.t_ns) * 1e-6)):
                yield old
            yield from alarms(self._power, power)
        yield from alarms(self._pressures, samples.valves)

    def arming_checks(self, samples: Samples) -> list[Check]:
        """Whether everything that is watched has been read, and is within its limits."""
        return limit_checks(self._power, samples.drives.power) + limit_checks(self._pressures, samples.valves)


class FiniteMonitor:
    """Watches that the values of a device are numbers, answer by answer."""

    def __init__(self, limit: Limit) -> None:
        self._limit, self._history, self._answers = limit, History([limit]), 0

    def check(self, total: float) -> Alarm | None:
        """Called with the sum of the values of each new answer: an alarm, or None."""
        self._answers += 1
        if self._history.idle and math.isfinite(total):
            return None
        for _, held in self._history.due((total,), self._answers):
            return self._limit.found(total, self._limit.most, times=held + 1)
        return None


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
        self._limits, self._full_rad = turning_limits(wheels), full_torque_rad
        self._set: Sequence[float] = ()
        self._history = History(self._limits)
        self._gathered_rad, self._answered_ns = [0.0] * len(wheels), 0

    def record_command(self, command: Command) -> None:
        """Store the command of a tick; the next answer is compared with it."""
        asked = () if command.cut or command.duty else command.speed_radps
        if self._set and not asked:  # a drive's loop forgets what it has gathered, too
            self._history.clear()
            self._gathered_rad = [0.0] * len(self._gathered_rad)
        self._set = asked

    def check(self, drives: DriveSample) -> Alarm | None:
        """Called with each new answer of the drives: a wheel that does not turn, or None."""
        full_rad, gathered_rad, shares = self._full_rad, self._gathered_rad, []
        passed_s, self._answered_ns = (drives.t_ns - self._answered_ns) * 1e-9, drives.t_ns
        for place, (asked, measured) in enumerate(zip(self._set, drives.speed_radps, strict=False)):
            error_rad = gathered_rad[place] + (asked - measured) * passed_s
            gathered_rad[place] = min(full_rad, max(-full_rad, error_rad))  # also if NaN
            shares.append(measured / asked if abs(asked) >= LEAST_SET_RADPS else 1.0)
        for place, held in self._history.due(shares, drives.t_ns) if shares else ():
            asked, measured = self._set[place], drives.speed_radps[place]
            behind_rad, turning = gathered_rad[place], measured
            if asked < 0.0:
                behind_rad, turning = -behind_rad, -turning
            if behind_rad >= full_rad:
                least, words = STANDS_SHARE * abs(asked), {"measured": measured, "asked": asked, "held_s": held * 1e-9}
                return self._limits[place].found(turning, least, **words)
        return None


class ServoMonitor:
    """Compares each new sample of the servos with the ranges and with the command of the tick before."""

    def __init__(self, rig: Rig) -> None:
        self.watched = rig.config.servos is not None
        self._ranges, self._follow = joint_limits(rig, powered=True), follow_limits(rig.config)
        self._history, self._finite = History(self._follow), FiniteMonitor(finite_limit("servos: angles"))
        self._command: Command | None = None
        self._read_ns = 0

    def record_command(self, command: Command) -> None:
        """Store the command of a tick."""
        self._command = command

    def alarms(self, samples: Samples) -> Iterator[Alarm]:
        """What is wrong with the newest sample of a tick."""
        sample, command = samples.servos, self._command
        assert sample is not None  # where a joint is driven
        if sample.t_ns == self._read_ns:
            return
        self._read_ns, total = sample.t_ns, sum(sample.angle_rad)
        if wrong := self._finite.check(total):
            yield wrong
        if not math.isfinite(total):
            return
        if command is None or command.servos_cut:
            self._history.clear()
            return
        yield from alarms(self._ranges, sample)
        off = [abs(wanted - angle) for wanted, angle in zip(command.joint_angle_rad, sample.angle_rad, strict=True)]
        for place, _ in self._history.due(off, sample.t_ns):
            limit = self._follow[place]
            yield limit.found(off[place], limit.most, at=sample.angle_rad[place] * limit.scale)


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
        valves, self._supply_Pa = config.devices.valves if config.devices else None, config.cylinders.supply_kPa * 1e3
        limit = valve_limit(valves, self._supply_Pa, regulated=bool(layout.regulators))
        self.watched = limit is not None
        self._limit = limit or Limit("", "", math.inf, "", "")
        self._names, self._by_valve, self._layout = layout.valves, layout.valve_layout.by_valve, layout
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
            moved = abs(commanded_Pa - last_Pa) > _NEW_COMMAND * self._limit.most
            if moved or (commanded_Pa > 0.0) != (last_Pa > 0.0):
                self._commanded_Pa[valve], self._since_ns[valve] = commanded_Pa, t_ns

    def stuck(self, samples: Samples) -> Alarm | None:
        """A valve whose chamber does not follow [Pa]; None: all follow.

        A reading is compared with the command that is older than the reading by the valve's timeout.
        """
        t_ns, hold_ns, error_Pa = samples.valves.t_ns, self._limit.hold, self._limit.most
        for valve, pressure_Pa in enumerate(self._by_valve(samples.valves.pressure_Pa)):
            commanded_Pa = self._commanded_Pa[valve]
            if t_ns - self._since_ns[valve] > hold_ns and not abs(pressure_Pa - commanded_Pa) < error_Pa:  # NaN is not
                above = commanded_Pa == 0.0 or pressure_Pa > commanded_Pa
                bound_Pa, word = commanded_Pa + (error_Pa if above else -error_Pa), "below" if above else "above"
                commanded = "on" if commanded_Pa else "off"
                if commanded_Pa and self._layout.regulators:
                    commanded += f" with its regulator at {commanded_Pa * 1e-3:.0f} kPa"
                return self._limit.found(pressure_Pa, bound_Pa, name=self._names[valve], commanded=commanded, word=word)
        return None


class BlockMonitor:
    """Checks what a tick took in from one data acquisition.

    Args:
        link: daq or loads.
        names: of the channels.
        still_allowed: number of equal samples in a row from which each channel counts as frozen; infinity: not checked.
    """

    def __init__(self, link: str, names: Sequence[str], still_allowed: Sequence[float]) -> None:
        self._gap, finite, self._still = block_limits(link, names, still_allowed)
        self._finite, self._saturated = FiniteMonitor(finite), f"{self._gap.item}: a channel at the end of its range"
        self._least_still = min(still_allowed, default=math.inf)

    def alarms(self, blocks: Sequence[DaqBlock], gap: int, found: Estimate | LoadState) -> Iterator[Alarm]:
        """What is wrong with the blocks of a tick that took in any: missing, samples not finite, frozen, saturated."""
        wrong = self._finite.check(0.0 if found.finite else math.nan)
        if gap > self._gap.most:
            yield self._gap.found(gap, self._gap.most)
        if max(found.still, default=0) >= self._least_still:
            for limit, count in zip(self._still, found.still, strict=True):
                if frozen := limit.alarm(count):
                    yield frozen
        if found.saturated or any(True in block.overload for block in blocks):
            yield Alarm(Fault.ADC_SATURATED, math.nan, math.nan, self._saturated)
        if wrong:
            yield wrong
