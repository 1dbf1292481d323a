"""Checks of `hil verify`: are all ticks there, each in its place?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hil.analysis.recovery import holes_of
from hil.messages.check import Check
from hil.recording.stored_rows import Recorded, block_rows, in_blocks

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

    Args:
        ticks: in order, rows of `/tick`.
        loop: what summary.json says of the loop: ticks and skipped; None: nothing.
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
