"""The record of a trial, `trial.h5`: every tick, every event, and the burst of sensor samples around the impact.

HDF5 in single-writer-multiple-reader mode with fixed-size types only, so that the file of a killed writer still opens.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import h5py
import numpy as np
from numpy.typing import NDArray

from hil.reserve import Reserve
from hil.rows import EVENT, TICK, TIMING

FILE_NAME = "trial.h5"
_ROWS = 1024  # of the tick buffer: 256 ms at 4 kHz; a full one is written early
_FORMAT = ("v110", "v110")  # the oldest that knows SWMR, for the sake of other people's readers
_SLACK_NS = 250_000_000  # a trigger may come at least this long after its sample with none lost

Meta = Mapping[str, str | float | int]
Samples = tuple[NDArray[np.int64], NDArray[np.float64]]


class _Burst:
    """Keeps the newest blocks until a trigger says which samples count, then hands each of those out once, in order."""

    def __init__(self, channels: int, before_ns: int, after_ns: int) -> None:
        self._channels, self._before_ns, self._after_ns = channels, before_ns, after_ns
        self._blocks: deque[Samples] = deque()
        self._last_ns = -(2**62)
        self._window: tuple[int, int] | None = None  # first and last time of the burst, once triggered

    def append(self, t_ns: NDArray[np.int64], volts: NDArray[np.float64]) -> None:
        n = len(t_ns)
        if t_ns.shape != (n,) or volts.shape != (n, self._channels):
            allowed = f"(n,) and (n, {self._channels})"
            raise ValueError(f"Recorder.block: shapes are {t_ns.shape} and {volts.shape}, allowed: {allowed}")
        if n == 0:
            return
        if t_ns[0] <= self._last_ns or not (t_ns[1:] > t_ns[:-1]).all():
            found = f"times from {t_ns[0]} to {t_ns[-1]} ns after a sample at {self._last_ns} ns"
            raise ValueError(f"Recorder.block: {found}, allowed: strictly increasing")
        self._last_ns = int(t_ns[-1])
        if self._window is None or t_ns[0] <= self._window[1]:
            self._blocks.append((t_ns.copy(), volts.copy()))
        if self._window is None:
            while self._blocks[0][0][-1] < self._last_ns - self._before_ns - _SLACK_NS:
                self._blocks.popleft()

    def trigger(self, t_ns: int) -> None:
        self._window = self._window or (t_ns - self._before_ns, t_ns + self._after_ns)

    def finish(self) -> None:
        """Never triggered: the burst is what lies before the newest sample."""
        self._window = self._window or (self._last_ns - self._before_ns, self._last_ns)

    def due(self, period_ns: int) -> bool:
        return self._window is not None and bool(self._blocks) and self._last_ns - self._blocks[0][0][0] >= period_ns

    def take(self) -> Samples | None:
        if self._window is None or not self._blocks:
            return None
        t_ns, volts = (np.concatenate(parts) for parts in zip(*self._blocks, strict=True))
        self._blocks.clear()
        inside = (t_ns >= self._window[0]) & (t_ns <= self._window[1])
        return t_ns[inside], volts[inside]


class Recorder:
    """Writes one `trial.h5`. Not for two threads or processes at once.

    Identical inputs give identical `/tick`, `/events` and `/daq`: what is written when depends on tick and sample times
    only, never on the wall clock.

    Args:
        path: The file, or the folder it goes into as `trial.h5`; it must not exist yet.
        meta: What `/meta` holds, one scalar dataset a key: effective config, version, `wall_time`, sensitivities.
        channels: Channels of the sensor samples.
        sample_rate_hz: Their rate [Hz]; recorded as an attribute of `/daq/raw`.
        flush_ns: Tick (and sample) time between two flushes to disk [ns].
        before_s: How much of the burst lies before the impact [s].
        after_s: How much of it lies after [s].

    Raises:
        FileExistsError: The file exists: a record is never overwritten.
    """

    def __init__(
        self,
        path: Path,
        *,
        meta: Meta,
        channels: int,
        sample_rate_hz: float,
        flush_ns: int = 40_000_000,
        before_s: float = 0.5,
        after_s: float = 2.0,
    ) -> None:
        self._ticks = np.zeros(_ROWS, TICK)
        self._bytes = self._ticks.view(np.uint8).data
        self._tick_number, self._tick_t_ns = self._ticks["tick"], self._ticks["t_ns"]
        self._timing = np.zeros(_ROWS, TIMING)
        self._rows = 0
        self._flush_ns = flush_ns
        self._due_ns = -(2**63)  # the first row goes to disk at once: it shows that recording works
        self._burst = _Burst(channels, round(before_s * 1e9), round(after_s * 1e9))
        self._open = True
        self._file = h5py.File(_file(path), "x", libver=_FORMAT)
        try:
            self._create(meta, channels, sample_rate_hz)
            self._file.swmr_mode = True
            self._reserve = Reserve(_file(path).parent)
        except BaseException:
            self._file.close()
            raise

    def _create(self, meta: Meta, channels: int, sample_rate_hz: float) -> None:
        def grows(name: str, dtype: Any, *chunk: int) -> Any:
            shape, limit = (0, *chunk[1:]), (None, *chunk[1:])
            return self._file.create_dataset(name, shape, dtype, chunks=chunk, maxshape=limit, track_times=False)

        self._tick_set, self._timing_set = grows("tick", TICK, 128), grows("timing", TIMING, 1024)
        self._event_set = grows("events", EVENT, 32)
        self._raw_set, self._t_ns_set = grows("daq/raw", "<f8", 2048, channels), grows("daq/t_ns", "<i8", 4096)
        self._raw_set.attrs["sample_rate_hz"] = float(sample_rate_hz)
        group = self._file.create_group("meta")
        for key, value in meta.items():
            data = value.encode() if isinstance(value, str) else value
            kind = "<i8" if isinstance(value, int | np.integer) else "<f8"
            dtype = h5py.string_dtype("utf-8", max(1, len(data))) if isinstance(data, bytes) else kind
            group.create_dataset(key, (), dtype, data=data, track_times=False)

    def tick(self, row: np.void | NDArray[np.void], work_ns: int, plant_ns: int) -> None:
        """Records one tick, about 2 us; each `flush_ns` of tick time the buffer goes to disk, which takes longer.

        Args:
            row: A record of `TICK`: a scalar, or an array of one.
            work_ns: Work of the tick [ns].
            plant_ns: The far end's own cost in it [ns].

        Raises:
            TypeError: The row is not one record of `TICK`.
        """
        data = row.tobytes()
        if len(data) != TICK.itemsize or (row.dtype is not TICK and row.dtype != TICK):
            raise TypeError(f"Recorder.tick: row has dtype {row.dtype} and {len(data)} bytes, allowed: one row of TICK")
        i = self._rows
        self._bytes[i * TICK.itemsize : (i + 1) * TICK.itemsize] = data
        self._timing[i] = (self._tick_number[i], work_ns, plant_ns)
        self._rows = i + 1
        t_ns = self._tick_t_ns[i]
        if t_ns >= self._due_ns or self._rows == _ROWS:
            self._due_ns = int(t_ns) + self._flush_ns
            self.flush()

    def block(self, t_ns: NDArray[np.int64], volts: NDArray[np.float64]) -> None:
        """Takes the next block of sensor samples: into memory, and to disk what belongs to the burst.

        Args:
            t_ns: Sample times [ns], shape (n,), strictly increasing and later than every sample before.
            volts: Raw readings [V], shape (n, channels).

        Raises:
            ValueError: Times do not increase, or the shapes do not fit.
        """
        self._burst.append(t_ns, volts)
        if self._burst.due(self._flush_ns):
            self._write_burst()

    def trigger(self, t_ns: int) -> None:
        """Says when the impact was [ns]: the burst around it is recorded. Calls after the first change nothing."""
        self._burst.trigger(t_ns)

    def event(
        self,
        id: int,
        name: str,
        tick: int,
        t_ns: int,
        value: float = 0.0,
        limit: float = 0.0,
        reaction_tick: int = -1,
        detail: str = "",
    ) -> None:
        """Records one event and flushes it at once.

        Args:
            id: Fault number, 0 for what is not a fault.
            name: Its name, cut off after 32 bytes.
            tick: Tick of detection.
            t_ns: Its time [ns].
            value: What was found.
            limit: What is allowed.
            reaction_tick: Tick whose command reacted, -1 if none did.
            detail: In words, cut off after 128 bytes.
        """
        row = (id, _fitting(name, "name"), tick, t_ns, value, limit, reaction_tick, _fitting(detail, "detail"))
        _append(self._event_set, np.array([row], EVENT))

    def flush(self) -> None:
        """Writes to disk what is buffered; raises OSError once only the reserve has room for it."""
        full = self._reserve.free_if_full()
        rows, self._rows = self._rows, 0  # reset first: a failing disk raises once, and nothing is written twice
        if rows:
            _append(self._tick_set, self._ticks[:rows])
            _append(self._timing_set, self._timing[:rows])
        self._write_burst()
        if full:
            raise full

    def _write_burst(self) -> None:
        if (samples := self._burst.take()) is not None:
            _append(self._raw_set, samples[1])
            _append(self._t_ns_set, samples[0])

    def close(self) -> None:
        """Writes what is left (never triggered: the last `before_s` of samples) and closes the file; twice is fine."""
        if not self._open:
            return
        self._open = False
        self._reserve.free()
        try:
            self._burst.finish()
            self.flush()
        finally:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True, eq=False)
class TrialRecord:
    """What `trial.h5` holds."""

    tick: NDArray[np.void]  # rows of TICK, shape (ticks,)
    events: NDArray[np.void]  # rows of EVENT, shape (events,)
    timing: NDArray[np.void]  # rows of TIMING, shape (ticks,)
    raw: NDArray[np.float64]  # sensor readings of the burst [V], shape (samples, channels)
    daq_t_ns: NDArray[np.int64]  # their times [ns], shape (samples,)
    meta: dict[str, str | float | int]


def read_trial(path: Path) -> TrialRecord:
    """Reads a record, also one whose writer was killed or is still writing.

    A row whose place, but not whose content had reached the disk when the writer was killed is left out.

    Args:
        path: The file, or the run folder it is in.
    """
    place = _file(path)
    try:
        file = h5py.File(place, "r", libver="latest", swmr=True)
    except OSError:  # a plain copy in an older format: it knows no SWMR and needs none
        file = h5py.File(place, "r")
    with file:
        tick, timing, events = file["tick"][()], file["timing"][()], file["events"][()]
        raw, daq_t_ns = file["daq/raw"][()], file["daq/t_ns"][()]
        meta = {key: _plain(dataset[()]) for key, dataset in file["meta"].items()}
    ticks, samples = min(_whole(tick["t_ns"]), len(timing)), min(_whole(daq_t_ns), len(raw))
    events = events[events["name"] != b""]
    return TrialRecord(tick[:ticks], events, timing[:ticks], raw[:samples], daq_t_ns[:samples], meta)


def _file(path: Path) -> Path:
    return path / FILE_NAME if path.is_dir() else path


def _append(dataset: Any, rows: NDArray[Any]) -> None:
    """Appends rows to a dataset and makes them visible to readers."""
    length = dataset.shape[0]
    dataset.resize(length + len(rows), axis=0)
    dataset[length:] = rows
    dataset.flush()


def _fitting(text: str, field: str) -> bytes:
    """Returns the text as UTF-8, cut between two characters where the field of `EVENT` is too short for it."""
    return text.encode()[: EVENT[field].itemsize].decode(errors="ignore").encode()


def _plain(value: Any) -> str | float | int:
    plain: str | float | int = value.decode() if isinstance(value, bytes) else value.item()
    return plain


def _whole(t_ns: NDArray[np.int64]) -> int:
    """Returns how many rows are there: rows at the end that were given a place but no content read as time 0."""
    rising = np.flatnonzero(np.diff(t_ns) > 0)
    return int(rising[-1]) + 2 if rising.size else min(1, t_ns.size)
