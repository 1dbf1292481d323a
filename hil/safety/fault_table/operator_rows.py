"""Rows 18 to 25: the operator, subscribers, the record and the config."""

from __future__ import annotations

from hil.ipc.run_memory import LEAST_TICKS, RING_S
from hil.messages.fault import CONSOLE_SILENT_NS, E_STOP_NS, FULL, RECORD_LOST_NS
from hil.recording.run_folder import BYTES, LOW
from hil.safety.arming import DISK_NEEDED
from hil.safety.fault_table.times import BY_OPERATOR, NOTHING_TO_CLEAR, FaultRow, ReactionTimes

ROWS = (
    FaultRow(
        18,
        "stop by operator",
        "Ctrl-C, hang-up, SIGTERM, the command e_stop; an emergency stop that a controller reads, or the line "
        "devices.daq.e_stop",
        ReactionTimes.stop,
        f"one tick after it reaches the loop; an emergency stop that a device reads: {E_STOP_NS / 1e6:g} ms more",
        "Safe",
        "by an operator, once the emergency stop is released: hil command clear 18; nothing arms by itself",
        "Make sure that nobody is near the rover, release the emergency stop, clear the fault, and arm again.",
        external=True,
    ),
    FaultRow(
        19,
        "console lost",
        "heartbeat of the client that holds the operator lease",
        ReactionTimes.console,
        f"{CONSOLE_SILENT_NS / 1e6:g} ms without a heartbeat, and one tick",
        "Safe, or the run is finished (operator.console_lost); no run is armed without a lease",
        BY_OPERATOR,
        "Look at the console and its network. Take the lease again (hil command lease --hold), then clear the fault.",
        external=True,
    ),
    FaultRow(
        20,
        "command refused",
        "key or token, form, size, sequence number and lease of each command",
        None,
        "on receipt",
        "refuse; the state of the rig is unchanged",
        NOTHING_TO_CLEAR,
        "The answer says what is wrong with the command. A command that nobody here has sent: disconnect the network "
        "and look at the folder of allowed clients.",
    ),
    FaultRow(
        21,
        "subscriber slow",
        "messages that wait for one subscriber of the telemetry",
        None,
        "its queue is full",
        "messages are dropped for that subscriber only; nothing waits for it",
        NOTHING_TO_CLEAR,
        "Nothing for the run. A viewer with gaps: lower telemetry.rate_hz, or run it on a faster machine.",
    ),
    FaultRow(
        22,
        "disk full",
        "free space before arming, and every write",
        ReactionTimes.disk,
        f"less than {LOW / 1e6:g} MB free: the next write, that is record.flush_ms and one tick",
        f"refuse to arm below {DISK_NEEDED / 1e6:g} MB; in a run: Safe, and a reserve of {BYTES / 1e6:g} MB on the "
        "disk holds what follows",
        BY_OPERATOR,
        "Make room on the disk of the run folder (hil check: 'disk space'). The record is whole up to the fault.",
        external=True,
    ),
    FaultRow(
        23,
        "record cut short",
        "processes that are killed, or a power cut, while recording; noticed by who reads the record",
        RECORD_LOST_NS / 1e6,
        f"a kill costs at most {RECORD_LOST_NS / 1e6:g} ms of ticks; a power cut has no bound but what was synced",
        "the file opens all the same; the devices stop as in row 12",
        NOTHING_TO_CLEAR,
        "hil recover RUN makes a plain file and says what is missing.",
    ),
    FaultRow(
        24,
        "record ring full",
        "rows that wait for the recorder (realtime)",
        ReactionTimes.ring,
        f"the recorder is {FULL * RING_S:g} s behind; at a low rate without force sensors {FULL * LEAST_TICKS:g} ticks",
        "Safe, before a row is lost",
        BY_OPERATOR,
        "The disk is too slow or the computer is busy: use a local disk, and close other programs.",
        external=True,
    ),
    FaultRow(
        25,
        "config wrong",
        "every key of a config, and how they fit together",
        None,
        "when it is loaded: all errors at once",
        "refuse to start",
        NOTHING_TO_CLEAR,
        "Each line names a key, what was found and what is allowed: change the config and start again.",
    ),
)
