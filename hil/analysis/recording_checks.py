"""Checks of `hil verify`: are all ticks, sensor samples and blocks there, each in its place, and of this version?"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.analysis.recovery import holes_of
from hil.config.text_io import read_yaml
from hil.config.unchecked_config import fingerprint
from hil.messages.fault import Check, Fault
from hil.messages.layout import SAMPLED, Layout
from hil.messages.link_messages import EVENT, IMPACT
from hil.messages.operator_input import is_command
from hil.messages.signals import as_recorded, block_dtype, tick_dtype
from hil.recording import OpenRecord
from hil.recording.content import Recorded, SampleSet, block_rows, in_blocks
from hil.recording.sinks import LATCHED_BEFORE

_FAULTS = {(int(fault), fault.name.lower().encode()) for fault in Fault}
_IMPACTS = {(0, IMPACT.encode())}


def schema_mismatch(record: OpenRecord, layout: Layout) -> str:
    """Which rows of a record differ from today's for a rig of that layout, and in what; empty if none do.

    `/timing` is not looked at: nothing is worked out from it but how the loop ran. Neither is the rover's motion, which
    records of earlier versions lack: it is worked out from what they have.
    """
    layout = as_recorded(layout, record.tick.dtype)
    rows = {"tick": (record.tick.dtype, tick_dtype(layout)), "events": (record.events.dtype, EVENT)}
    for group in SAMPLED:
        rows[f"{group}/blocks"] = (record.samples(group).blocks.dtype, block_dtype(layout, group))
    other = [
        f"rows of /{name} with {_other_fields(found, known)}" for name, (found, known) in rows.items() if found != known
    ]
    return f"{'; '.join(other)} (recorded by version {record.meta.get('version')})" if other else ""


def _other_fields(found: np.dtype[Any], known: np.dtype[Any]) -> str:
    """What sets two kinds of rows apart, in words."""
    ours: Mapping[str, Any] = known.fields or {}
    theirs: Mapping[str, Any] = found.fields or {}
    words = [_in_words(name, theirs[name][0], ours[name][0]) for name in theirs if name in ours]
    words = [word for word in words if word]
    if lacking := [name for name in ours if name not in theirs]:
        words.append(f"no {', '.join(lacking)}")
    if more := [name for name in theirs if name not in ours]:
        words.append(f"{', '.join(more)}, which is not known")
    return ", ".join(words) or "its fields in another order"


def _in_words(name: str, found: np.dtype[Any], known: np.dtype[Any]) -> str:
    """What sets two fields of a name apart; empty if nothing does."""
    if found.shape != known.shape:
        return f"{math.prod(found.shape)} numbers in {name} instead of {math.prod(known.shape)}"
    return f"{name} of type {found.base.str} instead of {known.base.str}" if found.base != known.base else ""


def wrong_channels(record: OpenRecord, layout: Layout) -> str:
    """Sensor samples of more or fewer channels than the config has, in words; empty if they fit."""
    shapes = {group: (record.samples(group).raw.shape[1], len(layout.parts(group))) for group in SAMPLED}
    return "; ".join(
        f"/{group}/raw has {found} channels, its config {known}"
        for group, (found, known) in shapes.items()
        if found != known
    )


def text_fingerprint(record: OpenRecord) -> str:
    """Checksum of the config as it stands in a record, whatever version wrote it."""
    values, _ = read_yaml(str(record.meta.get("config", "")), "/meta/config")
    try:
        return fingerprint(values)
    except (TypeError, ValueError):  # what no JSON can say: not a number, a tag of YAML
        return "not a config"


def faults_of(events: NDArray[np.void]) -> NDArray[np.void]:
    """Faults noted by the loop; recorder and watchdog note theirs under other names. Rows of `EVENT`."""
    return _named(events, _FAULTS)


def impacts_of(events: NDArray[np.void]) -> NDArray[np.void]:
    """Events that tell of an impact: rows of `EVENT`."""
    return _named(events, _IMPACTS)


def impact_time(record: OpenRecord, summary: Mapping[str, Any]) -> float | None:
    """When the impact was [s]: as the summary says, or else the first tick with it; None: there was none."""
    if isinstance(found := summary.get("impact_time_s"), int | float):
        return float(found)
    hit = np.flatnonzero(record.tick["impact"])
    return float(record.tick["t_ns"][hit[0]]) * 1e-9 if hit.size else None


def ticks_between(record: OpenRecord, from_s: float | None, to_s: float | None) -> tuple[int, int]:
    """Where the ticks from one time to another [s] begin, and behind their last; None: of the run's start, its end."""
    if from_s is None and to_s is None:
        return 0, len(record.tick)
    times = np.asarray(record.tick["t_ns"])
    first = 0 if from_s is None else int(np.searchsorted(times, round(from_s * 1e9)))
    return first, len(times) if to_s is None else int(np.searchsorted(times, round(to_s * 1e9), "right"))


def commands_of(events: NDArray[np.void]) -> NDArray[np.void]:
    """Events that record what an operator has asked: rows of `EVENT`."""
    return events[[is_command(event) for event in events]]


def carried_of(events: NDArray[np.void]) -> NDArray[np.void]:
    """Events that tell of a fault latched in an earlier run on the same rig: rows of `EVENT`."""
    return _named(events, {(0, LATCHED_BEFORE.encode())})


def _named(events: NDArray[np.void], wanted: set[tuple[int, bytes]]) -> NDArray[Any]:
    return events[[(int(event["id"]), bytes(event["name"])) in wanted for event in events]]


_SECOND_NS = 1_000_000_000
# So long the clock may have skipped in all, or as many ticks as there are [s]: the twin is moved through all of it.
_MOST_SKIPPED_S = 60
# More holes than this are counted and not listed.
_MOST_LISTED = 20


def in_order(ticks: Recorded) -> Recorded:
    """The same rows by tick number: that they are out of order is found once, by `tick_order`.

    Rows that are not in order are all brought into memory.
    """
    if tick_order(ticks).ok:
        return ticks
    return np.asarray(ticks)[ticks["tick"].argsort(kind="stable")]


def tick_order(ticks: Recorded) -> Check:
    """Tick numbers rise strictly."""
    found, count, last = f"{len(ticks)} ticks, rising", 0, np.zeros(0, np.int64)
    for rows in in_blocks(ticks):
        numbers = np.append(last, rows["tick"])
        wrong = 1 + np.flatnonzero(np.diff(numbers) <= 0)
        if wrong.size and not count:
            found = f"{numbers[wrong[0]]} after {numbers[wrong[0] - 1]}"
        count, last = count + wrong.size, numbers[-1:]
    found += f", and {count - 1} more" if count > 1 else ""
    return Check("tick order", not count, found, "each tick number above the one before")


def ticks_missing(ticks: Recorded, loop: Mapping[str, Any] | None) -> Check:
    """Holes in the tick numbers are those that the clock has skipped.

    `loop` is what summary.json says of the loop: ticks and skipped; None: nothing.
    """
    gaps = list(holes_of(rows["tick"] for rows in in_blocks(ticks)))
    missing = sum(last - first + 1 for first, last in gaps)
    found = f"{len(ticks)} ticks, {missing} missing" + (f": {ranges(gaps)}" if gaps else "")
    skipped, ran = (loop or {}).get("skipped"), (loop or {}).get("ticks")
    if skipped is None:
        return Check("ticks missing", not missing, found, "none; no summary.json says what the clock skipped")
    allowed = f"{ran} ticks, {skipped} missing: loop.ticks and loop.skipped of summary.json"
    return Check("ticks missing", missing == skipped and len(ticks) == ran, found, allowed)


def tick_times(ticks: Recorded, rate_hz: int) -> Check:
    """Tick n is n periods after the start, and no more are missing than can be worked out again in a bounded time."""
    found, count, last = "all on the grid", 0, 0
    for rows in in_blocks(ticks):
        wrong = rows[rows["t_ns"] != rows["tick"] * _SECOND_NS // rate_hz]
        if wrong.size and not count:
            found = f"tick {wrong['tick'][0]} at {wrong['t_ns'][0]} ns"
        count, last = count + len(wrong), max(last, int(rows["tick"].max(initial=0)))
    found += f"; {count} such" if count else ""
    most = max(len(ticks), _MOST_SKIPPED_S * rate_hz)
    if too_many := last - len(ticks) > most:
        found += f"; the last tick is {last}, and {len(ticks)} are there"
    allowed = f"tick n at n periods of 1/loop.rate_hz, {rate_hz} Hz, at most {most} missing"
    return Check("tick times", not count and not too_many, found, allowed)


def timing_rows(ticks: Recorded, timing: Recorded) -> Check:
    """What each tick took is there, and nothing else."""
    item, allowed = "timing", "a row of /timing for each tick"
    if _same_numbers(ticks, timing) and tick_order(ticks).ok:
        return Check(item, True, f"{len(timing)} rows", allowed)
    without = np.setdiff1d(ticks["tick"], timing["tick"])
    without_tick = np.setdiff1d(timing["tick"], ticks["tick"])
    doubled = len(timing) - len(np.unique(timing["tick"]))
    parts = [
        f"{len(numbers)} {what}, first {numbers[0]}"
        for numbers, what in ((without, "ticks have none"), (without_tick, "are of no tick"))
        if numbers.size
    ] + ([f"{doubled} doubled"] if doubled else [])
    return Check(item, not parts, "; ".join(parts) or f"{len(timing)} rows", allowed)


def _same_numbers(ticks: Recorded, timing: Recorded) -> bool:
    """Whether both have the same tick numbers in the same order."""
    step = block_rows(ticks.dtype, ticks.shape)
    return len(ticks) == len(timing) and all(
        np.array_equal(ticks[first : first + step]["tick"], timing[first : first + step]["tick"])
        for first in range(0, len(ticks), step)
    )


def ranges(gaps: Sequence[tuple[int, int]]) -> str:
    """First and last of each hole, in words."""
    listed = ", ".join(f"{first}..{last}" for first, last in gaps[:_MOST_LISTED])
    return listed + (f" and {len(gaps) - _MOST_LISTED} more" if len(gaps) > _MOST_LISTED else "")


# Blocks that are looked at together.
_TOGETHER = 16384


class _PlacedBlocks(NamedTuple):
    """Some blocks and their samples."""

    heads: NDArray[np.void]  # rows of blocks
    # times of the samples from the first block's on, to where the blocks after these begin [ns].
    t_ns: NDArray[np.int64]
    first: int  # place of the first of these in the record
    starts: NDArray[np.intp]  # (blocks,) where each block begins in them
    ends: NDArray[np.intp]  # (blocks,) where it ends: where the next one begins
    whole: NDArray[np.bool_]  # (blocks,) which have all their samples there, none but theirs among them


def placed_blocks(record: SampleSet) -> Iterator[_PlacedBlocks]:
    """All blocks of a record in order, some at a time."""
    some = (
        rows[first : first + _TOGETHER] for rows in in_blocks(record.blocks) for first in range(0, len(rows), _TOGETHER)
    )
    for heads, following in pairwise(chain(some, [None])):
        assert heads is not None
        first = bisect_left(record.t_ns, heads["t_ns"][0])
        end = len(record.t_ns) if following is None else bisect_left(record.t_ns, following["t_ns"][0])
        t_ns: NDArray[np.int64] = record.t_ns[first:end]
        starts = np.searchsorted(t_ns, heads["t_ns"])
        ends = np.append(starts, len(t_ns))[1:]
        whole = (ends - starts == heads["samples"]) & (np.append(t_ns, -1)[starts] == heads["t_ns"])
        yield _PlacedBlocks(heads, t_ns, first, starts, ends, whole)


Rows = NDArray[np.void]

# A step between two sensor samples, or two blocks, may be off by this share of what it should be.
STEP_TOLERANCE = 0.01


def blocks_missing(blocks: Recorded, newest: int, name: str) -> Check:
    """Blocks of samples count up by one, at least to the newest that a tick has taken in.

    `name` stands before the item; it is empty for the force sensors.
    """
    largest = doubled = 0
    before = np.zeros(0, np.int64)
    for rows in in_blocks(blocks):
        numbers = rows["sequence"]
        largest = max(largest, int(numbers.max(initial=0)))
        doubled += int((np.diff(np.append(before, numbers)) <= 0).sum())
        before = numbers[-1:]
    end = [np.array([newest + 1])] if newest > largest else []
    gaps = list(holes_of(chain((rows["sequence"] for rows in in_blocks(blocks)), end)))
    found = f"{len(blocks)} blocks"
    if gaps:
        found += f", missing: {ranges(gaps)}"
    if doubled:
        found += f", {doubled} out of order"
    return Check(
        f"{name}blocks missing", not gaps and not doubled, found, f"none, to {newest}, the newest that a tick took in"
    )


def block_length(record: SampleSet, samples: int, all_kept: bool, group: str, name: str) -> Check:
    """Every block has as many samples as configured, and where all are kept they are there, and no others."""
    count, kept = len(record.blocks), len(record.raw)
    found, wrong = f"{count} blocks of {samples}", True
    if other := _counted(rows[rows["samples"] != samples] for rows in in_blocks(record.blocks)):
        found = f"block {other.first['sequence']} has {other.first['samples']}; {other.number} such"
    elif all_kept and (other := _counted(placed.heads[~placed.whole] for placed in placed_blocks(record))):
        found = f"/{group}/raw has other samples than those of block {other.first['sequence']}; {other.number} such"
    elif all_kept and kept != count * samples:
        found = f"/{group}/raw has {kept} samples, the blocks {count * samples}"
    else:
        wrong = False
    allowed = f"{samples} samples, {group}.rate_hz times {group}.block_ms"
    allowed += f", all in /{group}/raw" if all_kept else ""
    return Check(f"{name}block length", not wrong, found, allowed)


class _BlockCount(NamedTuple):
    first: np.void
    number: int


def _counted(parts: Iterable[Rows]) -> _BlockCount | None:
    """The first of some rows and how many there are; None: there are none."""
    first, count = None, 0
    for rows in parts:
        count += len(rows)
        first = rows[0] if first is None and len(rows) else first
    return None if first is None else _BlockCount(first, count)


class _Steps:
    """Steps of times so far: the one that is most off what it should be. That is `right_ns` [ns]."""

    def __init__(self, right_ns: float) -> None:
        self._right_ns, self._last = right_ns, np.zeros(0, np.int64)
        self.worst, self.after_ns = -1.0, 0

    def add(self, t_ns: NDArray[np.int64], follows: NDArray[np.bool_]) -> None:
        """Take in times (n,) [ns]; whether each follows the one before, or something is missing between."""
        times = np.append(self._last, t_ns)
        counts = follows[-len(times) + 1 :] if len(times) > 1 else follows[:0]
        off = np.abs(np.diff(times)[counts] / self._right_ns - 1.0)
        if off.size and off.max() > self.worst:
            self.worst, self.after_ns = float(off.max()), int(times[:-1][counts][off.argmax()])
        self._last = times[-1:]


def times_within(record: SampleSet, end_ns: int, name: str) -> Check:
    """Times of samples and blocks do not fall, and end with the record: else what a tick took in is not found by them.

    None may come after `end_ns` [ns]. `name` stands before the item; it is empty for the force sensors.
    """
    found = ""
    for parts in (in_blocks(record.t_ns), (heads["t_ns"] for heads in in_blocks(record.blocks))):
        last = np.zeros(0, np.int64)
        for t_ns in parts:
            times = np.append(last, t_ns)
            wrong = np.flatnonzero((times[1:] < times[:-1]) | (times[1:] > end_ns))
            if wrong.size and not found:
                found = f"{times[wrong[0] + 1]} ns after {times[wrong[0]]} ns"
            last = times[-1:]
    return Check(f"{name}sample times", not found, found or "rising", f"rising, none after {end_ns} ns")


def sample_times(record: SampleSet, rate_hz: int, samples: int, name: str) -> Check:
    """Samples and blocks of them are evenly spaced: the sample clock never steps. Missing blocks are no step of it."""
    steps = {"samples": _Steps(1e9 / rate_hz), "blocks": _Steps(1e9 * samples / rate_hz)}
    after_holes = [np.zeros(0, np.int64)]
    number = np.zeros(0, np.int64)
    for heads in in_blocks(record.blocks) if len(record.blocks) else ():
        numbers = np.append(number, heads["sequence"])
        follows = np.append(np.zeros(len(heads) + 1 - len(numbers), bool), np.diff(numbers) == 1)
        steps["blocks"].add(heads["t_ns"], follows)
        after_holes.append(heads["t_ns"][~follows][0 if number.size else 1 :])
        number = numbers[-1:]
    begins_ns, last_ns = np.concatenate(after_holes), -1
    for t_ns in in_blocks(record.t_ns):
        follows = np.ones(len(t_ns) + 1, bool)
        follows[np.searchsorted(t_ns, begins_ns[begins_ns > last_ns])] = False
        steps["samples"].add(t_ns, follows[:-1])
        last_ns = int(t_ns[-1]) if len(t_ns) else last_ns
    parts = [
        f"{what} at most {step.worst:.2g} of a step off, after {step.after_ns} ns"
        for what, step in steps.items()
        if step.worst >= 0.0
    ]
    good = all(step.worst <= STEP_TOLERANCE for step in steps.values())
    return Check(f"{name}sample times", good, "; ".join(parts) or "none", f"{STEP_TOLERANCE:g} of a step, {rate_hz} Hz")
