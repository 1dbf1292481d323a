"""Ticks whose work took longer than a period, as events of the record with id 0, in the summary and in tables.

Two kinds are told apart. A tick from which the processor was taken, and that would have been in time otherwise, is a
disturbance from outside the controller. Any other is the controller's own doing: it computed or waited for too long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.messages.schema import event_row
from hil.realtime.long_ticks import LongTick

# Names of the events; value: how long the work took [ms], limit: the period [ms].
INTERRUPTED = "tick interrupted"
LONG = "long tick"


def long_tick_event(tick: LongTick, rate_hz: int) -> NDArray[np.void]:
    """A long tick as a row of `EVENT`.

    Args:
        tick: of a loop.
        rate_hz: of that loop.
    """
    period_ns = 1_000_000_000 // rate_hz
    t_ns = tick.number * 1_000_000_000 // rate_hz
    interrupted = not tick.waits and tick.processor_ns < period_ns
    name = INTERRUPTED if interrupted else LONG
    detail = (
        f"the tick at {t_ns * 1e-9:.3f} s took {tick.work_ns * 1e-6:.1f} ms: {tick.processor_ns * 1e-6:.1f} ms on the "
        f"processor; interruptions: {tick.interruptions}, waits: {tick.waits}, page faults: {tick.page_faults}"
    )
    return event_row(0, name, tick.number, t_ns, tick.work_ns * 1e-6, period_ns * 1e-6, detail=detail)


def long_ticks_summary(events: NDArray[np.void]) -> dict[str, Any]:
    """Key `loop.long_ticks` of a summary.

    Args:
        events: of the record, rows of `EVENT`.
    """
    rows = events[np.isin(events["name"], (INTERRUPTED.encode(), LONG.encode()))]
    longest = rows[np.argmax(rows["value"])] if len(rows) else None
    return {
        "count": len(rows),
        "interrupted": int((rows["name"] == INTERRUPTED.encode()).sum()),
        "longest_ms": None if longest is None else float(longest["value"]),
        "longest": "" if longest is None else bytes(longest["detail"]).decode(errors="replace"),
    }


def long_tick_lines(loop: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The same, of the section `loop` of a summary, as lines of a table; none where there was no long tick."""
    counts = loop.get("long_ticks") or {"count": 0}
    if not counts["count"]:
        return []
    counted = f"{counts['count']}, {counts['interrupted']}"
    return [("ticks over a period, of these interrupted", counted), ("the longest of them", counts["longest"])]
