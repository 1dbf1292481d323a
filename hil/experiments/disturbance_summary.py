"""Disturbances in the summary of a run and in its table: stalls of the machine, a late simulated rig, long ticks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hil.processes.disturbances import INTERRUPTED, LONG, RIG_LATE, STALL, Events, named, words_of
from hil.realtime.stalls import Stall, merged

# The summary lists the longest disturbances; all are in the record.
LISTED = 50


def disturbance_lines(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Keys `machine` and `simulated_rig` as lines of a table; none in virtual time, or of a record without them."""
    lines = []
    if machine := summary.get("machine"):
        lines.append(("machine stalls, longest", _counted(machine)))
    if rig := summary.get("simulated_rig"):
        lines.append(("simulated rig late, longest", _counted(rig)))
    return lines


def _counted(section: Mapping[str, Any]) -> str:
    return f"{section['count']}, {section['longest_ms']:.0f} ms" if section["count"] else "0, -"


def machine_summary(events: Events) -> dict[str, Any]:
    """Key `machine` of a summary: stalls in order of time; simultaneous stalls of several processors count as one.

    Args:
        events: of the record, rows of `EVENT`.
    """
    stalls = merged(Stall(row["t_ns"].item(), round(row["value"] * 1e6)) for row in named(events, STALL))
    longest = sorted(sorted(stalls, key=lambda stall: -stall.length_ns)[:LISTED])
    return {
        "stalls": [{"at_s": stall.began_ns / 1e9, "ms": stall.length_ns * 1e-6} for stall in longest],
        "count": len(stalls),
        "longest_ms": max((stall.length_ns * 1e-6 for stall in stalls), default=None),
    }


def simulated_rig_summary(events: Events) -> dict[str, Any]:
    """Key `simulated_rig` of a summary: its late actions in order of time; arguments as for `machine_summary`."""
    rows = named(events, RIG_LATE)
    longest = sorted(sorted(rows, key=lambda row: -row["value"])[:LISTED], key=lambda row: row["t_ns"])
    late = [{"at_s": row["t_ns"] / 1e9, "ms": row["value"].item(), "detail": words_of(row)} for row in longest]
    return {"late": late, "count": len(rows), "longest_ms": max((item["ms"] for item in late), default=None)}


def long_ticks_summary(events: Events) -> dict[str, Any]:
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
    """Key `loop.long_ticks` as lines of a table, from that section `loop`; none where there was no long tick."""
    counts = loop.get("long_ticks") or {"count": 0}
    if not counts["count"]:
        return []
    counted = f"{counts['count']}, {counts['interrupted']}"
    return [("ticks over a period, of these interrupted", counted), ("the longest of them", counts["longest"])]
