"""Record sinks: the interface that the loop writes to; into file and viewers, memory, or the rings of a recorder."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from drivers.messages import DaqBlock
from hil.ipc.run_memory import RECORDER, RunMemory
from hil.ipc.shm import Ring
from hil.messages.fault import FULL, Alarm, Fault
from hil.messages.layout import SAMPLED, Layout
from hil.messages.schema import EVENT, TIMING
from hil.messages.signals import tick_dtype
from hil.operator.telemetry import Publisher
from hil.recording import RecordWriter

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
