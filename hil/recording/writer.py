"""Writes the record of a run: every tick, every event, and the sensor samples.

HDF5 in single-writer-multiple-reader mode with fixed-size types only, so that the file of a killed writer still opens.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import h5py
import numpy as np
from numpy.typing import NDArray

from drivers.messages import DaqBlock
from hil.config import Config
from hil.messages.layout import Layout
from hil.messages.schema import EVENT, TIMING, Row, block_dtype, tick_dtype, triggers_capture
from hil.recording.disk_reserve import Reserve
from hil.recording.file_layout import (
    FORMAT,
    Meta,
    Rows,
    append,
    count_times,
    create_datasets,
    new_histogram,
    write_content_digest,
)
from hil.recording.reader import file_of, hold
from hil.recording.triggered_capture import TriggeredCapture

_ROWS = 1024  # of a buffer: 256 ms at 4 kHz; a full one is written early


class _Table:
    """Rows on their way to a dataset; `seen` is shown them when they are written."""

    def __init__(self, dataset: Any, dtype: np.dtype[Any], seen: Callable[[Rows], None] = lambda _: None) -> None:
        self._dataset, self._dtype, self._seen = dataset, dtype, seen
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
        append(self._dataset, rows)
        self._seen(rows)


class RecordWriter:
    """Writes one `trial.h5`. Not for two threads or processes at once.

    Identical inputs give identical `/tick`, `/events` and `/daq`: what is written when depends on tick and sample times
    only, never on the wall clock.

    Args:
        path: The file, or the folder it goes into as `trial.h5`; it must not exist yet.
        meta: What `/meta` holds, one scalar dataset a key: effective config, version, `wall_time`, sensitivities.
        layout: Of the rig.
        sample_rate_hz: Rate of the sensor samples [Hz]; recorded as an attribute of `/daq/raw`, if there are any.
        flush_ns: Tick (and sample) time between two flushes to disk [ns].
        before_s: Which sensor samples are kept: those from so long before the first impact or fault [s]; None: all.
        after_s: To so long after it [s].

    Raises:
        FileExistsError: The file exists: a record is never overwritten.
    """

    def __init__(
        self,
        path: Path,
        *,
        meta: Meta,
        layout: Layout,
        sample_rate_hz: float,
        flush_ns: int = 40_000_000,
        before_s: float | None = None,
        after_s: float = 2.0,
    ) -> None:
        self._flush_ns = flush_ns
        self._due_ns = -(2**63)  # the first row goes to disk at once: it shows that recording works
        before_ns = None if before_s is None else round(before_s * 1e9)
        self._burst = TriggeredCapture(len(layout.channels), before_ns, round(after_s * 1e9))
        self._open = True
        self._block = Row(block_dtype(layout))
        self._histogram = new_histogram()
        self._file = h5py.File(file_of(path), "x", **FORMAT)
        try:
            self._create(meta, layout, sample_rate_hz)
            self._file.swmr_mode = True
            self._held = hold(file_of(path))
            self._reserve = Reserve(file_of(path).parent)
        except BaseException:
            self._file.close()
            raise

    def _create(self, meta: Meta, layout: Layout, sample_rate_hz: float) -> None:
        create_datasets(self._file, meta, layout, sample_rate_hz)
        self._event_set, self._timing_set = self._file["events"], self._file["timing"]
        self._ticks = _Table(self._file["tick"], tick_dtype(layout))
        self._timing = _Table(self._timing_set, TIMING, self._count)
        self._tables = [self._ticks, self._timing]
        if layout.channels:
            self._raw_set, self._t_ns_set = self._file["daq/raw"], self._file["daq/t_ns"]
            self._blocks = _Table(self._file["daq/blocks"], block_dtype(layout))
            self._tables.append(self._blocks)

    def tick(self, rows: Rows) -> None:
        """Records ticks; each `flush_ns` of tick time all that is buffered goes to disk, which takes longer.

        Args:
            rows: A record of `tick_dtype`, or an array of them.

        Raises:
            TypeError: They are of another kind.
        """
        self._ticks.add(rows)
        t_ns = rows["t_ns"].item(-1)
        if t_ns >= self._due_ns:
            self._due_ns = t_ns + self._flush_ns
            self.flush()

    def timing(self, rows: Rows) -> None:
        """Records how long ticks took: a record of `TIMING`, or an array of them. Raises TypeError."""
        self._timing.add(rows)

    def block(self, block: DaqBlock) -> None:
        """Takes the next block of sensor samples: into memory, and to disk what is kept of it.

        Args:
            block: its samples later than every sample before.

        Raises:
            ValueError: Times do not increase, or the shapes do not fit.
        """
        if len(block.t_ns):
            self._block.set(block.sequence, block.t_ns[0], len(block.t_ns), *block.overload, block.arrived_ns)
        self._add_samples(block.t_ns, block.volts, self._block.array[: bool(len(block.t_ns))])

    def blocks(self, rows: Rows) -> None:
        """Takes several blocks at once, which costs hardly more than one.

        Args:
            rows: (blocks,) of `hil.ipc.shared_types.block_row`.

        Raises:
            ValueError: as `block`.
        """
        described: Any = np.zeros(len(rows), self._block.array.dtype)
        for name in ("sequence", "overload", "arrived_ns"):
            described[name] = rows[name]
        described["t_ns"], described["samples"] = rows["t_ns"][:, 0], rows["t_ns"].shape[1]
        self._add_samples(rows["t_ns"].reshape(-1), rows["volts"].reshape(-1, rows["volts"].shape[-1]), described)

    def _add_samples(self, t_ns: NDArray[np.int64], volts: NDArray[np.float64], described: Rows) -> None:
        self._burst.append(t_ns, volts)
        if described.size:
            self._blocks.add(described)
        if self._burst.due(self._flush_ns):
            self._write_burst()

    def event(self, row: Rows) -> None:
        """Records one event, a row of `EVENT`, and flushes it at once.

        The first impact or fault says which sensor samples are kept. Raises TypeError.
        """
        if row.dtype != EVENT:
            raise TypeError(f"Recorder.event: row has dtype {row.dtype}, allowed: EVENT")
        if triggers_capture(row[0]):
            self._burst.trigger(int(row["t_ns"][0]))
        append(self._event_set, row)

    def flush(self) -> None:
        """Writes to disk what is buffered; raises OSError once only the reserve has room for it."""
        full = self._reserve.free_if_full()
        for table in self._tables:
            table.write()
        self._write_burst()
        if full:
            raise full

    def _count(self, rows: Rows) -> None:
        count_times(rows, self._histogram)

    def _write_burst(self) -> None:
        if (samples := self._burst.take()) is not None:
            append(self._raw_set, samples[1])
            append(self._t_ns_set, samples[0])

    def close(self) -> None:
        """Writes what is left (a burst never triggered: the last `before_s`) and closes the file; twice is fine."""
        if not self._open:
            return
        self._open = False
        self._reserve.free()
        try:
            self._burst.finish()
            self.flush()
            self._timing_set.attrs.modify("histogram", self._histogram)
            write_content_digest(self._file)
        finally:
            self._file.close()
            os.close(self._held)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_writer(folder: Path, config: Config, meta: Meta, *, flush_ms: float | None = None) -> RecordWriter:
    """The recorder of a run, as its config says. Raises FileExistsError, OSError.

    Args:
        folder: of the run.
        config: of the run.
        meta: what `/meta` holds.
        flush_ms: time between two flushes to disk [ms], if not as the config says; the content is the same.
    """
    record = config.record
    return RecordWriter(
        folder,
        meta=meta,
        layout=config.layout,
        sample_rate_hz=config.daq.rate_hz if config.daq else 0.0,
        flush_ns=round((flush_ms or record.flush_ms) * 1e6),
        before_s=record.before_s if record.sensors == "burst" else None,
        after_s=record.after_s,
    )
