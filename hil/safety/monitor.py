"""The safety latch: every fault leads to Safe, which stays latched until an operator clears it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from hil.config.rig_setup import full_scales, noises
from hil.config.schema.rover import tree_on_rig
from hil.messages.fault import Alarm, Event, Fault
from hil.messages.operator_input import ClearFault, EStop, RefusedCommands
from hil.messages.stages import IDLE_STATE, Command, Estimate, Prediction, Samples
from hil.residuals.judgement import TickResiduals
from hil.safety.device_monitors import (
    BlockMonitor,
    FiniteMonitor,
    MeasuredMonitor,
    ServoMonitor,
    SpeedMonitor,
    ValveMonitor,
)
from hil.safety.fault_table import FAULT_TABLE, warnings_for
from hil.safety.instrument_monitor import InstrumentMonitor, InstrumentSource
from hil.safety.limits import age_limits, alarms, finite_limit
from models.rover.locks import hanging
from models.validity import VALIDITIES

if TYPE_CHECKING:
    from hil.config.rig import Rig

# A channel with less noise than this many converter steps may stay constant without a fault.
LEAST_NOISE_STEPS = 0.5


class SafetyMonitor:
    """Watches each tick's values and latches Safe at the first fault.

    Args:
        rig: that is watched.
        announce: called with each new kind of fault, to record it.
        latched: faults of an earlier run on the same rig that are not cleared yet.
    """

    def __init__(
        self, rig: Rig, announce: Callable[[Event], None] = lambda _: None, latched: Sequence[Event] = ()
    ) -> None:
        config, limits, layout = rig.config, rig.limits, rig.layout
        free = [name for name in hanging(tree_on_rig(config.rover_parameters())) if name not in config.driven]
        #: key, and name of each joint that nothing holds, a likely cause of what the rover does; "": there are none
        self.hanging = f"rover.locks: nothing holds {', '.join(free)}" if free else ""
        self._daq = BlockMonitor("daq", layout.channels, _still_allowed(rig, "daq"))
        self._loads = BlockMonitor("loads", layout.loads, _still_allowed(rig, "loads"))
        self._ages = [(limit.quantity, limit.most, limit) for limit in age_limits(limits, layout.links).values()]
        self._valves, self._servos = ValveMonitor(rig), ServoMonitor(rig)
        monitors = MeasuredMonitor(layout, limits), self._servos
        self._watching = [monitor for monitor in monitors if monitor.watched]
        self._residuals = TickResiduals(config.residuals, layout, rig.rate_hz)
        self.instruments = InstrumentMonitor([InstrumentSource(role, config) for role in layout.instruments])
        self._answered_ns, self._finite = -1, FiniteMonitor(finite_limit("drives: wheel speeds"))
        self._speeds = SpeedMonitor(layout.wheels, config.drives.full_torque_rad)
        self._announce, self._only_recorded = announce, warnings_for(rig)
        self._held_ns = -1  # the last command was given in Safe with nothing armed: its time; else -1
        self.events: list[Event] = list(latched)  #: faults that have latched Safe
        self.warnings: list[Event] = []  #: faults that are only recorded
        self.cleared: list[Event] = []  #: faults that an operator has cleared

    @property
    def safe(self) -> bool:
        """Latched: drives and servos cut, valves off."""
        return bool(self.events)

    @property
    def faults(self) -> list[str]:
        """Names of the faults latched."""
        return [FAULT_TABLE[event.alarm.fault].name for event in self.events]

    def report(self, alarm: Alarm, tick: int, t_ns: int) -> None:
        """Latch Safe, unless the alarm or its fault is one that is only recorded. Each fault is recorded once.

        Who reports an alarm that only marks, although others of its fault may not, does so once.
        """
        noted = self.warnings if alarm.only_marked or alarm.fault in self._only_recorded else self.events
        if alarm.only_marked or all(event.alarm.fault is not alarm.fault for event in noted):
            event = Event(alarm, tick, t_ns)
            noted.append(event)
            self._announce(event)

    def clear(self, fault: int) -> bool:
        """Clear one latched fault by its number. Returns False if it is not latched, or cannot be cleared now.

        It is cleared only where nothing is armed, and after a command was given in Safe because of it: the experiment
        and the limiter have acted on it by then. In a run that is armed or over it stays latched to the end.

        It latches again if its cause is still there. Only an operator clears faults, one by one (`OperatorInput`);
        they are never cleared by time or by the program.
        """
        cleared = [event for event in self.events if event.alarm.fault == fault and event.t_ns <= self._held_ns]
        self.events = [event for event in self.events if event not in cleared]
        self.cleared += cleared
        return bool(cleared)

    def record_command(self, t_ns: int, command: Command) -> None:
        """Store the command of a tick; later measurements are compared with it, and it says what may be cleared."""
        self._held_ns = t_ns if command.safe and command.state == IDLE_STATE else -1
        self._speeds.record_command(command)
        if self._valves.watched:
            self._valves.record_command(t_ns, command.valves, command.regulators_Pa)
        if self._residuals.watched:
            self._residuals.record_command(command)
        if self.instruments.watched:
            self.instruments.record_command(command.cut)
        if self._servos.watched:
            self._servos.record_command(command)

    def check(self, tick: int, samples: Samples, estimate: Estimate, prediction: Prediction) -> None:
        """Compare this tick's values with their limits, and check for an operator's E-stop."""
        for alarm in self._alarms(samples, estimate, prediction):
            self.report(alarm, tick, samples.t_ns)

    def _alarms(self, samples: Samples, estimate: Estimate, prediction: Prediction) -> Iterator[Alarm]:
        """What this tick's values and operators say, one by one: a fault is cleared between those before and after."""
        for command in samples.operator:
            if isinstance(command, EStop):
                yield Alarm(Fault.STOP_BY_OPERATOR, math.nan, math.nan, command.reason or "operator: E-stop")
            elif isinstance(command, ClearFault):
                self.clear(command.fault)
            elif isinstance(command, RefusedCommands):
                yield Alarm(Fault.COMMAND_REFUSED, float(command.count), 0.0, f"commands: {command.why}")
        for quantity, most_ms, limit in self._ages:  # expanded: it is asked in each tick
            if quantity(samples) > most_ms:
                yield from alarms([limit], samples)
        if samples.blocks:  # a tick without a new block has no samples to check
            yield from self._daq.alarms(samples.blocks, samples.gap, estimate)
        if estimate.loads is not None and samples.load_blocks:
            yield from self._loads.alarms(samples.load_blocks, samples.load_gap, estimate.loads)
        if samples.drives.t_ns != self._answered_ns:  # in most ticks there is no new answer
            self._answered_ns, drives = samples.drives.t_ns, samples.drives
            yield from filter(None, (self._speeds.check(drives), self._finite.check(sum(drives.speed_radps))))
        for monitor in self._watching:  # before the twin, which a wrong reading makes wrong
            yield from monitor.alarms(samples)
        if not prediction.finite:
            yield Alarm(Fault.MODEL_NOT_FINITE, math.nan, math.nan, "rover twin: state is not finite")
        if prediction.outside:
            validity = VALIDITIES[int(prediction.outside)]
            found, allowed = prediction.outside_value, prediction.outside_limit
            keys = self.hanging or ", ".join(validity.keys)
            yield Alarm(Fault.OUTSIDE_MODEL, found, allowed, f"rover twin: {validity.words(found, allowed)} ({keys})")
        if self.instruments.watched:
            yield from self.instruments.alarms(samples, prediction)
        if self._valves.watched and (stuck := self._valves.stuck(samples)):
            yield stuck
        if self._residuals.watched and (wrong := self._residuals.check(estimate, prediction)):
            yield Alarm(Fault.IMPLAUSIBLE_VALUE, wrong.value, wrong.limit, wrong.short())


def _still_allowed(rig: Rig, link: str) -> list[float]:
    """Number of equal samples in a row from which each channel counts as frozen; infinity: not checked.

    A simulated sensor with almost no noise may correctly stay constant. A real one always has noise, whatever noise the
    config gives the simulated one.
    """
    config, daq, loads, steps = rig.config, rig.config.daq, rig.config.loads, list[float]()
    count = config.limits.frozen_samples if link == "daq" else config.limits.loads_frozen_samples
    if link == "daq" and daq is not None:
        steps = [channel.noise_V / (2.0 * daq.range_V / 2**daq.bits) for channel in daq.channels]
    elif link == "loads" and loads is not None:
        steps = (noises(config) / (2.0 * full_scales(config) / 2**loads.bits)).tolist()
    return [count if count and (config.rig == "real" or noise >= LEAST_NOISE_STEPS) else math.inf for noise in steps]
