"""Makes a plain, whole file of what a killed run has left: its record, and the rings it was written from."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.links.rows import START
from hil.links.shared import FOLDER, RECORDER, Shared
from hil.record.burst import Burst
from hil.record.layout import write_whole
from hil.record.reading import FILE_NAME, TrialRecord, read_trial
from hil.rows import BLOCK, EVENT, IMPACT, TICK, TIMING
from hil.shm import Ring

KILLED = "trial.killed.h5"
_UNFINISHED = "trial.recovering.h5"
_MANY = 2**31


class NothingToRecoverError(ValueError):
    """The run has nothing to be recovered, or nothing to recover it from."""


@dataclass(frozen=True)
class Recovered:
    """What was made of a killed run, and what is missing.

    Attributes:
        ticks: rows of `/tick`, and how many of them the file of the killed recorder did not have.
        samples: rows of `/daq/raw`, and the same.
        ticks_missing: first and last tick of each hole: skipped by the clock, or lost.
        blocks_missing: first and last sequence number of each hole in the blocks of sensor samples.
        lost_ms: from the last tick in the file to when the loop last was alive; None if that is not known.
    """

    ticks: tuple[int, int]
    samples: tuple[int, int]
    ticks_missing: tuple[tuple[int, int], ...]
    blocks_missing: tuple[tuple[int, int], ...]
    lost_ms: float | None


def recover(run: Path) -> Recovered:
    """Make `trial.h5` of a run whole; what was there before becomes `trial.killed.h5`.

    Args:
        run: folder of the run. No process of it may be alive.

    Raises:
        NothingToRecoverError: the run ended by itself, or left nothing.
        OSError: the disk is full or the folder cannot be written.
    """
    if not (run / FOLDER).is_dir():
        why = "it ended by itself" if (run / FILE_NAME).is_file() else "it holds no record"
        raise NothingToRecoverError(f"{run}: nothing to recover, {why} (no folder {FOLDER} in it)")
    try:
        shared = Shared(run)
    except FileNotFoundError as error:
        raise NothingToRecoverError(
            f"{run}: killed before anything was recorded ({error.filename} is not there)"
        ) from None
    before = _left_in_file(run, shared)
    record = _merged(before, shared)
    unfinished, kept = run / _UNFINISHED, run / FILE_NAME
    unfinished.unlink(missing_ok=True)  # of a recovery that was itself cut short
    write_whole(unfinished, record, shared.config.daq.rate_hz)
    if kept.is_file():
        kept.rename(run / KILLED)
    unfinished.rename(kept)
    shutil.rmtree(run / FOLDER)
    return Recovered(
        ticks=(len(record.tick), len(record.tick) - len(before.tick)),
        samples=(len(record.raw), len(record.raw) - len(before.raw)),
        ticks_missing=holes(record.tick["tick"]),
        blocks_missing=holes(record.blocks["sequence"]),
        lost_ms=_lost_ms(record, shared),
    )


def holes(numbers: NDArray[np.int64]) -> tuple[tuple[int, int], ...]:
    """First and last number of each hole in numbers that count up by one, from 1 on."""
    known = np.concatenate([[0], numbers])
    return tuple((int(known[i]) + 1, int(known[i + 1]) - 1) for i in np.flatnonzero(np.diff(known) > 1))


def _left_in_file(run: Path, shared: Shared) -> TrialRecord:
    """What the killed recorder has written, if anything."""
    try:
        return read_trial(run)
    except (OSError, KeyError):  # killed before the file was whole: all of it still is in the rings
        channels = len(shared.config.daq.channels)
        tick, events, timing, blocks = (np.zeros(0, dtype) for dtype in (TICK, EVENT, TIMING, BLOCK))
        raw, t_ns = np.zeros((0, channels)), np.zeros(0, np.int64)
        return TrialRecord(tick, events, timing, blocks, raw, t_ns, shared.meta)


def _merged(old: TrialRecord, shared: Shared) -> TrialRecord:
    """File and rings together; what is in both counts once."""
    blocks = _later(_rows(shared.blocks), "sequence", old.blocks)
    heads = np.zeros(len(blocks), BLOCK)
    heads["sequence"], heads["overload"] = blocks["sequence"], blocks["overload"]
    heads["t_ns"], heads["samples"] = blocks["t_ns"][:, 0], blocks["t_ns"].shape[1]
    events = np.concatenate([old.events, _rows(shared.events), _rows(shared.watchdog_events)])
    events = np.array(list(dict.fromkeys(events.tolist())), EVENT)
    t_ns, raw = _samples(old, _rows(shared.blocks), events, shared)
    return TrialRecord(
        tick=np.concatenate([old.tick, _later(_rows(shared.ticks), "tick", old.tick)]),
        events=events,
        timing=np.concatenate([old.timing, _later(_rows(shared.timings), "tick", old.timing)]),
        blocks=np.concatenate([old.blocks, heads]),
        raw=raw,
        daq_t_ns=t_ns,
        meta=old.meta,
    )


def _rows(ring: Ring) -> NDArray[Any]:
    return ring.reader(RECORDER).read(_MANY, keep=True)


def _later(rows: NDArray[Any], key: str, than: NDArray[Any]) -> NDArray[Any]:
    return rows[rows[key] > than[key][-1]] if than.size else rows


def _samples(
    old: TrialRecord, blocks: NDArray[Any], events: NDArray[Any], shared: Shared
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sensor samples of file and ring, of which a config may want a burst only."""
    record = shared.config.record
    t_ns, raw = blocks["t_ns"].reshape(-1), blocks["volts"].reshape(-1, old.raw.shape[1])
    t_ns, order = np.unique(np.concatenate([old.daq_t_ns, t_ns]), return_index=True)
    raw = np.concatenate([old.raw, raw])[order]
    if record.sensors == "all":
        return t_ns, raw
    burst = Burst(raw.shape[1], round(record.before_s * 1e9), round(record.after_s * 1e9))
    for event in events:
        if event["id"] or event["name"] == IMPACT.encode():
            burst.trigger(int(event["t_ns"]))
    burst.append(t_ns, raw)
    burst.finish()
    return burst.take() or (t_ns[:0], raw[:0])


def _lost_ms(record: TrialRecord, shared: Shared) -> float | None:
    start = np.zeros(1, START)
    alive_ns = shared.heartbeat.last_ns("loop_turn")
    if shared.start.read(start) <= 0 or not alive_ns:
        return None
    last_ns = int(record.tick["t_ns"][-1]) if record.tick.size else 0
    return max(0.0, (alive_ns - int(start["start_ns"][0]) - last_ns) * 1e-6)
