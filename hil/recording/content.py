"""What `trial.h5` holds; long rows stay in the file and are read by blocks (`in_blocks`), short ones are arrays."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from hil.messages.layout import SAMPLED, Layout
from hil.messages.signals import block_dtype
from hil.recording.child_reader import CONTENT, FORMAT, StructureError

# Size of a block [bytes]: a trial of a minute. Chunks of a record are read whole, so a block is a multiple of them.
BLOCK_BYTES = 2**24
_CHUNK_ROWS = 16384  # of which the chunks of all datasets are parts (`hil.recording.sample_writer`)


class StoredRows(np.lib.mixins.NDArrayOperatorsMixin):
    """Rows of a dataset that stay there, with what an array has for reading; columns and single rows are arrays.

    A column, or a selection, of all rows is read as a whole: it is as long as the record. It costs one reading of the
    dataset each time, so what needs several columns takes them from `in_blocks`. Calculated with, they are read whole.

    Attributes:
        dtype: of a row.
        shape: of all of them.
    """

    def __init__(self, dataset: h5py.Dataset, count: int) -> None:
        self._dataset = dataset
        self.dtype: np.dtype[Any] = dataset.dtype
        self.shape: tuple[int, ...] = (count, *dataset.shape[1:])

    @property
    def size(self) -> int:
        """How many rows, or numbers of them."""
        return int(np.prod(self.shape))

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        for block in self.blocks():
            yield from block

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self[:], dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **how: Any) -> Any:
        return getattr(ufunc, method)(*(one[:] if isinstance(one, StoredRows) else one for one in inputs), **how)

    def first(self, count: int) -> StoredRows:
        """The first of them."""
        return StoredRows(self._dataset, count)

    def blocks(self) -> Iterator[NDArray[Any]]:
        """All rows in order, block by block."""
        count, rows = len(self), block_rows(self.dtype, self.shape)
        for first in range(0, count, rows):
            yield self._dataset[first : min(first + rows, count)]

    def __getitem__(self, key: Any) -> Any:
        """Fields, rows or both, as of an array: a name or a list of them, a slice, a number, a mask of rows."""
        if isinstance(key, int | np.integer):
            place = range(len(self))[key]
            return self._dataset[place : place + 1][0]
        if isinstance(key, slice) and key.step in (None, 1):
            first, last, _ = key.indices(len(self))
            return self._dataset[first : max(first, last)]
        if isinstance(key, slice) and key.step > 0:
            chosen = np.zeros(len(self), bool)
            chosen[key] = True
            return self[chosen]
        if isinstance(key, np.ndarray) and key.dtype == bool and len(key) == len(self):
            return self._joined(lambda rows, first: rows[key[first : first + len(rows)]])
        if isinstance(key, str) or (isinstance(key, list) and all(isinstance(name, str) for name in key)):
            return self._joined(lambda rows, _: rows[key] if isinstance(key, str) else packed(rows, key))
        return self._dataset[: len(self)][key]

    def _joined(self, take: Callable[[NDArray[Any], int], NDArray[Any]]) -> NDArray[Any]:
        """Something of all blocks, as one array."""
        parts, first = [], 0
        for rows in self.blocks():
            parts.append(np.ascontiguousarray(take(rows, first)))
            first += len(rows)
        return np.concatenate(parts)


# What functions take that go through rows: both have a dtype, fields by name, slices and a length.
Recorded = NDArray[Any] | StoredRows


def stored(dataset: h5py.Dataset, count: int) -> Recorded:
    """The first rows of a dataset: an array of what is no longer than a block."""
    short = count <= block_rows(dataset.dtype, dataset.shape)
    return dataset[:count] if short else StoredRows(dataset, count)


def in_blocks(rows: Recorded) -> Iterator[NDArray[Any]]:
    """Rows in order, in blocks of the same lengths wherever they are kept; of no rows one that is empty."""
    if isinstance(rows, StoredRows):
        yield from rows.blocks()
        return
    step = block_rows(rows.dtype, rows.shape)
    for first in range(0, max(len(rows), 1), step):
        yield rows[first : first + step]


def first_rows(rows: Recorded, count: int) -> Recorded:
    """The first of them."""
    return rows.first(count) if isinstance(rows, StoredRows) else rows[:count]


def between(rows: Recorded, first_ns: float, last_ns: float, field: str | tuple[()] = ()) -> slice:
    """Which rows, in order of time, have times from first to last; only some of them are read.

    `field` names the times [ns] in the rows, unless these are times themselves.
    """
    places = range(len(rows))
    first = bisect_left(places, first_ns, key=lambda place: rows[place][field])
    return slice(first, bisect_right(places, last_ns, key=lambda place: rows[place][field]))


def packed(rows: NDArray[Any], names: list[str], may_lack: Collection[str] = ()) -> NDArray[Any]:
    """Some fields of rows, without the room of the others.

    Fields of `may_lack` have no elements where the rows lack them.
    """
    there = [name for name in names if name not in may_lack or name in (rows.dtype.names or ())]
    empty: list[Any] = [(name, "<f8", (0,)) for name in names if name not in there]
    made = np.empty(len(rows), [*((name, rows.dtype[name]) for name in there), *empty])
    for name in there:
        made[name] = rows[name]
    return made


def per_part(rows: NDArray[Any] | np.void, name: str) -> NDArray[Any]:
    """A field with a number for each part of one kind, as joints are: none of a row where the rover has no such part.

    A record lacks the field then. Rows of an earlier version may lack it too: who has to tell these looks first.
    """
    there = name in (rows.dtype.names or ())
    found: NDArray[Any] = rows[name] if there else np.zeros((*rows.shape, 0))
    return found


def block_rows(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    """How many rows a block has."""
    a_row = max(dtype.itemsize * int(np.prod(shape[1:], dtype=np.int64)), 1)
    return max(BLOCK_BYTES // a_row // _CHUNK_ROWS, 1) * _CHUNK_ROWS


# Of the records that this version writes; it reads all before it: 1, which does not say so, is not compressed.
NEWEST_FORMAT = 2
_AT_THE_END = 16384  # rows, of which a killed writer may have left the last without content


class SampleSet(NamedTuple):
    """Samples of one data acquisition."""

    blocks: Recorded  # rows of block_dtype, shape (blocks,)
    raw: Recorded  # readings [V], shape (samples, channels)
    t_ns: Recorded  # their times [ns], shape (samples,)


def no_samples(layout: Layout, group: str) -> SampleSet:
    """None of a group's channels."""
    raw = np.zeros((0, len(layout.parts(group))))
    return SampleSet(np.zeros(0, block_dtype(layout, group)), raw, np.zeros(0, np.int64))


_NO_LOADS = no_samples(Layout((), (), ()), "loads")


@dataclass(frozen=True, slots=True, eq=False)
class OpenRecord:
    """What `trial.h5` holds; what is long stays in the file (`open_trial`)."""

    tick: Recorded  # rows of tick_dtype, shape (ticks,)
    events: NDArray[np.void]  # rows of EVENT, shape (events,)
    timing: Recorded  # rows of TIMING, shape (ticks,)
    blocks: Recorded  # rows of block_dtype, shape (blocks,); this and the next two empty without force sensors
    raw: Recorded  # sensor readings [V], shape (samples, channels)
    daq_t_ns: Recorded  # their times [ns], shape (samples,)
    meta: dict[str, str | float | int]
    loads: SampleSet = _NO_LOADS  # of leg sensors and load cell; empty without them

    def samples(self, group: str) -> SampleSet:
        """Samples of a group of `hil.messages.layout.SAMPLED`."""
        return self.loads if group == "loads" else SampleSet(self.blocks, self.raw, self.daq_t_ns)


@dataclass(frozen=True, slots=True, eq=False)
class TrialRecord(OpenRecord):
    """All of what `trial.h5` holds, in arrays."""

    tick: NDArray[np.void]
    timing: NDArray[np.void]
    blocks: NDArray[np.void]
    raw: NDArray[np.float64]
    daq_t_ns: NDArray[np.int64]


def content_of(file: h5py.File) -> OpenRecord:
    """What a file holds. Raises StructureError, LookupError, TypeError, ValueError, OSError: no record, or damaged."""
    if FORMAT in file and (number := int(file[FORMAT][()])) > NEWEST_FORMAT:
        raise StructureError(f"it has format {number}, this version reads up to {NEWEST_FORMAT}; a newer one reads it")
    tick, timing, events = _rows(file["tick"], "tick"), _rows(file["timing"], "tick"), file["events"][()]
    daq, loads = (_samples(file, group) for group in SAMPLED)
    meta = {key: _plain(item[()]) for key, item in file["meta"].items() if f"/meta/{key}" not in (FORMAT, CONTENT)}
    return OpenRecord(
        tick=tick,
        events=events[events["name"] != b""],
        timing=timing,
        blocks=daq.blocks,
        raw=daq.raw,
        daq_t_ns=daq.t_ns,
        meta=meta,
        loads=loads,
    )


def _samples(file: h5py.File, group: str) -> SampleSet:
    """What a group holds; nothing where the rig, by its layout, has no such channels."""
    if group not in file:
        text = file["meta/layout"][()].decode() if "layout" in file["meta"] else ""
        layout = Layout.from_json(text) if text else None
        if group == "loads" and layout is None:  # recorded by a version without them
            return _NO_LOADS
        if layout is not None and not layout.parts(group):
            return no_samples(layout, group)
    blocks, raw, t_ns = (file[f"{group}/{name}"] for name in SampleSet._fields)
    if (raw.ndim, raw.dtype.kind, t_ns.ndim, t_ns.dtype.kind) != (2, "f", 1, "i"):
        found = f"{raw.ndim} axes of {raw.dtype} and {t_ns.ndim} of {t_ns.dtype}"
        raise ValueError(f"/{group}/raw and /{group}/t_ns have {found}, a record 2 of float64 and 1 of int64")
    count = min(_whole(t_ns), len(raw))
    return SampleSet(_rows(blocks, "sequence"), stored(raw, count), stored(t_ns, count))


def _rows(dataset: h5py.Dataset, rising: str) -> Recorded:
    return stored(dataset, _whole(dataset, rising))


def read_through(record: OpenRecord) -> None:
    """Read all rows, to see whether that is possible. Raises OSError."""
    for rows in (record.tick, record.timing, record.blocks, record.raw, record.daq_t_ns, *record.loads):
        for _ in in_blocks(rows):
            pass


def in_memory(record: OpenRecord) -> TrialRecord:
    """The same in arrays."""
    return TrialRecord(
        tick=np.asarray(record.tick),
        events=record.events,
        timing=np.asarray(record.timing),
        blocks=np.asarray(record.blocks),
        raw=np.asarray(record.raw),
        daq_t_ns=np.asarray(record.daq_t_ns),
        meta=record.meta,
        loads=SampleSet(*(np.asarray(rows) for rows in record.loads)),
    )


def _plain(value: Any) -> str | float | int:
    plain: str | float | int = value.decode() if isinstance(value, bytes) else value.item()
    return plain


def _whole(dataset: h5py.Dataset, rising: str | tuple[()] = ()) -> int:
    """Returns how many rows are there: rows at the end that were given a place but no content read as 0."""
    rows = len(dataset)
    for first in range((rows - 1) // _AT_THE_END * _AT_THE_END, -1, -_AT_THE_END):
        numbers = dataset[first : min(first + _AT_THE_END + 1, rows)][rising]
        if (rises := np.flatnonzero(np.diff(numbers) > 0)).size:
            return first + int(rises[-1]) + 2
    return min(1, rows)
