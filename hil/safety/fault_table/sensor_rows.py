"""Rows of the fault table: sensors and the loop."""

from __future__ import annotations

from hil.config.schema.equipment import LimitsConfig
from hil.messages.fault import (
    BAD_TICKS_ALLOWED,
    CLAMPS_ALLOWED,
    DEAD_MAN_NS,
    GAP_ALLOWED,
    LATE_LIMIT_NS,
    LEAST_SET_RADPS,
    LOOP_HUNG_NS,
    LOOP_SILENT_NS,
    NOT_FOLLOWING_NS,
    POWER_AGE_NS,
    RECORDER_SILENT_NS,
    RESIDUAL_WINDOW_S,
    SKIPPED_LIMIT,
    STANDS_SHARE,
    STOP_WRITTEN_NS,
    WATCHDOG_SILENT_NS,
    WATCHDOG_STOP_WRITTEN_NS,
    WINDOW,
    WORKER_SILENT_NS,
    Fault,
)
from hil.messages.layout import AGED, INSTRUMENTS, ROLES, SAMPLED
from hil.safety.fault_table.times import NOT_ARMED, NOTHING_TO_CLEAR, FaultRow, ReactionTimes
from hil.safety.limits import age_limits, sensor_limits
from models.validity import VALIDITIES

# Limits that rows name, with the bounds of a config that sets none.
_AGES = age_limits(LimitsConfig(), (*SAMPLED, *AGED))

LOOP_ROWS = (
    FaultRow(
        10,
        "tick late",
        "start of each tick against its time in the grid (realtime)",
        "the same tick",
        "Nothing, if it is rare: the summary has the count (loop.late, loop.skipped). Many: run hil check on a quiet "
        "machine.",
        bound_ms=lambda times: times.tick_ms,
        reaction="whole periods are skipped and counted; the run goes on",
        clears=NOTHING_TO_CLEAR,
    ),
    FaultRow(
        11,
        "loop late",
        f"start of each tick, and the periods skipped among the last {WINDOW} (realtime)",
        f"a tick over {LATE_LIMIT_NS / 1e6:g} ms late, or more than {SKIPPED_LIMIT} of the last {WINDOW} periods "
        "skipped; noticed in that tick",
        "Look for 'machine stall' or 'tick interrupted' next to the fault: then another program or the machine kept "
        "the loop waiting. A 'long tick' is the controller's own. Run hil check: it measures the rate that this "
        "machine holds.",
        bound_ms=lambda times: times.tick_ms,
        external=True,
    ),
    FaultRow(
        12,
        "process lost",
        "heartbeats of loop, watchdog, recorder, simulated rig and link workers (realtime)",
        f"loop silent for {DEAD_MAN_NS / 1e6:g} ms: the dead-man of each link writes the stop frames within "
        f"{STOP_WRITTEN_NS / 1e6:g} ms more; the loop is logged after {LOOP_SILENT_NS / 1e6:g} ms and killed after "
        f"{LOOP_HUNG_NS / 1e9:g} s, or so long after the machine has kept the watchdog itself waiting. Watchdog silent "
        f"for {WATCHDOG_SILENT_NS / 1e6:g} ms, recorder for {RECORDER_SILENT_NS / 1e9:g} s: Safe. Simulated "
        "rig or link worker: row 29. The time-outs of the devices follow",
        "Look for 'machine stall' next to the fault and at the computer's load. hil recover RUN says what a record "
        "lacks.",
        bound_ms=(DEAD_MAN_NS + STOP_WRITTEN_NS) / 1e6,
        reaction="each link is stopped; the recorder finishes its file",
        clears="by a new start of the program; a loop that comes back stays stopped",
        external=True,
    ),
    FaultRow(
        26,
        "wall clock steps",
        "nothing: all times of a run are monotonic",
        "none",
        "Nothing to do for the run. Set the computer's clock, if the dates of records matter.",
        reaction="none; only the wall time in the record's head can be wrong",
        clears=NOTHING_TO_CLEAR,
    ),
    FaultRow(
        27,
        "exception",
        "every call in a tick",
        "the same tick",
        "The text names the error. It is a defect of the program or of an experiment: send the record to the "
        "maintainers.",
        bound_ms=lambda times: times.tick_ms,
        reaction="all devices are stopped first, then Safe is latched and the reason recorded",
        external=True,
    ),
    FaultRow(
        28,
        "fault in Safe",
        "every device call on the way to Safe, each by itself",
        "the same tick; the dead-man of the link follows",
        "Press the hard-wired emergency stop. Then look at the device that the text names.",
        bound_ms=lambda times: times.tick_ms,
        reaction="the other devices are stopped all the same; dead-man, watchdog and the device's time-out act on the "
        "one that failed",
        clears="with the fault that led to Safe",
    ),
    FaultRow(
        29,
        "link worker lost",
        "heartbeat of each link worker and of the simulated rig (realtime); recorded as fault 12",
        f"{WORKER_SILENT_NS / 1e6:g} ms of silence; the stop frames are written within "
        f"{WATCHDOG_STOP_WRITTEN_NS / 1e6:g} ms more",
        "Look for 'machine stall' next to the fault. Look at the port of the link that the text names, then start "
        "again.",
        bound_ms=(WORKER_SILENT_NS + WATCHDOG_STOP_WRITTEN_NS) / 1e6,
        reaction="the watchdog kills the worker and writes the stop frames to its ports; Safe on all other links",
        clears="by a new start of the program: no process holds that link any more",
    ),
    FaultRow(
        37,
        "computer suspended",
        "CLOCK_BOOTTIME against CLOCK_MONOTONIC, by which all act, and which stands still in a suspension (realtime)",
        "the first tick after it",
        "Forbid this computer to sleep (close no lid; systemctl mask sleep.target suspend.target). On a real rig a run "
        "asks systemd-logind for it; the event 'right refused' and hil check say where that fails.",
        bound_ms=lambda times: times.tick_ms,
        reaction="Safe, whatever the devices did meanwhile: their own time-outs have stopped them, and none goes on",
        external=True,
    ),
    FaultRow(
        43,
        "dead-man acted",
        "heartbeat of the loop, in the process of each link (realtime): row 12 for a loop that comes back",
        f"no good tick for {DEAD_MAN_NS / 1e6:g} ms: that process stops its device and takes no command until the next "
        "run; the loop hears of it in its next tick",
        "Look for 'machine stall', 'tick interrupted' or 'long tick' next to the fault: they name what kept the loop "
        "waiting. Run hil check: it measures the rate that this machine holds.",
        bound_ms=lambda times: (DEAD_MAN_NS + STOP_WRITTEN_NS) / 1e6 + times.tick_ms,
        reaction="Safe on all other links",
        external=True,
    ),
)


SENSOR_ROWS = (
    FaultRow(
        1,
        "sensor drop-out",
        "age of the newest sample of the force sensors and of the load channels",
        f"{_AGES['daq'].setting} (load channels: {_AGES['loads'].setting}) and one tick",
        "Look at power and cable of the data acquisition, then at its lamp. Run hil check: its line "
        f"'{_AGES['daq'].item}'.",
        bound_ms=lambda times: times.aged(Fault.SENSOR_DROPOUT) or {"": times.tick_ms},
        reaction="the last block is held until then; then Safe",
    ),
    FaultRow(
        2,
        "sensor stale",
        f"age of the {', of the '.join(ROLES[name].says for name in AGED)}; equal samples in a row of "
        "each channel (samples at full scale do not count; a simulated channel counts only if its noise is at least "
        "half a step of its converter)",
        f"{', '.join(_AGES[name].setting for name in AGED)}, or limits.frozen_samples "
        "(limits.loads_frozen_samples) samples; and one tick",
        f"The text names the device. {', '.join(AGED).capitalize()}: look at its power and cable. A channel: tap "
        "the sensor; if its reading does not move, replace cable or sensor.",
        bound_ms=ReactionTimes.stales,
    ),
    FaultRow(
        3,
        "sample not finite",
        "each sample of the force sensors and of the load channels, each wheel speed and each angle of a driven joint "
        "is a finite number",
        f"{BAD_TICKS_ALLOWED + 1} ticks with samples in a row, or answers of drives or servos; and one tick",
        "The text names the device, which delivers no number. Restart it, and look for its driver's own error message.",
        bound_ms=ReactionTimes.not_finites,
        reaction=f"the sample is left out; {BAD_TICKS_ALLOWED + 1} in a row: Safe",
    ),
    FaultRow(
        4,
        "ADC saturated",
        "samples at 99 % of the range, or a channel that its device flags",
        "one block of samples and one tick",
        "Use less excitation or a larger range (daq.range_V), or a lower impact speed; then repeat the trial.",
        bound_ms=lambda times: times.blocks + times.tick_ms,
        reaction="mark: the trial goes on and is recorded, and is not accepted",
        clears=NOTHING_TO_CLEAR,
    ),
    FaultRow(
        5,
        "sensor open or shorted",
        "bias and noise of each channel while nothing touches the sensors",
        f"{' and '.join(dict.fromkeys(one.setting for one in sensor_limits(LimitsConfig(), SAMPLED)))}, before arming",
        "The refusal names the channel. Look at its plug and cable, unload the sensor, and run hil check again.",
        reaction="refuse to arm",
        clears=NOT_ARMED,
    ),
    FaultRow(
        6,
        "samples lost",
        "overrun that the data acquisition reports (NI -200279)",
        "the next read, that is one block, and one tick",
        "The computer was too slow for the data acquisition: look for 'machine stall' next to the fault, and close "
        "other programs.",
        bound_ms=lambda times: times.blocks + times.tick_ms,
        external=True,
    ),
    FaultRow(
        7,
        "sequence gap",
        "numbers of the blocks of samples",
        f"more than {GAP_ALLOWED} blocks missing in a row; noticed with the next block and one tick",
        "Blocks were lost between device and controller: look at the network cable of a device server, and for "
        "'machine stall' next to the fault.",
        bound_ms=lambda times: (GAP_ALLOWED + 2) * times.blocks + times.tick_ms,
        reaction="a block older than one before it is dropped; a longer gap: Safe",
    ),
    FaultRow(
        8,
        "model not finite",
        "state of the rover twin",
        "the same tick",
        "Look at the wheel speeds in the report: speeds that no wheel can have come from the drives. Otherwise send "
        "the record to the maintainers; hil replay repeats it.",
        bound_ms=lambda times: times.tick_ms,
    ),
    FaultRow(
        9,
        "command out of limit",
        "each command, in the limiter",
        f"{CLAMPS_ALLOWED + 1} ticks in a row; a command that is not a number: the same tick",
        "The experiment asks for more than limits.wheel_speed_radps or limits.wheel_acceleration_radps2 allow, or for "
        "an angle of a driven joint that servos.joints does not: compare it with them.",
        bound_ms=lambda times: (CLAMPS_ALLOWED + 1) * times.tick_ms,
        reaction=f"the command is clamped and counted; {CLAMPS_ALLOWED + 1} in a row: Safe",
    ),
    FaultRow(
        30,
        "measured out of limit",
        "motor currents, supply voltage and pressures, where limits.motor_current_A, .supply_V or .pressure_kPa is set",
        "devices.drives reads each value several times a second, devices.valves at its rate_hz; a current or voltage "
        f"older than {POWER_AGE_NS / 1e6:g} ms is row 2",
        "Current: look for a wheel that is blocked or a leg that drags. Supply: look at battery, fuse and cable. "
        "Pressure: look at the regulator on the bottle.",
        bound_ms=ReactionTimes.measured,
    ),
    FaultRow(
        31,
        "measured near limit",
        "the same, with the keys warn_below and warn_above",
        "as row 30",
        "As row 30, before the next run.",
        bound_ms=ReactionTimes.measured,
        reaction="the run is marked and goes on; it is not accepted",
        clears=NOTHING_TO_CLEAR,
    ),
    FaultRow(
        32,
        "outside model",
        "rover twin, from the first motion on: " + ", ".join(one.name for one in VALIDITIES.values()),
        "a value beyond its limit for as long as docs/explanation/limits.md says, 0 to 0.5 s, and one tick",
        "Look at the rover before you go near it: it may be caught on something, or be about to tip over. If it stands "
        "as it should, the config does not describe it: compare the keys that the text names with rover and ground.",
        bound_ms=lambda times: 1e3 * max(one.for_s for one in VALIDITIES.values()) + 2.0 * times.tick_ms,
        reaction="Safe; what statics can tell before the first motion: refuse to arm, naming the key",
    ),
    FaultRow(
        33,
        "measured motion",
        f"each instrument of motion ({', '.join(INSTRUMENTS)}): age of its newest reading, a number of each channel, "
        "equal readings in a row, jumps, motion.room_m, stops of the joints, and whether the observer has left it out",
        "stale_ms of the instrument for an old reading and for a channel without a number, frozen_readings for one "
        "that repeats itself; the next reading, after its period and delay_ms, for a jump or a place outside; and one "
        "tick. What the observer leaves out: as soon as it does",
        "The text names the instrument. Look at its power, cable and view, then at its mounting, zero and room in the "
        "config. Its link is tried again by itself. After Safe: hil command clear 33.",
        bound_ms=ReactionTimes.instruments,
        reaction="the run is marked once for each instrument and cause, and goes on without that source; Safe, where "
        "the experiment needs the instrument. Before arming: refuse to arm",
        clears=NOTHING_TO_CLEAR,
    ),
    FaultRow(
        34,
        "implausible value",
        "residuals: what is measured against what the rest of the rig implies, with thresholds from good runs, where "
        "residuals.calibration is set (docs/explanation/residuals.md)",
        "the end of the run; with residuals.reaction: safe also the tick in which the mean over "
        f"{RESIDUAL_WINDOW_S:g} s of a wheel's speed error or of the sum of the wheel loads is over its threshold",
        "Look at what the text names: the sensor, its cable and its calibration. If all is right, the rig has changed: "
        "measure new thresholds with hil calibrate residuals. After Safe: hil command clear 34.",
        bound_ms=lambda times: (
            1e3 * RESIDUAL_WINDOW_S + times.tick_ms if times.config.residuals.reaction == "safe" else None
        ),
        reaction="the run is marked and not accepted; with residuals.reaction: safe, Safe",
        clears=NOTHING_TO_CLEAR,
    ),
    FaultRow(
        38,
        "speed not following",
        "measured against commanded speed of each wheel that is commanded by speed",
        f"less than {STANDS_SHARE:.0%} of a commanded speed of {LEAST_SET_RADPS:g} rad/s or more for "
        f"{NOT_FOLLOWING_NS / 1e9:g} s, and so far behind that the drive's loop (drives.integral_gain) asks for its "
        "largest torque; one answer of the drives and one tick",
        "The text names the wheel. Look for what blocks it, at its plug, its fuse and its encoder, and at what its "
        "controller reports (hil check): it may have stopped by its own time-out. After Safe: hil command clear 38.",
        bound_ms=ReactionTimes.standing,
        reaction="the run is marked and not accepted; with residuals.reaction: safe, Safe",
        clears=NOTHING_TO_CLEAR,
    ),
    FaultRow(
        40,
        "not live",
        f"each instrument of motion ({', '.join(INSTRUMENTS)}): its device says whether it measures now or plays a "
        "recording back (Motive in Edit mode)",
        "the next reading, after its period and delay_ms; and one tick",
        "The text names the instrument. Switch its program to live. After Safe: hil command clear 40.",
        bound_ms=ReactionTimes.playbacks,
        reaction="the reading is left out; the run is marked once for each instrument, and goes on without that "
        "source; Safe, where the experiment needs the instrument. Before arming: refuse to arm",
        clears=NOTHING_TO_CLEAR,
    ),
)
