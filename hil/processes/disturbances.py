"""Disturbances of a run, as events of the record with id 0: stalls of the machine, a late simulated rig, long ticks.

None excuses a fault: on a real rig the wheels keep turning during a stall. Those from outside the controller are
listed with the fault, so that its cause is not searched for in the controller or the devices.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hil.ipc.run_memory import LATE_NS, LateAction
from hil.messages.link_messages import event_row
from hil.realtime.clock import STALL_NS, LongTick, Stall

STALL = "machine stall"  # name of the event; value: its length [ms]
RIG_LATE = "simulated rig late"  # name of the event; value: how late [ms]
# Ticks whose work took longer than a period; value: how long [ms], limit: the period [ms].
INTERRUPTED = "tick interrupted"  # the processor was taken from it, and it would have been in time otherwise
LONG = "long tick"  # any other: the controller computed or waited for too long
# Longest time from a cause to the detection of its fault [ns]: old speeds of the drives are detected after 200 ms.
NOTICED_WITHIN_NS = 300_000_000
# A stall is logged by another process, which may wake up later than the loop by so much [ns].
NOTED_WITHIN_NS = 20_000_000

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


def late_event(late: LateAction, start_ns: int, rate_hz: int) -> Events:
    """A late action of a simulated device, as a row of `EVENT`; arguments as for `stall_event`."""
    at_ns, late_ms = max(late.due_ns - start_ns, 0), late.late_ns * 1e-6
    detail = late_words(late, f" at {at_ns * 1e-9:.3f} s")
    return event_row(0, RIG_LATE, _tick(at_ns, rate_hz), at_ns, late_ms, LATE_NS * 1e-6, detail=detail)


def late_words(late: LateAction, at: str = "") -> str:
    """The same as text; `at` is empty before a run, which has no time yet."""
    return f"simulated rig late by {late.late_ns * 1e-6:.0f} ms{at} ({late.device})"


def long_tick_event(tick: LongTick, rate_hz: int) -> Events:
    """A long tick as a row of `EVENT`."""
    period_ns = 1_000_000_000 // rate_hz
    t_ns = tick.number * 1_000_000_000 // rate_hz
    interrupted = not tick.waits and tick.processor_ns < period_ns
    name = INTERRUPTED if interrupted else LONG
    detail = (
        f"the tick at {t_ns * 1e-9:.3f} s took {tick.work_ns * 1e-6:.1f} ms: {tick.processor_ns * 1e-6:.1f} ms on the "
        f"processor; interruptions: {tick.interruptions}, waits: {tick.waits}, page faults: {tick.page_faults}"
    )
    return event_row(0, name, tick.number, t_ns, tick.work_ns * 1e-6, period_ns * 1e-6, detail=detail)


def _tick(t_ns: int, rate_hz: int) -> int:
    return t_ns * rate_hz // 1_000_000_000


def disturbances_near(events: Events, t_ns: int) -> str:
    """Disturbances in the record close to a fault, as text to append to the fault's; empty if there are none.

    Args:
        events: of the record, rows of `EVENT`.
        t_ns: when the fault was noticed [ns of the run].
    """
    return "".join(f"; at that time: {text}" for text in longest_near(events, t_ns))


def longest_near(events: Events, t_ns: int, within_ns: int = NOTICED_WITHIN_NS) -> list[str]:
    """The longest disturbance of each kind close to a fault, as text.

    Args:
        events: of the record, rows of `EVENT`.
        t_ns: when the fault was noticed [ns of the run].
        within_ns: longest time from its cause to that moment [ns].
    """
    kinds = (STALL, INTERRUPTED, RIG_LATE)
    near = [[row for row in named(events, name) if _near(row, t_ns, within_ns)] for name in kinds]
    return [words_of(max(rows, key=lambda row: row["value"])) for rows in near if rows]


def _near(row: np.void, t_ns: int, within_ns: int) -> bool:
    end_ns = row["t_ns"] + row["value"] * 1e6
    return bool(end_ns >= t_ns - within_ns and row["t_ns"] <= t_ns + NOTED_WITHIN_NS)


def named(events: Events, name: str) -> list[np.void]:
    """Events of a name."""
    return [row for row in events if row["name"] == name.encode()]


def words_of(row: np.void) -> str:
    """The detail of an event as text."""
    return bytes(row["detail"]).decode(errors="replace")
