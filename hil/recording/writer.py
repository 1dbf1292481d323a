"""Writes the record of a run, in HDF5's single-writer-multiple-reader mode with fixed-size types only.

So the file of a killed writer still opens. At the end a compressed copy, which has grown next to it, takes its place.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self

import h5py

from drivers.messages import DaqBlock
from hil.config import Config
from hil.messages.layout import SAMPLED, Layout
from hil.messages.link_messages import EVENT, TIMING, triggers_capture
from hil.messages.signals import block_dtype, tick_dtype
from hil.recording.reader import file_of, hold
from hil.recording.run_folder import Reserve
from hil.recording.sample_writer import (
    GROWING,
    CompressedCopy,
    DatasetBuffer,
    Meta,
    Rows,
    SampleWriter,
    TriggeredCapture,
    append,
    count_times,
    create_datasets,
    new_histogram,
    write_content_digest,
)


class RecordWriter:
    """Writes one `trial.h5`. Not for two threads or processes at once.

    Identical inputs give identical `/tick`, `/events` and `/daq`: what is written when depends on tick and sample times
    only, never on the wall clock.

    Args:
        path: The file, or the folder it goes into as `trial.h5`; it must not exist yet.
        meta: What `/meta` holds, one scalar dataset a key: effective config, version, `wall_time`, sensitivities.
        layout: Of the rig.
        rates_hz: Rate of the samples of each group [Hz]; recorded as attributes of `/daq/raw` and `/loads/raw`.
        flush_ns: Tick (and sample) time between two flushes to disk [ns].
        before_s: Which samples of the force sensors are kept: those from so long before the first impact or fault [s];
            None: all.
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
        rates_hz: Mapping[str, float],
        flush_ns: int = 40_000_000,
        before_s: float | None = None,
        after_s: float = 2.0,
    ) -> None:
        self._flush_ns = flush_ns
        # Time of the newest tick, and when the next flush is due: the first tick goes to disk at once, which shows that
        # recording works.
        self._t_ns = self._due_ns = -(2**63)
        before_ns = None if before_s is None else round(before_s * 1e9)
        self._burst = TriggeredCapture(len(layout.channels), before_ns, round(after_s * 1e9))
        self._open = True
        self._histogram = new_histogram()
        self._file = h5py.File(file_of(path), "x", **GROWING)
        self._reserve = Reserve(file_of(path).parent)
        try:
            self._create(meta, layout, rates_hz)
            self._file.swmr_mode = True
            self._held = hold(file_of(path))
            self._copy = CompressedCopy(self._file, meta, layout, rates_hz)
        except BaseException:
            self._reserve.free()
            self._file.close()
            raise

    def _create(self, meta: Meta, layout: Layout, rates_hz: Mapping[str, float]) -> None:
        create_datasets(self._file, meta, layout, rates_hz)
        # no part refers to this object: then its memory is free once it is closed, without the garbage collector
        put, seen = partial(append, write=self._reserve.write), partial(count_times, histogram=self._histogram)
        self._event_set, self._timing_set = self._file["events"], self._file["timing"]
        self._ticks = DatasetBuffer(self._file["tick"], tick_dtype(layout), put)
        self._timing = DatasetBuffer(self._timing_set, TIMING, put, seen)
        all_loads = TriggeredCapture(len(layout.loads), None, 0)
        self._sampled = [
            SampleWriter(self._file.get(group), block_dtype(layout, group), captured, self._flush_ns, put)
            for group, captured in zip(SAMPLED, (self._burst, all_loads), strict=True)
        ]
        self._parts: list[DatasetBuffer | SampleWriter] = [self._ticks, self._timing, *self._sampled]

    def tick(self, rows: Rows) -> None:
        """Records ticks. Raises TypeError: They are of another kind."""
        self._ticks.add(rows)
        self._t_ns = rows["t_ns"].item(-1)

    def timing(self, rows: Rows) -> None:
        """Records how long ticks took; each `flush_ns` of tick time all that is buffered goes to disk.

        That takes longer than a tick, so it is done after the tick's work has been timed: with `clock: lockstep` the
        loop writes its record itself.

        Raises TypeError: They are of another kind.
        """
        self._timing.add(rows)
        if self._t_ns >= self._due_ns:
            self._due_ns = self._t_ns + self._flush_ns
            self.flush()

    def block(self, block: DaqBlock, group: str = "daq") -> None:
        """Takes the next block of a group of `SAMPLED`: into memory, and to disk what is kept of it; of loads all.

        Raises ValueError: Times do not increase, or the shapes do not fit.
        """
        self._sampled[SAMPLED.index(group)].block(block)

    def blocks(self, rows: Rows, group: str) -> None:
        """Takes several blocks of a group at once, which costs hardly more than one. Raises ValueError: as `block`."""
        self._sampled[SAMPLED.index(group)].blocks(rows)

    def event(self, row: Rows) -> None:
        """Records one event, a row of `EVENT`, and flushes it at once.

        The first impact or fault says which sensor samples are kept. Raises TypeError.
        """
        if row.dtype != EVENT:
            raise TypeError(f"Recorder.event: row has dtype {row.dtype}, allowed: EVENT")
        if triggers_capture(row[0]):
            self._burst.trigger(int(row["t_ns"][0]))
        append(self._event_set, row, self._reserve.write)

    def flush(self) -> None:
        """Writes to disk what is buffered; raises OSError once only the reserve has room for it."""
        self._reserve.free_if_full()
        self._write_parts()
        self._copy.follow()
        if full := self._reserve.take_full():
            self._copy.drop()
            raise full

    def _write_parts(self) -> None:
        for part in self._parts:
            part.write()

    def close(self) -> None:
        """Writes what is left (a burst never triggered: the last `before_s`) and closes the file; twice is fine.

        The file is compressed then, unless the disk had no room for that.
        """
        if not self._open:
            return
        self._open = False
        self._reserve.free()
        try:
            self._burst.finish()
            self._write_parts()
            self._timing_set.attrs.modify("histogram", self._histogram)
            write_content_digest(self._file)
            self._copy.finish()
        except BaseException:
            self._copy.drop()
            raise
        finally:
            self._file.close()
            self._copy.replace()
            os.close(self._held)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_writer(folder: Path, config: Config, meta: Meta, *, flush_ms: float | None = None) -> RecordWriter:
    """The recorder of a run, as its config says. Raises FileExistsError, OSError.

    With `flush_ms` [ms] it flushes at other times than the config says; the content is the same.
    """
    record = config.record
    return RecordWriter(
        folder,
        meta=meta,
        layout=config.layout,
        rates_hz=config.sample_rates_hz,
        flush_ns=round((flush_ms or record.flush_ms) * 1e6),
        before_s=record.before_s if record.sensors == "burst" else None,
        after_s=record.after_s,
    )


def add_events(folder: Path, rows: Sequence[Rows]) -> None:
    """Append what the end of a run has shown to its record, which its writer has closed.

    Raises OSError: it cannot be written.
    """
    with h5py.File(file_of(folder), "r+") as file:
        for row in rows:
            append(file["events"], row)
        write_content_digest(file)
