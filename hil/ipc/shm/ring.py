"""All rows in order, from one producer to several independent readers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.ipc.shm.machine import functions
from hil.ipc.shm.mapped import CONTROL_WORDS, PAYLOAD_AT, Mapped, ShmError, array_address, fixed_dtype, stride

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
