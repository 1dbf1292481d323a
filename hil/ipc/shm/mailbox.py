"""The newest value of one record, from one writer to any number of readers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.ipc.shm.machine import functions
from hil.ipc.shm.mapped import CONTROL_WORDS, PAYLOAD_AT, Mapped, ShmError, array_address, fixed_dtype, stride
from hil.messages.layout import ROLES

# loop: at the end of each good tick; loop_turn: at the beginning of any
PROCESSES = ("loop", "loop_turn", "recorder", "simulated_rig", "watchdog", *ROLES)
NEVER_NS = 2**62  # age of a process without a heartbeat so far: older than any limit


class Heartbeat:
    """A monotonic time [ns] for each of several names; each is written by one process and read by any.

    Args:
        names: of the processes; None, when opening: those in the file.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool, names: Sequence[str] | None = None) -> None:
        self._call = functions()
        self.path = Path(path)
        if create and names is None:
            names = PROCESSES
        if names is not None and not 0 < len(names) <= CONTROL_WORDS:
            raise ShmError(f"{self.path}: {len(names)} names, allowed: 1 to {CONTROL_WORDS}")
        self._file = Mapped(self.path, "heartbeat", np.dtype("<i8"), create=create, capacity=1, names=names)
        self.names = self._file.names
        self._at = {name: self._file.control(i) for i, name in enumerate(self.names)}
        self._words = {name: self._file.word(i) for i, name in enumerate(self.names)}

    def beat(self, name: str, t_ns: int) -> None:
        """Record that `name` was alive at `t_ns` (CLOCK_MONOTONIC [ns], above 0). KeyError for an unknown name."""
        self._call.store(self._at[name], t_ns)

    def rest(self, name: str) -> None:
        """Record that `name` is not to be watched until its next beat. KeyError as with `beat`."""
        self._call.store(self._at[name], 0)

    def age(self, name: str, now_ns: int) -> int:
        """Time since `name` was last alive [ns]: at least 0, `NEVER_NS` if it never was. KeyError as with `beat`."""
        beat_ns = self._file.words[self._words[name]]
        return max(0, now_ns - beat_ns) if beat_ns else NEVER_NS

    def last_ns(self, name: str) -> int:
        """When `name` was last alive (CLOCK_MONOTONIC [ns]), 0 if it never was. KeyError as with `beat`."""
        return self._file.words[self._words[name]]

    def close(self) -> None:
        """Unmap the file; may be called twice. Any other call raises ShmError from then on."""
        self._call = self._file.close()


STALE = -1
_SLOTS = 8  # also in atomics.ll


class Mailbox:
    """The newest value of one record. One process writes, any may read; no process waits for another.

    Eight slots are used in turn, so the newest value stays intact while the next seven are written. A reader has time
    to copy it, even if the writer is writing the next value, or was suspended or killed while writing it.

    The last array written from or read into and its address are cached: use the same array each time.
    """

    def __init__(self, path: str | os.PathLike[str], dtype: np.dtype[Any], *, create: bool) -> None:
        self._call = functions()
        self.path = Path(path)
        self.dtype = fixed_dtype(self.path, dtype)
        self._file = Mapped(self.path, "mailbox", self.dtype, create=create, capacity=1, names=(), slots=_SLOTS)
        self._scratch = np.zeros(stride(self.dtype) // 8, np.int64)
        self._box = np.array(
            [
                self._file.control(0),
                self._file.address + PAYLOAD_AT,
                self._scratch.ctypes.data,
                self.dtype.itemsize,
            ],
            np.int64,
        )
        self._box_address = int(self._box.ctypes.data)
        self._record, self._record_address = self._scratch, 0
        self._out, self._out_address = self._scratch, 0

    def write(self, record: NDArray[Any]) -> int:
        """Publish a record: an array of one. Returns its version: 1, 2, ..."""
        if record is not self._record:
            self._record_address = self._one(record, writable=False)
            self._record = record
        return self._call.publish(self._box_address, self._record_address)

    @property
    def version(self) -> int:
        """Of the newest record, 0 before the first: whether there is anything new to read."""
        return self._file.words[0]

    def read(self, out: NDArray[Any]) -> int:
        """Copy the newest record into an array of one and return its version.

        Returns:
            The version; 0 if nothing has been written yet; `STALE` (-1) if 7 writes happened during each of 16 tries to
            copy: only if the writer writes without pause and the reader is suspended repeatedly. With 0 and `STALE`,
            `out` is unchanged.
        """
        if out is not self._out:
            self._out_address = self._one(out, writable=True)
            self._out = out
        return self._call.snapshot(self._box_address, self._out_address)

    def close(self) -> None:
        """Unmap the file; may be called twice. Any other call raises ShmError from then on."""
        self._call = self._file.close()

    def _one(self, array: NDArray[Any], writable: bool) -> int:
        address = array_address(self.path, array, self.dtype, writable)
        if array.size != 1:
            raise TypeError(f"{self.path}: an array of one record is needed, found {array.size}")
        return address
