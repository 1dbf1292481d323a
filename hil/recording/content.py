"""What `trial.h5` holds, and how much of it has content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from hil.messages.layout import SAMPLED, Layout
from hil.messages.signals import block_dtype
from hil.recording.digests import CONTENT, FORMAT
from hil.recording.stored_rows import Recorded, in_blocks, stored
from hil.recording.structure import StructureError

# Of the records that this version writes; it reads all before it: 1, which does not say so, is not compressed.
NEWEST_FORMAT = 2
_AT_THE_END = 16384  # rows, of which a killed writer may have left the last without content


class SampleSet(NamedTuple):
    """Samples of one data acquisition.

    Attributes:
        blocks: rows of block_dtype, shape (blocks,).
        raw: readings [V], shape (samples, channels).
        t_ns: their times [ns], shape (samples,).
    """

    blocks: Recorded
    raw: Recorded
    t_ns: Recorded


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
