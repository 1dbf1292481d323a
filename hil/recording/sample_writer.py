"""Where the rows of `trial.h5` are, and how they get there."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5s
from numpy.typing import NDArray

from drivers.messages import DaqBlock
from hil.messages.layout import SAMPLED, Layout
from hil.messages.link_messages import BURST_SLACK_S, EVENT, TIMING, Row
from hil.messages.signals import PLAIN, ROWS, block_dtype, signals_of, tick_dtype
from hil.realtime.histogram import BIN_EDGES_NS, bin_counts
from hil.recording.child_reader import CONTENT, FORMAT, content_sha256
from hil.recording.content import NEWEST_FORMAT, TrialRecord

# In `/meta` of a record that was recovered: the version of the program that did it.
RECOVERED = "recovered_by"
# How a file is made whose rows are all there. The oldest version that knows SWMR, for other people's readers.
PACKED = {"libver": ("v110", "v110")}
# One that grows. A SIGKILL can cut a write short where a page of memory ends, and a piece of HDF5's own data that is
# half old and half new makes the file unreadable: each has to lie within one page.
GROWING = PACKED | {"fs_strategy": "page", "fs_page_size": 4096}
# Byte by byte, shuffled, the rows of a record take a fifth; more effort than 1 gains a twentieth for twice the time.
_COMPRESSION = {"shuffle": True, "compression": "gzip", "compression_opts": 1}
# Rows of a chunk: few while a file grows, as each flush writes the last one again; 50 to 220 kB where it is compressed.
_CHUNKS = {"tick": (128, 512), "timing": (512, 2048), "events": (32, 32)}
_CHUNKS_OF_GROUP = {"blocks": (512, 2048), "raw": (2048, 8192), "t_ns": (4096, 16384)}

Meta = Mapping[str, str | float | int]
Rows = NDArray[np.void]
_TIMES = (TIMING.names or ())[1:]


def _describe(file: h5py.File, layout: Layout) -> None:
    """Units, descriptions and names of elements as attributes: fixed-size text, lists in the order of the fields."""

    def text(names: Iterable[str]) -> Any:
        return np.array([name.encode("ascii") for name in names], "S")

    for path, (description, _) in ROWS.items():
        if path not in file:
            continue
        attributes = file[path].attrs
        described = signals_of(path)
        fields = {name: described[name] for name in file[path].dtype.names}  # what the rig has none of has no field
        attributes["description"] = np.bytes_(description)
        attributes["fields"] = text(fields)
        attributes["units"] = text(field.unit for field in fields.values())
        attributes["descriptions"] = text(field.description for field in fields.values())
        attributes["elements"] = text(",".join(field.names(layout)) for field in fields.values())
    for path, field in PLAIN.items():
        if path not in file:
            continue
        attributes = file[path].attrs
        attributes["description"], attributes["unit"] = np.bytes_(field.description), np.bytes_(field.unit)
        if names := field.names(layout):
            attributes["elements"] = text(names)
        if path == "loads/raw" and layout.reads_loads:
            units = layout.units_of("loads")
            attributes["unit"], attributes["units"] = np.bytes_("N"), text(units)


def create_datasets(
    file: h5py.File, meta: Meta, layout: Layout, rates_hz: Mapping[str, float], *, compressed: bool = False
) -> None:
    """Make the datasets of a record, all but `/meta` empty; without force sensors it has no `/daq`, and so on.

    If `compressed`, rows are appended by whole chunks, each of which is compressed.
    """

    def grows(name: str, dtype: Any, *columns: int) -> Any:
        group, _, part = name.rpartition("/")
        rows = (_CHUNKS_OF_GROUP if group else _CHUNKS)[part][compressed]
        kept_apart = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        kept_apart.set_attr_phase_change(0, 0)  # attributes outside of the header, which each append writes again
        how = {"chunks": (rows, *columns), "maxshape": (None, *columns), "track_times": False, "dcpl": kept_apart}
        return file.create_dataset(name, (0, *columns), dtype, **how, **(_COMPRESSION if compressed else {}))

    grows("tick", tick_dtype(layout))
    timing = grows("timing", TIMING)
    timing.attrs["histogram_fields"] = np.array(_TIMES, "S")
    timing.attrs["histogram_from_ns"] = BIN_EDGES_NS
    timing.attrs["histogram"] = new_histogram()
    grows("events", EVENT)
    for group in SAMPLED:
        if not layout.parts(group):
            continue
        grows(f"{group}/blocks", block_dtype(layout, group))
        raw = grows(f"{group}/raw", "<f8", len(layout.parts(group)))
        raw.attrs["sample_rate_hz"] = float(rates_hz[group])
        grows(f"{group}/t_ns", "<i8")
    _describe(file, layout)
    group = file.create_group("meta")
    for key, value in meta.items():
        data = value.encode() if isinstance(value, str) else value
        kind = "<i8" if isinstance(value, int | np.integer) else "<f8"
        dtype = h5py.string_dtype("utf-8", max(1, len(data))) if isinstance(data, bytes) else kind
        group.create_dataset(key, (), dtype, data=data, track_times=False)
    file.create_dataset(FORMAT, (), "<i8", data=NEWEST_FORMAT, track_times=False)
    file.create_dataset(CONTENT, (), h5py.string_dtype("utf-8", 64), data=b"", track_times=False)


def growing(file: h5py.File) -> list[str]:
    """Names of the datasets of a record that grow."""
    return [*_CHUNKS, *(f"{group}/{part}" for group in SAMPLED if group in file for part in _CHUNKS_OF_GROUP)]


def append(
    dataset: Any,
    rows: NDArray[Any],
    write: Callable[[Callable[[], None]], None] = lambda put: put(),
    kind: Any = None,
) -> None:
    """Append rows to a dataset and make them visible to readers.

    Args:
        dataset: of the record.
        rows: of its dtype.
        write: calls what it is given, and again if that fails and may succeed then (`Reserve.write`).
        kind: the type of the dataset in HDF5, if the rows are known to be just so; it is made of their dtype otherwise,
            which for ticks takes twice as long as writing them.
    """
    place, more = dataset.id, rows.shape[1:]  # h5py's own slices take twice the time
    length = place.shape[0]

    def put() -> None:
        place.set_extent((length + len(rows), *more))
        end = place.get_space()
        end.select_hyperslab((length, *(0 for _ in more)), rows.shape)
        place.write(h5s.create_simple(rows.shape), end, np.ascontiguousarray(rows), kind)
        dataset.flush()

    write(put)


def write_content_digest(file: h5py.File) -> None:
    """The record is whole: have it say the digest of its content. Raises OSError."""
    file[CONTENT][()] = content_sha256(file).encode()


def new_histogram() -> NDArray[np.uint32]:
    """Nothing counted yet: (times of `TIMING`, bins)."""
    return np.zeros((len(_TIMES), len(BIN_EDGES_NS)), "<u4")


def count_times(rows: Rows, histogram: NDArray[np.uint32]) -> None:
    """Count rows of `TIMING` into a histogram."""
    for counts, name in zip(histogram, _TIMES, strict=True):
        bin_counts(rows[name], counts)


def write_whole(path: Path, record: TrialRecord, layout: Layout, rates_hz: Mapping[str, float]) -> None:
    """Write a record that is there as a whole. Raises FileExistsError."""
    with h5py.File(path, "x", **PACKED) as file:
        create_datasets(file, record.meta, layout, rates_hz, compressed=True)
        parts: dict[str, NDArray[Any]] = {"tick": record.tick, "timing": record.timing, "events": record.events}
        for group in SAMPLED:
            parts |= {f"{group}/{name}": rows for name, rows in record.samples(group)._asdict().items()}
        for name, rows in parts.items():
            if name in file:
                append(file[name], rows)
        histogram = new_histogram()
        count_times(record.timing, histogram)
        file["timing"].attrs.modify("histogram", histogram)
        write_content_digest(file)


_EVER = (-(2**62), 2**62)
_SLACK_NS = round(BURST_SLACK_S * 1e9)

Samples = tuple[NDArray[np.int64], NDArray[np.float64]]


class TriggeredCapture:
    """Buffers the newest blocks until a trigger selects the samples, then returns each selected one once, in order.

    Args:
        channels: of the sensor samples.
        before_ns: time selected before a trigger; None: every sample is selected, with or without a trigger.
        after_ns: time selected after it.
    """

    def __init__(self, channels: int, before_ns: int | None, after_ns: int) -> None:
        self._channels, self._before_ns, self._after_ns = channels, before_ns or 0, after_ns
        self._blocks: deque[Samples] = deque()
        self._last_ns = _EVER[0]
        self._window = _EVER if before_ns is None else None  # first and last time of the burst, once triggered

    def append(self, t_ns: NDArray[np.int64], volts: NDArray[np.float64]) -> None:
        """Add a block. Raises ValueError if times do not increase or the shapes are wrong."""
        n = len(t_ns)
        if t_ns.shape != (n,) or volts.shape != (n, self._channels):
            allowed = f"(n,) and (n, {self._channels})"
            raise ValueError(f"Recorder.block: shapes are {t_ns.shape} and {volts.shape}, allowed: {allowed}")
        if n == 0:
            return
        first_ns = t_ns.item(0)
        # count_nonzero takes a fifth of the time of any()
        if first_ns <= self._last_ns or np.count_nonzero(t_ns[1:] <= t_ns[:-1]):
            found = f"times from {first_ns} to {t_ns[-1]} ns after a sample at {self._last_ns} ns"
            raise ValueError(f"Recorder.block: {found}, allowed: strictly increasing")
        self._last_ns = t_ns.item(-1)
        if self._window is None or first_ns <= self._window[1]:
            self._blocks.append((t_ns.copy(), volts.copy()))
        if self._window is None:
            oldest_ns = self._last_ns - self._before_ns - _SLACK_NS
            while self._blocks[0][0].item(-1) < oldest_ns:
                self._blocks.popleft()

    def trigger(self, t_ns: int) -> None:
        """Select the samples around t_ns; only the first call has an effect."""
        self._window = self._window or (t_ns - self._before_ns, t_ns + self._after_ns)

    def finish(self) -> None:
        """End the capture; without a trigger the burst is the time before the newest sample."""
        self._window = self._window or (self._last_ns - self._before_ns, self._last_ns)

    def due(self, period_ns: int) -> bool:
        """Whether selected samples of at least one period can be taken."""
        return (
            self._window is not None and bool(self._blocks) and self._last_ns - self._blocks[0][0].item(0) >= period_ns
        )

    def take(self) -> Samples | None:
        """Times and readings of the selected samples that were not taken yet."""
        if self._window is None or not self._blocks:
            return None
        parts: Any = zip(*self._blocks, strict=True)
        t_ns, volts = (np.concatenate(part) for part in parts)
        self._blocks.clear()
        inside = (t_ns >= self._window[0]) & (t_ns <= self._window[1])
        return t_ns[inside], volts[inside]


Append = Callable[..., None]  # `hil.recording.sample_writer.append`
_ROWS = 1024  # of a buffer: 256 ms at 4 kHz; a full one is written early


class DatasetBuffer:
    """Rows on their way to a dataset; `append` appends them to it, and `seen` is shown them when they are written."""

    def __init__(
        self, dataset: Any, dtype: np.dtype[Any], append: Append, seen: Callable[[Rows], None] = lambda _: None
    ) -> None:
        self._dataset, self._dtype, self._append, self._seen = dataset, dtype, append, seen
        self._kind = dataset.id.get_type()
        self._rows = np.zeros(_ROWS, dtype)
        self._bytes = self._rows.view(np.uint8).data  # assigning bytes is 4 times as quick as assigning a record
        self._size = dtype.itemsize
        self.count = 0

    def add(self, rows: Rows) -> None:
        """Keep rows until `write`. Raises TypeError: they are of another kind."""
        data = rows.tobytes()
        if rows.dtype is not self._dtype and rows.dtype != self._dtype:
            found = f"{len(data)} bytes of {rows.dtype}"
            raise TypeError(f"Recorder: rows of {self._dataset.name} are {found}, allowed: its own dtype")
        count = len(data) // self._size
        if count > _ROWS - self.count:
            self.write()
        if count > _ROWS:
            self._put(rows)
            return
        begin = self.count * self._size
        self._bytes[begin : begin + len(data)] = data
        self.count += count

    def write(self) -> None:
        """Write what is kept."""
        count, self.count = self.count, 0  # reset first: a failing disk raises once, and nothing is written twice
        if count:
            self._put(self._rows[:count])

    def _put(self, rows: Rows) -> None:
        self._append(self._dataset, rows, kind=self._kind)
        self._seen(rows)


class SampleWriter:
    """Samples of one data acquisition on their way to a group of a record.

    Without a group the rig has no such channels. Kept samples of `flush_ns` [ns] are written.
    """

    def __init__(
        self, group: Any, dtype: np.dtype[Any], captured: TriggeredCapture, flush_ns: int, append: Append
    ) -> None:
        self._group, self.captured, self._flush_ns, self._append = group, captured, flush_ns, append
        self._row = Row(dtype)
        self._blocks = None if group is None else DatasetBuffer(group["blocks"], dtype, append)

    def block(self, block: DaqBlock) -> None:
        """Take a block. Raises ValueError: times do not increase, or the shapes do not fit."""
        if len(block.t_ns):
            self._row.set(block.sequence, block.t_ns.item(0), len(block.t_ns), *block.overload, block.arrived_ns)
        self._add(block.t_ns, block.values, self._row.array[: bool(len(block.t_ns))])

    def blocks(self, rows: Rows) -> None:
        """Take rows of `hil.messages.link_messages.BlockRow`. Raises ValueError as `block`."""
        described: Any = np.zeros(len(rows), self._row.array.dtype)
        for name in ("sequence", "overload", "arrived_ns"):
            described[name] = rows[name]
        described["t_ns"], described["samples"] = rows["t_ns"][:, 0], rows["t_ns"].shape[1]
        self._add(rows["t_ns"].reshape(-1), rows["volts"].reshape(-1, rows["volts"].shape[-1]), described)

    def write(self) -> None:
        """Write what is kept."""
        if self._blocks is not None:
            self._blocks.write()
        self._write_samples()

    def _add(self, t_ns: NDArray[np.int64], volts: NDArray[np.float64], described: Rows) -> None:
        self.captured.append(t_ns, volts)
        if described.size and self._blocks is not None:
            self._blocks.add(described)
        if self.captured.due(self._flush_ns):
            self._write_samples()

    def _write_samples(self) -> None:
        if (samples := self.captured.take()) is not None:
            self._append(self._group["raw"], samples[1])
            self._append(self._group["t_ns"], samples[0])


def copy_of(record: Path) -> Path:
    """Where the copy of a record grows. One that a killed writer has left is of no use."""
    return record.with_stem(f"{record.stem}.compressing")


class CompressedCopy:
    """A compressed copy of a record. A disk without room for it costs the copy, not the record."""

    def __init__(self, record: h5py.File, meta: Meta, layout: Layout, rates_hz: Mapping[str, float]) -> None:
        self._record, self._path = record, Path(record.filename)
        self._unfinished = copy_of(self._path)
        self._file: h5py.File | None = None
        try:
            self._unfinished.unlink(missing_ok=True)
            self._file = h5py.File(self._unfinished, "x", **PACKED)
            create_datasets(self._file, meta, layout, rates_hz, compressed=True)
            self._pairs = [(record[name], self._file[name]) for name in growing(record)]
        except (OSError, RuntimeError):
            self.drop()

    def follow(self) -> None:
        """Copy the chunks that have become whole."""
        self._attempt(self._copy_chunks)

    def finish(self) -> None:
        """Copy the rest, once the record holds all that it shall."""
        self._attempt(self._finish)

    def replace(self) -> None:
        """Have the finished copy take the place of the record, which is closed now."""
        if self._file is not None:
            self._file = None
            with suppress(OSError):
                self._unfinished.replace(self._path)

    def drop(self) -> None:
        """Do without a copy."""
        file, self._file = self._file, None
        self._pairs = []
        with suppress(OSError, RuntimeError):
            self._unfinished.unlink(missing_ok=True)  # first: then the disk has room for what closing may write
            if file is not None:
                file.close()

    def _attempt(self, write: Callable[[h5py.File], None]) -> None:
        if self._file is None:
            return
        try:
            write(self._file)
        except (OSError, RuntimeError):  # h5py raises RuntimeError for a write that fails in the HDF5 library
            self.drop()

    def _copy_chunks(self, _: h5py.File) -> None:
        for dataset, packed in self._pairs:
            rows = packed.chunks[0]
            while (done := packed.id.shape[0]) + rows <= dataset.id.shape[0]:
                append(packed, dataset[done : done + rows])  # a chunk at a time: it is compressed once

    def _finish(self, file: h5py.File) -> None:
        self._copy_chunks(file)
        for dataset, packed in self._pairs:
            append(packed, dataset[packed.id.shape[0] :])
        file["timing"].attrs.modify("histogram", self._record["timing"].attrs["histogram"])
        file[CONTENT][()] = self._record[CONTENT][()]
        file.close()
        with open(self._unfinished, "rb") as written:  # the record is as safe as its copy from now on
            os.fsync(written.fileno())
