"""Records each tick: the row, the sensor blocks, the time of each stage, and the events."""

from __future__ import annotations

import math
from itertools import chain

import numpy as np

from hil.messages.fault import Event, Fault
from hil.messages.layout import Layout
from hil.messages.operator_input import command_event
from hil.messages.schema import IMPACT, TIMING, Row, event_row, power_numbers, tick_dtype
from hil.messages.stages import Command, Estimate, Prediction, Samples, StageTimer, Tick
from hil.recording.sinks import RecordSink

# Name of the event for a fault that was latched in an earlier run.
LATCHED_BEFORE = "latched before"


def carried_fault(event: np.void) -> Event:
    """The fault that an event of that name, a row of `EVENT`, records."""
    return Event(Fault(int(event["value"])), 0, 0, math.nan, math.nan, bytes(event["detail"]).decode())


class TickLogger:
    """Turns the values of a tick into the rows of its record.

    Args:
        record_sink: receives the rows.
        layout: of the rig.
    """

    def __init__(self, record_sink: RecordSink, layout: Layout) -> None:
        self._record_sink = record_sink
        self._row, self._times = Row(tick_dtype(layout)), Row(TIMING)
        self._no_duty = layout.no_duty
        self.impact_ns: int | None = None
        self.stopped_ns: int | None = None  # when the stop after it had been sent to all drives
        self.saturated = False
        self.ticks = 0

    def record(
        self, tick: Tick, samples: Samples, estimate: Estimate, prediction: Prediction, command: Command
    ) -> None:
        """Record one tick."""
        for block in samples.blocks:
            self._record_sink.block(block)
        for block in samples.load_blocks:
            self._record_sink.load_block(block)
        for asked in samples.operator:
            self._record_sink.event(command_event(asked, tick.number, tick.t_ns))
        if estimate.impact_ns is not None and self.impact_ns is None:
            self.impact_ns = estimate.impact_ns
            self._record_sink.event(event_row(0, IMPACT, tick.number, estimate.impact_ns, reaction_tick=tick.number))
        if self.impact_ns is not None and self.stopped_ns is None and samples.drives.stopped_ns >= self.impact_ns:
            self.stopped_ns = samples.drives.stopped_ns
        self.saturated = estimate.saturated
        self._row.set(*tick_numbers(tick, samples, estimate, prediction, command, self._no_duty))
        self._record_sink.tick(self._row.array)
        self.ticks += 1

    def timing(self, tick: Tick, timer: StageTimer) -> None:
        """Record the timing of a tick."""
        times_ns = timer.times_ns
        self._times.set(tick.number, sum(times_ns), tick.plant_ns, *times_ns)
        self._record_sink.timing(self._times.array)

    def log_event(self, name: str, detail: str) -> None:
        """Record an event that is not a fault, before the first tick."""
        self._record_sink.event(event_row(0, name, 0, 0, detail=detail))

    def log_latched(self, event: Event) -> None:
        """Record a fault of an earlier run that is latched when this one starts; `carried_fault` reads it back."""
        self._record_sink.event(event_row(0, LATCHED_BEFORE, 0, 0, event.fault, detail=event.detail))

    def log_fault(self, event: Event) -> None:
        """Record a fault."""
        fault = event.fault
        name, t_ns, tick = fault.name.lower(), event.t_ns, event.tick
        self._record_sink.event(event_row(int(fault), name, tick, t_ns, event.value, event.limit, tick, event.detail))


def tick_numbers(
    tick: Tick,
    samples: Samples,
    estimate: Estimate,
    prediction: Prediction,
    command: Command,
    no_duty: tuple[float, ...] = (),
) -> tuple[float, ...]:
    """One tick as the numbers of a row of `tick_dtype`; `no_duty` is that of its layout."""
    drives, valves = samples.drives, samples.valves
    return (
        tick.number,
        tick.t_ns,
        command.state,
        command.safe,
        command.cut,
        estimate.impact_ns is not None,
        command.clamped,
        *chain.from_iterable(command.valves),
        samples.daq_age_ns,
        samples.daq_sequence,
        drives.t_ns,
        drives.acknowledged_ns,
        drives.stopped_ns,
        valves.t_ns,
        valves.acknowledged_ns,
        *command.speed_radps,
        *estimate.wheel_speed_radps,
        *chain.from_iterable(valves.pressure_Pa),
        *estimate.force_N,
        sum(estimate.force_N),
        *estimate.load_point_m,
        *prediction.normal_force_N,
        *prediction.sinkage_m,
        *prediction.slip,
        prediction.speed_mps,
        prediction.effective_kinetic_energy_J,
        prediction.time_to_impact_s,
        *command.regulators_Pa,
        *(command.duty or no_duty),
        *power_numbers(drives.power),
        *((samples.load_age_ns, samples.load_sequence) if estimate.loads is not None else ()),
        *estimate.wheel_load_N,
        *estimate.pull_N,
        *(() if command.loads is None else command.loads.numbers()),
        *prediction.cylinder_torque_Nm,
        *prediction.cylinder_angle_rad,
    )
