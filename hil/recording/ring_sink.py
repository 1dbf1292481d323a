"""The loop's record sink if the recorder is a separate process: it writes rows into rings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drivers.messages import DaqBlock
from hil.ipc.run_memory import RECORDER, RunMemory
from hil.ipc.shm import Ring
from hil.messages.fault import Alarm, Fault
from hil.messages.fault_bounds import FULL
from hil.recording.sinks import RecordBufferFull

Rows = NDArray[np.void]


class RingSink:
    """Writes rows into the rings that the recorder reads; it reads the sensor samples from the ring of the DAQ.

    Args:
        shared: memory of the run.
    """

    def __init__(self, shared: RunMemory) -> None:
        self._ticks, self._timings, self._events = shared.ticks, shared.timings, shared.events
        watched = (shared.ticks, *shared.sampled.values())
        self._depths = [(ring.path.name, ring.reader(RECORDER), ring.capacity) for ring in watched]

    def tick(self, rows: Rows) -> None:
        """Append ticks. Raises RecordBufferFull."""
        _append(self._ticks, rows)

    def timing(self, rows: Rows) -> None:
        """Append the timing of ticks. Raises RecordBufferFull."""
        _append(self._timings, rows)

    def block(self, block: DaqBlock) -> None:
        """Nothing to do: the recorder reads the DAQ's ring."""

    def load_block(self, block: DaqBlock) -> None:
        """Nothing to do, as with `block`."""

    def event(self, row: Rows) -> None:
        """Append an event. Raises RecordBufferFull."""
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
