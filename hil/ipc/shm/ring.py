"""Rings and mailboxes in mapped memory, with one writer each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.ipc.shm.mapped import (
    CONTROL_WORDS,
    PAYLOAD_AT,
    Mapped,
    ShmError,
    array_address,
    fixed_dtype,
    functions,
    stride,
)
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


_PUBLISHED = 0  # control words
_CURSORS = 2


class Ring:
    """A ring of rows. One process appends, any may read through cursors; no process waits for another.

    Readers that must not lose a row have a cursor in the file: rows that such a cursor has not released are not
    overwritten, every process can see how far behind it is, and it keeps its position when its process ends. All other
    readers lose rows when they fall behind by more than the capacity; the cursor counts the lost rows.

    Rows become visible once their `append` is complete: a process killed during an `append` leaves no partial rows.

    Args:
        capacity: rows [1]; None, when opening: that of the file.
        must_not_lose: names of the readers that must not lose a row; None, when opening: those in the file.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        dtype: np.dtype[Any],
        capacity: int | None,
        *,
        create: bool,
        must_not_lose: Sequence[str] | None = None,
    ) -> None:
        self._call = functions()
        self.path = Path(path)
        self.dtype = fixed_dtype(self.path, dtype)
        if (capacity is None and create) or (capacity is not None and capacity < 1):
            raise ShmError(f"{self.path}: capacity {capacity}, allowed: 1 row and more")
        if len(must_not_lose or ()) > CONTROL_WORDS - _CURSORS:
            raise ShmError(f"{self.path}: {len(must_not_lose or ())} cursors, allowed: {CONTROL_WORDS - _CURSORS}")
        self._file = Mapped(self.path, "ring", self.dtype, create=create, capacity=capacity, names=must_not_lose)
        self.capacity = self._file.capacity
        self.must_not_lose = self._file.names
        self._ring = np.array(
            [
                self._file.control(0),
                self._file.address + PAYLOAD_AT,
                self.capacity,
                stride(self.dtype),
                self.dtype.itemsize,
                len(self.must_not_lose),
            ],
            np.int64,
        )
        self._ring_address = int(self._ring.ctypes.data)
        self._rows: NDArray[Any] = self._ring
        self._rows_address = 0

    @property
    def written(self) -> int:
        """Rows published since the file was made [1]."""
        return self._call.load(self._file.control(_PUBLISHED))

    def append(self, rows: NDArray[Any]) -> bool:
        """Publish all rows of an array, or none. Never waits.

        The last array and its address are cached: use the same array each time.

        Returns:
            False if a reader that must not lose rows has not released enough of them: nothing was written then, and
            the caller has to go Safe (fault 24).

        Raises:
            TypeError: not a contiguous array of the ring's dtype.
            ValueError: more rows than the ring holds.
        """
        if rows is not self._rows:
            address = array_address(self.path, rows, self.dtype)
            if rows.size > self.capacity:
                raise ValueError(f"{self.path}: {rows.size} rows in one append, the ring holds {self.capacity}")
            self._rows, self._rows_address = rows, address
        return self._call.append(self._ring_address, self._rows_address, rows.size) == 1

    def reader(self, name: str, *, newest: bool = False) -> Cursor:
        """A cursor: at the stored position if `name` must not lose rows, otherwise a new one, private to this process.

        Args:
            name: of the reader. Only one process at a time may read by a name of `must_not_lose`; others may read its
                depth.
            newest: a private cursor starts with the next row, not with the oldest row still in the ring.
        """
        return Cursor(self, name, newest)

    def close(self) -> None:
        """Unmap the file; may be called twice. Any other call, also of its cursors, raises ShmError from then on."""
        self._call = self._file.close()


class Cursor:
    """The position of one reader in a ring; made by `Ring.reader`.

    Attributes:
        name: of the reader.
        lost: rows overwritten before they were read, so far; always 0 for one that must not lose rows.
    """

    def __init__(self, ring: Ring, name: str, newest: bool) -> None:
        self._ring = ring
        self.name = name
        self.lost = 0
        self._file, self._end_at = ring._file, ring._file.control(_PUBLISHED)
        self._released_at = self._released = 0
        self._outs: dict[int, int] = {}
        self._kept: list[NDArray[Any]] = []
        if name in ring.must_not_lose:
            word = _CURSORS + ring.must_not_lose.index(name)
            self._released_at, self._released = ring._file.control(word), ring._file.word(word)
            self._next = self._ring._call.load(self._released_at)
        else:
            end = ring.written
            self._next = end if newest else max(0, end - ring.capacity)

    @property
    def depth(self) -> int:
        """Rows published and not yet read; for a reader that must not lose any, not yet released."""
        words = self._file.words
        return words[_PUBLISHED] - (words[self._released] if self._released_at else self._next)

    def read(self, max_rows: int, *, keep: bool = False) -> NDArray[Any]:
        """A copy of the next rows, oldest first, at most `max_rows`; empty if there are none.

        Args:
            max_rows: how many [1].
            keep: do not release the rows before `release` is called. A recorder calls it once the rows are in its
                file; a process that opens the ring after its death continues from there.
        """
        rows = np.empty(max(0, min(max_rows, self._waiting())), self._ring.dtype)
        if not rows.size:
            return rows
        spoilt = self._fetch(int(rows.ctypes.data), rows.size)
        if not keep:
            self.release()
        return rows[spoilt:]

    def read_one(self, out: NDArray[Any]) -> bool:
        """Copy the next row into an array of one; False, and `out` is invalid, if there is none or it was overwritten.

        Allocates nothing. The row is released.
        """
        if not self._waiting():
            return False
        if (address := self._outs.get(id(out))) is None:
            address = self._outs[id(out)] = array_address(self._ring.path, out, self._ring.dtype, writable=True)
            self._kept.append(out)  # an id is unique only while its array exists
        spoilt = self._fetch(address, 1)
        self.release()
        return not spoilt

    def skip(self) -> None:
        """Skip all rows published so far, and release them."""
        self._next = self._ring._call.load(self._end_at)
        self.release()

    def _waiting(self) -> int:
        """Rows that can be read now; a reader whose rows were overwritten moves to the oldest row that exists."""
        if self._file.words[_PUBLISHED] == self._next:  # in most calls there is none
            return 0
        end = self._ring._call.load(self._end_at)
        oldest = end - self._ring.capacity
        if self._next < oldest:
            self.lost += oldest - self._next
            self._next = oldest
        return end - self._next

    def _fetch(self, address: int, count: int) -> int:
        """Copy rows. Returns how many of them, counted from the first, were overwritten meanwhile."""
        first = self._next
        oldest = self._ring._call.fetch(self._ring._ring_address, address, first, count)
        self._next = first + count
        if self._released_at or oldest <= first:
            return 0
        self.lost += min(oldest, self._next) - first
        return min(oldest - first, count)

    def release(self, but: int = 0) -> None:
        """Allow the producer to overwrite all rows read so far except the last `but` rows [1]."""
        if self._released_at:
            released = self._ring._call.load(self._released_at)
            self._ring._call.store(self._released_at, max(released, self._next - but))
