"""Rows of the fault table: links and operators."""

from __future__ import annotations

from drivers.interfaces import DAMAGED_ALLOWED, LOOKED_AT
from hil.ipc.run_memory import LEAST_TICKS, RING_S
from hil.messages.fault import (
    CONSOLE_SILENT_NS,
    E_STOP_NS,
    FULL,
    HEALTH_EVERY_NS,
    LINK_LOST_NS,
    RECORD_LOST_NS,
    STATUS_ROUNDS,
    SWITCHING_PRESSURE_RATIO,
    TIMEOUT_FACTOR,
)
from hil.messages.layout import INSTRUMENTS, OUTPUTS, ROLES
from hil.recording.run_folder import BYTES, LOW
from hil.safety.arming import DISK_NEEDED
from hil.safety.fault_table.times import NOT_ARMED, NOTHING_TO_CLEAR, FaultRow, ReactionTimes

_ASKED = [name for name in ROLES if name not in ("drives", *OUTPUTS, *INSTRUMENTS)]
LINK_ROWS = (
    FaultRow(
        13,
        "link lost",
        "ports of the devices, and an answer to each request or its repetition",
        f"drives: {LINK_LOST_NS / 1e6:g} ms; {''.join(f'{name}: when they are next written; ' for name in OUTPUTS)}"
        "other devices: when they are next asked, at the latest after their largest age (limits: "
        f"{', '.join(f'{name}_age_ms' for name in _ASKED)}), as fault 1 or 2",
        "Look at the cable, the USB plug and the power of the device that the text names. Its time-out stops a drive; "
        "valves without a dead-man stay as they are: shut the supply.",
        bound_ms=ReactionTimes.losts,
        reaction="Safe on all other links. The port is opened again with growing pauses, to stop the device; the "
        "device is not driven again in that run",
        external=True,
    ),
    FaultRow(
        14,
        "frames damaged",
        "checksum and frame of each answer",
        f"the second damaged answer to one request, or {DAMAGED_ALLOWED + 1} of the last {LOOKED_AT} answers",
        "Look at the shield and the ground of the serial cable, keep it away from motor cables, and compare the baud "
        "rate with the device's.",
        reaction="the answer is discarded and asked for once more; then Safe",
        external=True,
    ),
    FaultRow(
        15,
        "answer late or duplicate",
        "bytes that no request has asked for",
        "that answer",
        "Nothing, if it is rare. Many: look at the cable, and whether a second program uses the port.",
        reaction="ignore; a request made twice is counted (summary: links, retries)",
        clears=NOTHING_TO_CLEAR,
    ),
    FaultRow(
        16,
        "drive resumes",
        "a drive that would go on with its last speed after a time-out",
        "before arming: a cut is confirmed by each controller",
        "If arming is refused with 'drives confirmed cut', look at power and emergency stop of the controllers.",
        reaction="the cut is sent first and confirmed; without the confirmation refuse to arm",
        clears=NOT_ARMED,
    ),
    FaultRow(
        17,
        "valve stuck",
        "pressure of each chamber against the one commanded by its valve and regulator; only where pressures are "
        "measured",
        f"{TIMEOUT_FACTOR:g} times devices.valves.moves_within_s, one reading of the pressures and one tick; a chamber "
        f"still on the wrong side of {SWITCHING_PRESSURE_RATIO:.0%} of cylinders.supply_kPa, or, with regulators that "
        "are moved, not within devices.valves.follows_within_kPa of a pressure that has stood for so long. A valve "
        "that sticks open under its own closed regulator is found when that opens for the other chamber",
        "Shut the supply at the bottle and vent it; keep hands away until the gauge shows zero. Then look at the plug "
        "of that valve and at its line.",
        bound_ms=ReactionTimes.valve,
        reaction="Safe: all valves off. The other chambers are empty after about 0.15 s (assumed valve); one whose "
        "valve sticks open stays under the pressure of the supply, and under a moved regulator, which closes, it "
        "empties as well",
    ),
    FaultRow(
        35,
        "joint not following",
        "measured angle of each driven joint against the commanded one, while the servos are powered",
        "farther than servos.follow_deg for servos.follow_s, one answer of the servos and one tick",
        "The text names the joint. Stay away from under the rover. Look for what blocks the joint, at the fuse and the "
        "current limit of its motor controller, and at its encoder. A load that is too heavy: servos.torque_limit_Nm.",
        bound_ms=ReactionTimes.joint_follows,
        reaction="Safe: drives and servos cut",
    ),
    FaultRow(
        36,
        "joint out of range",
        "measured angle of each driven joint, while the servos are powered",
        "servos.outside_deg beyond its range_deg, in one answer of the servos, and one tick",
        "The text names the joint. Power off: turn it back by hand. If it is where it should be, look at its encoder, "
        "and at its zero and its ratio in devices.servos.",
        bound_ms=lambda times: times.servo_answer_ms + times.tick_ms if times.config.servos else None,
        reaction="Safe: drives and servos cut",
    ),
    FaultRow(
        41,
        "device fault",
        "every bit of the status of each device, as the tables of docs/reference/device-status.md say: Safe, a mark, "
        "or ignored. A bit that is in no table leads to Safe",
        f"drives and servos: when their status is read, once in {STATUS_ROUNDS} rounds, and {HEALTH_EVERY_NS / 1e6:g} "
        f"ms, or {E_STOP_NS / 1e6:g} ms where that is longer; and a tick. Other devices: with their next message",
        "The text names the device, the bit and what it means. Look that up in the maker's manual; cut the power of a "
        "motor controller with a driver fault before you touch it. It latches again while the device reports it.",
        bound_ms=ReactionTimes.reported,
        reaction="Safe; of a warning only a mark: the run goes on, and is not accepted",
        external=True,
    ),
    FaultRow(
        42,
        "wrong device",
        "each device as it is found when it is opened: its identity, its firmware, what another user has left in it "
        "(settings, scripts, outputs), and who else has its port open",
        "before a run, and by hil check",
        "The refusal names the device, what was found and what is needed. Swapped cables: put each into its own port. "
        "Settings: set them back with the maker's program. A port that is in use: close the program that it names.",
        reaction="what can be set back is set back; otherwise refuse to open",
        clears=NOT_ARMED,
    ),
)


OPERATOR_ROWS = (
    FaultRow(
        18,
        "stop by operator",
        "Ctrl-C, hang-up, SIGTERM, the command e_stop; an emergency stop that a controller reads, or the line "
        "devices.daq.e_stop",
        f"one tick after it reaches the loop; an emergency stop that a device reads: {E_STOP_NS / 1e6:g} ms more",
        "Make sure that nobody is near the rover, release the emergency stop, clear the fault, and arm again.",
        bound_ms=lambda times: times.tick_ms + (0.0 if times.config.rig == "simulated" else E_STOP_NS / 1e6),
        clears="by an operator, once the emergency stop is released: hil command clear 18; nothing arms by itself",
        external=True,
    ),
    FaultRow(
        19,
        "console lost",
        "heartbeat of the client that holds the operator lease",
        f"{CONSOLE_SILENT_NS / 1e6:g} ms without a heartbeat, and one tick",
        "Look at the console and its network. Take the lease again (hil command lease --hold), then clear the fault.",
        bound_ms=lambda times: CONSOLE_SILENT_NS / 1e6 + times.tick_ms,
        reaction="Safe, or the run is finished (operator.console_lost); no run is armed without a lease",
        external=True,
    ),
    FaultRow(
        20,
        "command refused",
        "key or token, form, size, sequence number and lease of each command",
        "on receipt",
        "The answer says what is wrong with the command. A command that nobody here has sent: disconnect the network "
        "and look at the folder of allowed clients.",
        reaction="refuse; the state of the rig is unchanged",
        clears=NOTHING_TO_CLEAR,
    ),
    FaultRow(
        21,
        "subscriber slow",
        "messages that wait for one subscriber of the telemetry",
        "its queue is full",
        "Nothing for the run. A viewer with gaps: lower telemetry.rate_hz, or run it on a faster machine.",
        reaction="messages are dropped for that subscriber only; nothing waits for it",
        clears=NOTHING_TO_CLEAR,
    ),
    FaultRow(
        22,
        "disk full",
        "free space before arming, and every write",
        f"less than {LOW / 1e6:g} MB free: the next write, that is record.flush_ms and one tick",
        "Make room on the disk of the run folder (hil check: 'disk space'). The record is whole up to the fault.",
        bound_ms=lambda times: times.config.record.flush_ms + times.tick_ms,
        reaction=f"refuse to arm below {DISK_NEEDED / 1e6:g} MB; in a run: Safe, and a reserve of {BYTES / 1e6:g} MB "
        "on the disk holds what follows",
        external=True,
    ),
    FaultRow(
        23,
        "record cut short",
        "processes that are killed, or a power cut, while recording; noticed by who reads the record",
        f"a kill costs at most {RECORD_LOST_NS / 1e6:g} ms of ticks; a power cut has no bound but what was synced",
        "hil recover RUN makes a plain file and says what is missing.",
        bound_ms=RECORD_LOST_NS / 1e6,
        reaction="the file opens all the same; the devices stop as in row 12",
        clears=NOTHING_TO_CLEAR,
    ),
    FaultRow(
        24,
        "record ring full",
        "rows that wait for the recorder (realtime)",
        f"the recorder is {FULL * RING_S:g} s behind; at a low rate without force sensors {FULL * LEAST_TICKS:g} ticks",
        "The disk is too slow or the computer is busy: use a local disk, and close other programs.",
        bound_ms=ReactionTimes.ring,
        reaction="Safe, before a row is lost",
        external=True,
    ),
    FaultRow(
        25,
        "config wrong",
        "every key of a config, and how they fit together",
        "when it is loaded: all errors at once",
        "Each line names a key, what was found and what is allowed: change the config and start again.",
        reaction="refuse to start",
        clears=NOTHING_TO_CLEAR,
    ),
)
