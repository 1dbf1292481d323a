"""Checks of `hil verify`: are all ticks there, each in its place?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.analysis.recovery import holes
from hil.messages.check import Check

Rows = NDArray[np.void]

_SECOND_NS = 1_000_000_000
# More holes than this are counted and not listed.
_MOST_LISTED = 20


def in_order(ticks: Rows) -> Rows:
    """The same rows by tick number: that they are out of order is found once, by `tick_order`."""
    return ticks[ticks["tick"].argsort(kind="stable")]


def tick_order(ticks: Rows) -> Check:
    """Tick numbers rise strictly."""
    wrong = 1 + np.flatnonzero(np.diff(ticks["tick"]) <= 0)
    found = f"{len(ticks)} ticks, rising"
    if wrong.size:
        before, after = ticks["tick"][wrong[0] - 1 : wrong[0] + 1]
        found = f"{after} after {before}" + (f", and {wrong.size - 1} more" if wrong.size > 1 else "")
    return Check("tick order", not wrong.size, found, "each tick number above the one before")


def ticks_missing(ticks: Rows, loop: Mapping[str, Any] | None) -> Check:
    """Holes in the tick numbers are those that the clock has skipped.

    Args:
        ticks: in order, rows of `/tick`.
        loop: what summary.json says of the loop: ticks and skipped; None: nothing.
    """
    gaps = holes(ticks["tick"])
    missing = sum(last - first + 1 for first, last in gaps)
    found = f"{len(ticks)} ticks, {missing} missing" + (f": {ranges(gaps)}" if gaps else "")
    skipped, ran = (loop or {}).get("skipped"), (loop or {}).get("ticks")
    if skipped is None:
        return Check("ticks missing", not missing, found, "none; no summary.json says what the clock skipped")
    allowed = f"{ran} ticks, {skipped} missing: loop.ticks and loop.skipped of summary.json"
    return Check("ticks missing", missing == skipped and len(ticks) == ran, found, allowed)


def tick_times(ticks: Rows, rate_hz: int) -> Check:
    """Tick n is n periods after the start."""
    wrong = ticks[ticks["t_ns"] != ticks["tick"] * _SECOND_NS // rate_hz]
    found = f"tick {wrong['tick'][0]} at {wrong['t_ns'][0]} ns; {len(wrong)} such" if wrong.size else "all on the grid"
    return Check("tick times", not wrong.size, found, f"tick n at n periods of 1/loop.rate_hz, {rate_hz} Hz")


def timing_rows(ticks: Rows, timing: Rows) -> Check:
    """What each tick took is there, and nothing else."""
    without = np.setdiff1d(ticks["tick"], timing["tick"])
    without_tick = np.setdiff1d(timing["tick"], ticks["tick"])
    doubled = len(timing) - len(np.unique(timing["tick"]))
    parts = [
        f"{len(numbers)} {what}, first {numbers[0]}"
        for numbers, what in ((without, "ticks have none"), (without_tick, "are of no tick"))
        if numbers.size
    ] + ([f"{doubled} doubled"] if doubled else [])
    return Check("timing", not parts, "; ".join(parts) or f"{len(timing)} rows", "a row of /timing for each tick")


def ranges(gaps: Sequence[tuple[int, int]]) -> str:
    """First and last of each hole, in words."""
    listed = ", ".join(f"{first}..{last}" for first, last in gaps[:_MOST_LISTED])
    return listed + (f" and {len(gaps) - _MOST_LISTED} more" if len(gaps) > _MOST_LISTED else "")
