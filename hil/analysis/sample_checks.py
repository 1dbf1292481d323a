"""Checks of `hil verify`: are all sensor samples there, evenly spaced?"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.analysis.placed_blocks import placed_blocks
from hil.analysis.recovery import holes_of
from hil.analysis.tick_checks import ranges
from hil.messages.check import Check
from hil.recording.content import SampleSet
from hil.recording.stored_rows import Recorded, in_blocks

Rows = NDArray[np.void]

# A step between two sensor samples, or two blocks, may be off by this share of what it should be.
STEP_TOLERANCE = 0.01


def blocks_missing(blocks: Recorded, newest: int, name: str) -> Check:
    """Blocks of samples count up by one, at least to the newest that a tick has taken in.

    Args:
        blocks: rows of blocks.
        newest: number of that block.
        name: of the channels, before the item; empty for the force sensors.
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


class _Counted(NamedTuple):
    first: np.void
    number: int


def _counted(parts: Iterable[Rows]) -> _Counted | None:
    """The first of some rows and how many there are; None: there are none."""
    first, count = None, 0
    for rows in parts:
        count += len(rows)
        first = rows[0] if first is None and len(rows) else first
    return None if first is None else _Counted(first, count)


class _Steps:
    """Steps of times so far: the one that is most off what it should be.

    Args:
        right_ns: what it should be [ns].
    """

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

    Args:
        record: of the group.
        end_ns: after which there can be none [ns].
        name: of the channels, before the item; empty for the force sensors.
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
