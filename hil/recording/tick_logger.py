"""Records each tick: the row, the sensor blocks, the time of each stage, and the events."""

from __future__ import annotations

import math

import numpy as np

from hil.messages.fault import Event, Fault
from hil.messages.layout import Layout
from hil.messages.operator_input import command_event
from hil.messages.packer import tick_packer
from hil.messages.schema import IMPACT, TIMING, Row, event_row
from hil.messages.signals import tick_dtype
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
        timed: how long the stages took is recorded, too.
    """

    def __init__(self, record_sink: RecordSink, layout: Layout, *, timed: bool = True) -> None:
        self._record_sink, self._timed = record_sink, timed
        self._row, self._times = Row(tick_dtype(layout)), Row(TIMING)
        self._numbers = tick_packer(layout)
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
        self._row.set(*self._numbers(tick, samples, estimate, prediction, command))
        self._record_sink.tick(self._row.array)
        self.ticks += 1

    def timing(self, tick: Tick, timer: StageTimer) -> None:
        """Record the timing of a tick."""
        if not self._timed:
            return
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
        fault, reaction_tick = event.fault, -1 if event.only_marked else event.tick
        name, t_ns, tick = fault.name.lower(), event.t_ns, event.tick
        row = event_row(int(fault), name, tick, t_ns, event.value, event.limit, reaction_tick, event.detail)
        self._record_sink.event(row)
