"""Makes a plain, whole file of what a killed run has left: its record, and the rings it was written from."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.config import ConfigError, parse_config
from hil.ipc.run_memory import FOLDER, RunMemory
from hil.ipc.shared_types import START
from hil.ipc.shm import ShmError
from hil.messages.layout import SAMPLED, Layout
from hil.messages.link_messages import EVENT, TIMING, triggers_capture
from hil.messages.signals import as_recorded, tick_dtype
from hil.recording.content import Recorded, SampleSet, TrialRecord, no_samples
from hil.recording.reader import FILE_NAME, RecordError, is_closed, is_held, read_trial
from hil.recording.sample_writer import RECOVERED, TriggeredCapture, copy_of, write_whole
from hil.simulator.ground_truth import HIT_SPEED, GroundTruth, truth_answer
from hil.version import running_version

KILLED = "trial.killed.h5"
_UNFINISHED = "trial.recovering.h5"
_BATCH = 2**31
# A process that was just killed holds on to its files for some time, more where it has much memory.
DYING_S = 2.0


class NothingToRecoverError(ValueError):
    """The run has nothing to be recovered, or nothing to recover it from, or is still going on."""


class EndedByItselfError(NothingToRecoverError):
    """The run's record was closed as it should be."""


@dataclass(frozen=True)
class Recovered:
    """What was made of a killed run, and what is missing."""

    ticks: tuple[int, int]  # rows of `/tick`, and how many of them the file of the killed recorder did not have
    samples: tuple[int, int]  # rows of `/daq/raw`, and the same
    events: tuple[str, ...]  # names, in order
    ticks_missing: tuple[tuple[int, int], ...]  # first and last tick of each hole: skipped by the clock, or lost
    # first and last sequence number of each hole in the blocks of sensor samples.
    blocks_missing: tuple[tuple[int, int], ...]
    lost_ms: float | None  # from the last tick in the file to when the loop last was alive; None if that is not known
    finished: bool  # the recorder had finished the file by itself, nothing had to be made


def recover(run: Path, shared: RunMemory | None = None) -> Recovered:
    """Make `trial.h5` of a run whole; what was there before becomes `trial.killed.h5`.

    Cut short itself, it can be run again. No other process of the run may be alive. `shared` is its memory, if it is
    open already.

    Raises NothingToRecoverError: the run ended by itself, is still going on, or left nothing; OSError: the disk is full
    or the folder cannot be written.
    """
    if shared:
        return _recover(run, shared)
    try:
        has_memory = (run / FOLDER).is_dir()
    except (OSError, ValueError) as error:
        raise NothingToRecoverError(f"{run}: cannot be looked into: {error}") from None
    if not has_memory:
        return _recover_file(run)
    with closing(_open(run)) as opened:
        return _recover(run, opened)


def _recover(run: Path, shared: RunMemory) -> Recovered:
    if not shared.alone(DYING_S):
        raise NothingToRecoverError(f"{run}: a process of this run is still alive: wait for its end, or kill it")
    before = _left_in_file(run, shared)
    record = _merged(before, shared)
    if not len(record.tick):
        raise NothingToRecoverError(f"{run}: killed before the first tick, nothing was recorded")
    parts = ((record.tick, before.tick), (record.events, before.events), (record.raw, before.raw))
    finished = is_closed(run) and all(len(made) == len(found) for made, found in parts)
    if not finished:
        _replace(run, record, shared.config.layout, shared.config.sample_rates_hz)
    shutil.rmtree(run / FOLDER)
    copy_of(run / FILE_NAME).unlink(missing_ok=True)
    return _what(record, before, _lost_ms(record, shared), finished=finished)


def _what(record: TrialRecord, before: TrialRecord, lost_ms: float | None, *, finished: bool) -> Recovered:
    return Recovered(
        ticks=(len(record.tick), len(record.tick) - len(before.tick)),
        samples=(len(record.raw), len(record.raw) - len(before.raw)),
        events=tuple(name.decode(errors="replace") for name in record.events["name"].tolist()),
        ticks_missing=holes(record.tick["tick"]),
        blocks_missing=holes(record.blocks["sequence"]),
        lost_ms=lost_ms,
        finished=finished,
    )


def holes(numbers: NDArray[np.int64]) -> tuple[tuple[int, int], ...]:
    """First and last number of each hole in numbers that count up by one, from 1 on."""
    return tuple(holes_of([numbers]))


def holes_of(parts: Iterable[NDArray[np.int64]]) -> Iterator[tuple[int, int]]:
    """The same of numbers that come part by part."""
    last = 0
    for numbers in parts:
        known = np.concatenate([[last], numbers])
        yield from ((int(known[i]) + 1, int(known[i + 1]) - 1) for i in np.flatnonzero(np.diff(known) > 1))
        last = int(known[-1])


def _recover_file(run: Path) -> Recovered:
    """Of a run in one process, in virtual time: there are no rings, and what it had not written yet is lost."""
    place = run / FILE_NAME
    if not place.is_file():
        raise NothingToRecoverError(f"{run}: nothing to recover, it holds no record (no folder {FOLDER} in it)")
    if is_held(place):
        raise NothingToRecoverError(f"{run}: {FILE_NAME} is open in a process that is alive: wait for its end")
    try:
        record = read_trial(run)
        if is_closed(place):
            raise EndedByItselfError(f"{run}: nothing to recover, it ended by itself (no folder {FOLDER} in it)")
        config = parse_config(str(record.meta.get("config", "")), "/meta/config")
    except (RecordError, ConfigError) as error:
        raise NothingToRecoverError(f"{run}: killed, and its record is no good: {error}") from None
    # a tick goes to disk before what it took; one that lacks that was cut short
    record = replace(record, tick=record.tick[np.isin(record.tick["tick"], record.timing["tick"])])
    if not len(record.tick):
        raise NothingToRecoverError(f"{run}: killed before the first tick, nothing was recorded")
    record.meta[RECOVERED] = running_version()
    _replace(run, record, as_recorded(config.layout, record.tick.dtype), config.sample_rates_hz)
    copy_of(place).unlink(missing_ok=True)
    return _what(record, record, None, finished=False)


def _open(run: Path) -> RunMemory:
    try:
        return RunMemory(run)
    except BlockingIOError:
        raise NothingToRecoverError(f"{run}: is being recovered already") from None
    except (OSError, ShmError, ValueError) as error:
        raise NothingToRecoverError(f"{run}: killed before anything was recorded, or damaged: {error}") from None


def _left_in_file(run: Path, shared: RunMemory) -> TrialRecord:
    """What the killed recorder has written, if anything."""
    with suppress(RecordError):
        return read_trial(run)
    # killed before the file was made, and all is in the rings; or damaged by something else
    layout = shared.config.layout
    tick, events, timing = (np.zeros(0, dtype) for dtype in (tick_dtype(layout), EVENT, TIMING))
    daq, loads = (no_samples(layout, group) for group in SAMPLED)
    blocks, raw, t_ns = map(np.asarray, daq)
    return TrialRecord(tick, events, timing, blocks, raw, t_ns, shared.meta, loads)


def _replace(run: Path, record: TrialRecord, layout: Layout, rates_hz: Mapping[str, float]) -> None:
    unfinished, kept, killed = run / _UNFINISHED, run / FILE_NAME, run / KILLED
    unfinished.unlink(missing_ok=True)  # of a recovery that was itself cut short
    write_whole(unfinished, record, layout, rates_hz)
    with open(unfinished, "rb") as file:
        os.fsync(file.fileno())
    if kept.is_file() and not killed.exists():
        os.link(kept, killed)
    unfinished.replace(kept)


def _merged(old: TrialRecord, shared: RunMemory) -> TrialRecord:
    """File and rings together; what is in both counts once."""
    events = np.concatenate([old.events, _rows(shared, "events"), _rows(shared, "watchdog_events")])
    if shared.config.rig == "simulated" and HIT_SPEED.encode() not in events["name"]:  # killed before it was noted
        ground_truth = GroundTruth.received(truth_answer(shared.ground_truth, shared.histories))
        events = np.concatenate([events, *ground_truth.events(shared.config.loop.rate_hz)])
    # as bytes: a value that is not a number is not equal to itself
    events = np.frombuffer(b"".join(dict.fromkeys(event.tobytes() for event in events)), EVENT)
    daq, loads = (_sampled(old.samples(group), shared, group, events) for group in SAMPLED)
    return TrialRecord(
        tick=np.concatenate([old.tick, _later(_rows(shared, "ticks"), "tick", old.tick)]),
        events=events,
        timing=np.concatenate([old.timing, _later(_rows(shared, "timings"), "tick", old.timing)]),
        blocks=np.asarray(daq.blocks),
        raw=np.asarray(daq.raw),
        daq_t_ns=np.asarray(daq.t_ns),
        meta={**old.meta, RECOVERED: running_version()},
        loads=loads,
    )


def _sampled(old: SampleSet, shared: RunMemory, group: str, events: NDArray[Any]) -> SampleSet:
    """Samples of a group, of file and ring together."""
    if not shared.config.layout.parts(group):
        return old
    ring = _rows(shared, shared.sampled[group].path.name)
    heads = np.concatenate([old.blocks, _heads(_later(ring, "sequence", old.blocks), old.blocks.dtype)])
    t_ns, raw = _samples(old, ring, events, shared, all_kept=group == "loads")
    return SampleSet(heads, raw, t_ns)


def _rows(shared: RunMemory, name: str) -> NDArray[Any]:
    """All that a ring holds of this run, and nothing of those before it in the same memory.

    Also what the recorder has released: that may be in a file that nobody can read any more.
    """
    start, ring = np.zeros(1, START), shared.rings[name]
    shared.start.read(start)
    rows: NDArray[Any] = ring.reader("recover").read(_BATCH)
    overwritten = ring.written - len(rows)
    return rows[max(int(start[f"first_{name}"][0]) - overwritten, 0) :]


def _later(rows: NDArray[Any], key: str, than: Recorded) -> NDArray[Any]:
    return rows[rows[key] > than[key][-1]] if than.size else rows


def _heads(blocks: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[np.void]:
    """Blocks of the ring as the record has them, without their samples."""
    heads = np.zeros(len(blocks), dtype)
    for name in ("sequence", "overload", "arrived_ns"):
        heads[name] = blocks[name]
    heads["t_ns"], heads["samples"] = blocks["t_ns"][:, 0], blocks["t_ns"].shape[1]
    return heads


def _samples(
    old: SampleSet, blocks: NDArray[Any], events: NDArray[Any], shared: RunMemory, *, all_kept: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sensor samples of file and ring, of which a config may want a burst only."""
    record = shared.config.record
    t_ns, raw = blocks["t_ns"].reshape(-1), blocks["volts"].reshape(-1, old.raw.shape[1])
    t_ns, order = np.unique(np.concatenate([old.t_ns, t_ns]), return_index=True)
    raw = np.concatenate([old.raw, raw])[order]
    if all_kept or record.sensors == "all":
        return t_ns, raw
    burst = TriggeredCapture(raw.shape[1], round(record.before_s * 1e9), round(record.after_s * 1e9))
    for event in events:
        if triggers_capture(event):
            burst.trigger(int(event["t_ns"]))
    burst.append(t_ns, raw)
    burst.finish()
    return burst.take() or (t_ns[:0], raw[:0])


def _lost_ms(record: TrialRecord, shared: RunMemory) -> float | None:
    start = np.zeros(1, START)
    alive_ns = shared.heartbeat.last_ns("loop_turn")
    if shared.start.read(start) <= 0 or not start["start_ns"][0] or not alive_ns:
        return None
    return max(0.0, (alive_ns - int(start["start_ns"][0]) - int(record.tick["t_ns"][-1])) * 1e-6)
