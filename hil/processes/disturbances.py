"""Disturbances of a run from outside the controller: stalls of the machine, and a simulated rig that was late.

Those that fall into a tick are in `hil.processes.long_ticks`. All are events of the record with id 0. None excuses a
fault: on a real rig the wheels keep turning during a stall. They are listed with the fault, so that its cause is not
searched for in the controller or the devices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.ipc.lateness import LATE_NS, Late
from hil.messages.schema import event_row
from hil.processes.long_ticks import INTERRUPTED
from hil.realtime.stalls import STALL_NS, Stall, merged

STALL = "machine stall"  # name of the event; value: its length [ms]
RIG_LATE = "simulated rig late"  # name of the event; value: how late [ms]
# Longest time from a cause to the detection of its fault [ns]: old speeds of the drives are detected after 200 ms.
NOTICED_WITHIN_NS = 300_000_000
# A stall is logged by another process, which may wake up later than the loop by so much [ns].
NOTED_WITHIN_NS = 20_000_000
# The summary lists the longest disturbances; all are in the record.
LISTED = 50

Events = NDArray[np.void]


def stall_event(stall: Stall, start_ns: int, rate_hz: int, *, real_time: bool) -> Events:
    """A stall as a row of `EVENT`.

    Args:
        stall: in times of CLOCK_MONOTONIC.
        start_ns: t = 0 of the run on that clock [ns].
        rate_hz: of the loop.
        real_time: it was measured with real-time priority; otherwise other programs may have caused it.
    """
    what = "this machine stood still" if real_time else "without real-time rights, this machine kept the loop waiting"
    at_ns, length_ms = max(stall.began_ns - start_ns, 0), stall.length_ns * 1e-6
    detail = f"{what} for {length_ms:.0f} ms at {at_ns * 1e-9:.3f} s"
    return event_row(0, STALL, _tick(at_ns, rate_hz), at_ns, length_ms, STALL_NS * 1e-6, detail=detail)


def late_event(late: Late, start_ns: int, rate_hz: int) -> Events:
    """A late action of a simulated device, as a row of `EVENT`; arguments as for `stall_event`."""
    at_ns, late_ms = max(late.due_ns - start_ns, 0), late.late_ns * 1e-6
    detail = late_words(late, f" at {at_ns * 1e-9:.3f} s")
    return event_row(0, RIG_LATE, _tick(at_ns, rate_hz), at_ns, late_ms, LATE_NS * 1e-6, detail=detail)


def late_words(late: Late, at: str = "") -> str:
    """The same as text; `at` is empty before a run, which has no time yet."""
    return f"simulated rig late by {late.late_ns * 1e-6:.0f} ms{at} ({late.device})"


def _tick(t_ns: int, rate_hz: int) -> int:
    return t_ns * rate_hz // 1_000_000_000


def disturbance_lines(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Keys `machine` and `simulated_rig` as lines of a table; none in virtual time, or of a record without them."""
    lines = []
    if machine := summary.get("machine"):
        lines.append(("machine stalls, longest", _counted(machine)))
    if rig := summary.get("simulated_rig"):
        lines.append(("simulated rig late, longest", _counted(rig)))
    return lines


def _counted(found: Mapping[str, Any]) -> str:
    return f"{found['count']}, {found['longest_ms']:.0f} ms" if found["count"] else "0, -"


def machine_summary(events: Events) -> dict[str, Any]:
    """Key `machine` of a summary: stalls in order of time; simultaneous stalls of several processors count as one.

    Args:
        events: of the record, rows of `EVENT`.
    """
    stalls = merged(Stall(row["t_ns"].item(), round(row["value"] * 1e6)) for row in _named(events, STALL))
    longest = sorted(sorted(stalls, key=lambda stall: -stall.length_ns)[:LISTED])
    return {
        "stalls": [{"at_s": stall.began_ns / 1e9, "ms": stall.length_ns * 1e-6} for stall in longest],
        "count": len(stalls),
        "longest_ms": max((stall.length_ns * 1e-6 for stall in stalls), default=None),
    }


def simulated_rig_summary(events: Events) -> dict[str, Any]:
    """Key `simulated_rig` of a summary: its late actions in order of time; arguments as for `machine_summary`."""
    rows = _named(events, RIG_LATE)
    longest = sorted(sorted(rows, key=lambda row: -row["value"])[:LISTED], key=lambda row: row["t_ns"])
    late = [{"at_s": row["t_ns"] / 1e9, "ms": row["value"].item(), "detail": _words(row)} for row in longest]
    return {"late": late, "count": len(rows), "longest_ms": max((item["ms"] for item in late), default=None)}


def beside(events: Events, t_ns: int) -> str:
    """Disturbances in the record close to a fault, as text to append to the fault's; empty if there are none.

    Args:
        events: of the record, rows of `EVENT`.
        t_ns: when the fault was noticed [ns of the run].
    """
    return "".join(f"; beside it: {text}" for text in longest_near(events, t_ns))


def longest_near(events: Events, t_ns: int, within_ns: int = NOTICED_WITHIN_NS) -> list[str]:
    """The longest disturbance of each kind close to a fault, as text.

    Args:
        events: of the record, rows of `EVENT`.
        t_ns: when the fault was noticed [ns of the run].
        within_ns: longest time from its cause to that moment [ns].
    """
    kinds = (STALL, INTERRUPTED, RIG_LATE)
    near = [[row for row in _named(events, name) if _near(row, t_ns, within_ns)] for name in kinds]
    return [_words(max(rows, key=lambda row: row["value"])) for rows in near if rows]


def _near(row: np.void, t_ns: int, within_ns: int) -> bool:
    end_ns = row["t_ns"] + row["value"] * 1e6
    return bool(end_ns >= t_ns - within_ns and row["t_ns"] <= t_ns + NOTED_WITHIN_NS)


def _named(events: Events, name: str) -> list[np.void]:
    return [row for row in events if row["name"] == name.encode()]


def _words(row: np.void) -> str:
    return bytes(row["detail"]).decode(errors="replace")
