"""Record sinks, and what is recorded of each tick."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from drivers.messages import DaqBlock
from hil.ipc.run_memory import RECORDER, RunMemory
from hil.ipc.shm import Ring
from hil.messages.fault import FULL, Alarm, Event, Fault
from hil.messages.layout import SAMPLED, Layout
from hil.messages.link_messages import EVENT, IMPACT, TIMING, Row, event_row
from hil.messages.operator_input import command_event
from hil.messages.signals import tick_dtype
from hil.messages.stages import Command, Estimate, Prediction, Samples, StageTimer, Tick, tick_packer
from hil.operator.telemetry import Publisher
from hil.recording import RecordWriter
from hil.recording.content import OpenRecord

Rows = NDArray[np.void]


class RecordBufferFull(RuntimeError):  # noqa: N818 - reads well in `except`
    """The recorder is so far behind that a row would be lost."""


class RecordSink(Protocol):
    """Records what happens, in the order in which it happens."""

    def tick(self, rows: Rows) -> None:
        """Record ticks: an array of `tick_dtype`."""

    def timing(self, rows: Rows) -> None:
        """Record the timing of ticks: an array of `TIMING`."""

    def block(self, block: DaqBlock, group: str = "daq") -> None:
        """Record a block of samples of a group of `hil.messages.layout.SAMPLED`."""

    def event(self, row: Rows) -> None:
        """Record an event: an array with one `EVENT`."""


class FileAndTelemetrySink(RecordSink):
    """A record sink that writes to the file of a run and publishes to viewers."""

    def __init__(self, recorder: RecordWriter, publisher: Publisher) -> None:
        self.recorder, self.publisher = recorder, publisher

    @override
    def tick(self, rows: Rows) -> None:
        self.publisher.tick(rows)
        self.recorder.tick(rows)

    @override
    def timing(self, rows: Rows) -> None:
        self.recorder.timing(rows)

    @override
    def block(self, block: DaqBlock, group: str = "daq") -> None:
        self.recorder.block(block, group)

    @override
    def event(self, row: Rows) -> None:
        self.publisher.event(row)
        self.recorder.event(row)


class MemorySink(RecordSink):
    """A record sink that keeps ticks, their timing, events and sensor samples."""

    def __init__(self, layout: Layout) -> None:
        self._tick_dtype = tick_dtype(layout)
        self._ticks: list[bytes] = []
        self._timings: list[bytes] = []
        self._events: list[bytes] = []
        self._samples = {name: [(np.zeros(0, np.int64), np.zeros((0, len(layout.parts(name)))))] for name in SAMPLED}

    def samples(self, group: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Times (n,) [ns] and readings (n, channels) [V] so far, of a group of `hil.messages.layout.SAMPLED`."""
        t_ns, volts = zip(*self._samples[group], strict=True)
        return np.concatenate(t_ns), np.concatenate(volts)

    @property
    def ticks(self) -> Rows:
        """Rows of `tick_dtype` so far."""
        return np.frombuffer(_joined(self._ticks), self._tick_dtype)

    @property
    def timings(self) -> Rows:
        """Rows of `TIMING` so far."""
        return np.frombuffer(_joined(self._timings), TIMING)

    @property
    def events(self) -> Rows:
        """Rows of `EVENT` so far."""
        return np.frombuffer(b"".join(self._events), EVENT)

    @override
    def tick(self, rows: Rows) -> None:
        self._ticks.append(rows.tobytes())  # an array of each row would take three times the memory

    @override
    def timing(self, rows: Rows) -> None:
        self._timings.append(rows.tobytes())

    @override
    def event(self, row: Rows) -> None:
        self._events.append(row.tobytes())

    @override
    def block(self, block: DaqBlock, group: str = "daq") -> None:
        self._samples[group].append((block.t_ns, block.values))


def _joined(parts: list[bytes]) -> bytes:
    """All parts as one, which replaces them: an hour of rows is not kept twice."""
    if len(parts) != 1:
        parts[:] = [b"".join(parts)]
    return parts[0]


class RingSink(RecordSink):
    """Writes rows into the rings that the recorder reads, or raises RecordBufferFull; samples are in the DAQ's ring."""

    def __init__(self, shared: RunMemory) -> None:
        self._ticks, self._timings, self._events = shared.ticks, shared.timings, shared.events
        watched = (shared.ticks, *shared.sampled.values())
        self._depths = [(ring.path.name, ring.reader(RECORDER), ring.capacity) for ring in watched]

    @override
    def tick(self, rows: Rows) -> None:
        _append(self._ticks, rows)

    @override
    def timing(self, rows: Rows) -> None:
        _append(self._timings, rows)

    @override
    def block(self, block: DaqBlock, group: str = "daq") -> None:
        """Nothing to do: the recorder reads the DAQ's ring."""

    @override
    def event(self, row: Rows) -> None:
        _append(self._events, row)

    def alarm(self) -> Alarm | None:
        """The alarm that the recorder falls behind: row 24 of the fault table, before data is lost."""
        for name, cursor, capacity in self._depths:
            if (depth := cursor.depth) > FULL * capacity:
                detail = f"recorder: {depth} {name} not yet in the file, allowed: {FULL:g} of {capacity}; a slow disk?"
                return Alarm(Fault.RECORD_RING_FULL, depth, FULL * capacity, detail)
        return None


def _append(ring: Ring, rows: Rows) -> None:
    if not ring.append(rows):
        raise RecordBufferFull(f"record ring {ring.path.name} is full: the recorder is too slow, or has ended")


# Name of the event for a fault that was latched in an earlier run.
LATCHED_BEFORE = "latched before"


def carried_fault(event: np.void) -> Event:
    """The fault that an event of that name, a row of `EVENT`, records."""
    return Event(Alarm(Fault(int(event["value"])), math.nan, math.nan, bytes(event["detail"]).decode()), 0, 0)


class TickLogger:
    """Turns the values of a tick into the rows of its record. How long the stages took is recorded if `timed`."""

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
            self._record_sink.block(block, "loads")
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
        self._record_sink.event(event_row(0, LATCHED_BEFORE, 0, 0, event.alarm.fault, detail=event.alarm.detail))

    def log_fault(self, event: Event) -> None:
        """Record a fault."""
        (fault, value, limit, detail, only_marked, _), tick, t_ns = event
        reaction_tick = -1 if only_marked else tick
        row = event_row(int(fault), fault.name.lower(), tick, t_ns, value, limit, reaction_tick, detail)
        self._record_sink.event(row)


class CutTimes(msgspec.Struct, frozen=True):
    """The stop-latency breakdown of one cut, in times of the run [ns]."""

    sample_ns: int  # of the first sample over the threshold
    block_ns: int  # of the last sample in its block
    arrived_ns: int  # when the driver had received that block
    tick_ns: int  # deadline of the tick that read it
    stopped_ns: int  # when the last byte of the last controller's stop had been sent


def parts_ms(cuts: Sequence[CutTimes]) -> dict[str, NDArray[np.float64]]:
    """The parts of the duration of each cut, (cuts,) each [ms]."""
    rows = np.array([(c.sample_ns, c.block_ns, c.arrived_ns, c.tick_ns, c.stopped_ns) for c in cuts], float) * 1e-6
    names = ("block", "delivery", "tick", "wire")
    parts = {name: rows[:, i + 1] - rows[:, i] for i, name in enumerate(names)}
    return {"cut_latency": rows[:, 4] - rows[:, 0], **{f"cut_{name}": part for name, part in parts.items()}}


def cut_at_impact(record: OpenRecord, impact_ns: float) -> CutTimes | None:
    """The times of the cut at the impact of a run.

    `impact_ns` is the time of the first sample over the threshold [ns]. Returns the times; None: no impact was
    detected, no stop followed, or it is not known when its block arrived.
    """
    hit = record.tick["t_ns"][record.tick["impact"].astype(bool)]
    stopped = record.tick["drives_stopped_ns"][record.tick["drives_stopped_ns"] >= impact_ns]
    begun = np.flatnonzero(record.blocks["t_ns"] <= impact_ns)
    if not (hit.size and stopped.size and begun.size):
        return None
    block = record.blocks[begun[-1]]
    last = np.searchsorted(record.daq_t_ns, block["t_ns"]) + int(block["samples"]) - 1
    if block["arrived_ns"] < 0 or last >= record.daq_t_ns.size:
        return None
    ends_ns = int(record.daq_t_ns[last])
    return CutTimes(round(impact_ns), ends_ns, int(block["arrived_ns"]), int(hit[0]), int(stopped[0]))
