"""Rows 10 to 12, 26 to 29, 37 and 43: the loop, its processes, and exceptions."""

from __future__ import annotations

from hil.messages.fault import (
    DEAD_MAN_NS,
    LATE_LIMIT_NS,
    LOOP_HUNG_NS,
    LOOP_SILENT_NS,
    RECORDER_SILENT_NS,
    SKIPPED_LIMIT,
    STOP_WRITTEN_NS,
    WATCHDOG_SILENT_NS,
    WATCHDOG_STOP_WRITTEN_NS,
    WINDOW,
    WORKER_SILENT_NS,
)
from hil.safety.fault_table.times import BY_OPERATOR, NOTHING_TO_CLEAR, FaultRow, ReactionTimes

ROWS = (
    FaultRow(
        10,
        "tick late",
        "start of each tick against its time in the grid (realtime)",
        ReactionTimes.one_tick,
        "the same tick",
        "whole periods are skipped and counted; the run goes on",
        NOTHING_TO_CLEAR,
        "Nothing, if it is rare: the summary has the count (loop.late, loop.skipped). Many: run hil check on a quiet "
        "machine.",
    ),
    FaultRow(
        11,
        "loop late",
        f"start of each tick, and the periods skipped among the last {WINDOW} (realtime)",
        ReactionTimes.one_tick,
        f"a tick over {LATE_LIMIT_NS / 1e6:g} ms late, or more than {SKIPPED_LIMIT} of the last {WINDOW} periods "
        "skipped; noticed in that tick",
        "Safe",
        BY_OPERATOR,
        "Look for 'machine stall' or 'tick interrupted' next to the fault: then another program or the machine kept "
        "the loop waiting. A 'long tick' is the controller's own. Run hil check: it measures the rate that this "
        "machine holds.",
        external=True,
    ),
    FaultRow(
        12,
        "process lost",
        "heartbeats of loop, watchdog, recorder, simulated rig and link workers (realtime)",
        (DEAD_MAN_NS + STOP_WRITTEN_NS) / 1e6,
        f"loop silent for {DEAD_MAN_NS / 1e6:g} ms: the dead-man of each link writes the stop frames within "
        f"{STOP_WRITTEN_NS / 1e6:g} ms more; the loop is logged after {LOOP_SILENT_NS / 1e6:g} ms and killed after "
        f"{LOOP_HUNG_NS / 1e9:g} s, or so long after the machine has kept the watchdog itself waiting. Watchdog silent "
        f"for {WATCHDOG_SILENT_NS / 1e6:g} ms, recorder for {RECORDER_SILENT_NS / 1e9:g} s: Safe. Simulated "
        "rig or link worker: row 29. The time-outs of the devices follow",
        "each link is stopped; the recorder finishes its file",
        "by a new start of the program; a loop that comes back stays stopped",
        "Look for 'machine stall' next to the fault and at the computer's load. hil recover RUN says what a record "
        "lacks.",
        external=True,
    ),
    FaultRow(
        26,
        "wall clock steps",
        "nothing: all times of a run are monotonic",
        None,
        "none",
        "none; only the wall time in the record's head can be wrong",
        NOTHING_TO_CLEAR,
        "Nothing to do for the run. Set the computer's clock, if the dates of records matter.",
    ),
    FaultRow(
        27,
        "exception",
        "every call in a tick",
        ReactionTimes.one_tick,
        "the same tick",
        "all devices are stopped first, then Safe is latched and the reason recorded",
        BY_OPERATOR,
        "The text names the error. It is a defect of the program or of an experiment: send the record to the "
        "maintainers.",
        external=True,
    ),
    FaultRow(
        28,
        "fault in Safe",
        "every device call on the way to Safe, each by itself",
        ReactionTimes.one_tick,
        "the same tick; the dead-man of the link follows",
        "the other devices are stopped all the same; dead-man, watchdog and the device's time-out act on the one that "
        "failed",
        "with the fault that led to Safe",
        "Press the hard-wired emergency stop. Then look at the device that the text names.",
    ),
    FaultRow(
        29,
        "link worker lost",
        "heartbeat of each link worker and of the simulated rig (realtime); recorded as fault 12",
        (WORKER_SILENT_NS + WATCHDOG_STOP_WRITTEN_NS) / 1e6,
        f"{WORKER_SILENT_NS / 1e6:g} ms of silence; the stop frames are written within "
        f"{WATCHDOG_STOP_WRITTEN_NS / 1e6:g} ms more",
        "the watchdog kills the worker and writes the stop frames to its ports; Safe on all other links",
        "by a new start of the program: no process holds that link any more",
        "Look for 'machine stall' next to the fault. Look at the port of the link that the text names, then start "
        "again.",
    ),
    FaultRow(
        37,
        "computer suspended",
        "CLOCK_BOOTTIME against CLOCK_MONOTONIC, by which all act, and which stands still in a suspension (realtime)",
        ReactionTimes.one_tick,
        "the first tick after it",
        "Safe, whatever the devices did meanwhile: their own time-outs have stopped them, and none goes on",
        BY_OPERATOR,
        "Forbid this computer to sleep (close no lid; systemctl mask sleep.target suspend.target). On a real rig a run "
        "asks systemd-logind for it; the event 'right refused' and hil check say where that fails.",
        external=True,
    ),
    FaultRow(
        43,
        "dead-man acted",
        "heartbeat of the loop, in the process of each link (realtime): row 12 for a loop that comes back",
        ReactionTimes.dead_man,
        f"no good tick for {DEAD_MAN_NS / 1e6:g} ms: that process stops its device and takes no command until the next "
        "run; the loop hears of it in its next tick",
        "Safe on all other links",
        BY_OPERATOR,
        "Look for 'machine stall', 'tick interrupted' or 'long tick' next to the fault: they name what kept the loop "
        "waiting. Run hil check: it measures the rate that this machine holds.",
        external=True,
    ),
)
