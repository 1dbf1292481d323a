"""Data types in the memory that the loop shares with its workers, and the ring of an operator's commands."""

from __future__ import annotations

import math
import os
import socket
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.ipc.shm import Mailbox, Ring
from hil.messages.fault import Alarm, Fault
from hil.messages.layout import Layout
from hil.messages.operator_input import MOST_BYTES, OperatorCommand, OperatorInput, command_of_bytes, command_to_bytes

RINGS = ("ticks", "timings", "events", "watchdog_events", "blocks", "load_blocks")  # their rows make up the record
START = np.dtype(
    [
        ("start_ns", "<i8"),  # t_ns = 0 of the run on CLOCK_MONOTONIC
        ("wall_start_s", "<f8"),  # and in Unix time
        ("over", "<i8"),  # 1: the run is over, and the next has not begun
        *((f"first_{name}", "<i8") for name in RINGS),  # rows written to each ring before the run
    ]
)
NO_FAULT = 0
GROUND_TRUTH = np.dtype(  # values known only to a simulated rig, and the timing of its process
    [
        ("content", "S2048"),  # JSON of hil.simulator.ground_truth
        ("ticks", "<i8"),
        ("late", "<i8"),
        ("skipped", "<i8"),
        ("cost_us", "<f8", (4,)),  # of one of its ticks: p50, p99, p99.9, longest
    ]
)
# Rows that a simulated rig keeps of each history of the truth, the newest: two minutes.
MOST_ROWS = 1200
FAULT_MESSAGE = np.dtype(  # of a worker: why the loop has to go Safe; fault NO_FAULT: the cause is gone
    [("t_ns", "<i8"), ("fault", "<i8"), ("value", "<f8"), ("limit", "<f8"), ("detail", "S128")]
)
LATE = np.dtype(  # late action of a simulated rig
    [("due_ns", "<i8"), ("late_ns", "<i8"), ("device", "S32")]  # due time of CLOCK_MONOTONIC, delay, device
)
OPERATOR_COMMAND = np.dtype([("content", f"S{MOST_BYTES}")])  # JSON, as in the event that records it


def history_dtypes(layout: Layout) -> dict[str, np.dtype[Any]]:
    """Histories of the truth that a simulated rig keeps, by name: their rows, and how many there are.

    `loads`: of a rig that controls the wheels' loads, rows of `models.plant.load_history`; `motion`: of every
    one, rows of `models.plant.motion_history`.
    """
    wheels = len(layout.wheels)
    columns = {"loads": (1 + wheels + len(layout.cylinders)) * layout.controls_loads}
    columns["motion"] = 9 + 2 * wheels
    return {
        name: np.dtype([("count", "<i8"), ("rows", "<f8", (MOST_ROWS, count))])
        for name, count in columns.items()
        if count
    }


def fault_message(fault: int, detail: str, value: float = math.nan, limit: float = math.nan) -> NDArray[np.void]:
    """Why the loop has to go Safe: number of the fault, description, value found, and limit."""
    words = detail.encode()[: FAULT_MESSAGE["detail"].itemsize]
    return np.array([(time.monotonic_ns(), fault, value, limit, words)], FAULT_MESSAGE)


def alarm_of(row: NDArray[np.void]) -> Alarm | None:
    """The fault of a row of `FAULT_MESSAGE`; None: there is none any more."""
    _, fault, value, limit, detail = row[0].tolist()
    return None if fault == NO_FAULT else Alarm(Fault(fault), value, limit, detail.decode(errors="replace"))


# A tick reads no more commands than this, so that many commands cannot delay the loop.
MOST_COMMANDS = 16


class SharedOperator:
    """The loop's end of the ring (`hil.messages.operator_input.OperatorSource`).

    Args:
        ring: of rows `OPERATOR_COMMAND` (`CommandMemory.commands`).
    """

    def __init__(self, ring: Ring) -> None:
        self._cursor = ring.reader("loop")
        self._row: Any = np.zeros(1, OPERATOR_COMMAND)

    def read(self) -> OperatorInput:
        """All commands sent since the last call, oldest first, at most MOST_COMMANDS.

        Raises:
            ValueError: a row holds no valid command: its writer is another program, or faulty.
        """
        if (first := self.read_one()) is None:
            return ()
        taken = [first]
        while len(taken) < MOST_COMMANDS and (command := self.read_one()) is not None:
            taken.append(command)
        return tuple(taken)

    def read_one(self) -> OperatorCommand | None:
        """The oldest command that nobody has read; what follows it stays for whoever reads next. None: there is none.

        Raises:
            ValueError: as `read`.
        """
        return command_of_bytes(self._row["content"].item()) if self._cursor.read_one(self._row) else None


class OperatorWriter:
    """The writing end, for the one process that receives commands from operators: a ring has one writer.

    Args:
        ring: as for `SharedOperator`, opened by that process.
    """

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._row: Any = np.zeros(1, OPERATOR_COMMAND)

    def put(self, command: OperatorCommand) -> bool:
        """Send a command to the loop; False: the ring is full, because the loop does not read it; nothing was sent.

        Raises:
            ValueError: it is too long to be recorded.
        """
        self._row["content"] = command_to_bytes(command)
        return self._ring.append(self._row)


# Commands that the loop has not read yet.
OPERATOR_COMMANDS = 64
# Longest name of a client that holds the lease [bytes].
LONGEST_HOLDER = 80
# Longest status, as JSON [bytes].
MOST_STATUS_BYTES = 8192
LEASE = np.dtype(
    [
        ("holder", f"S{LONGEST_HOLDER}"),  # name of the client, UTF-8
        ("held", "<u1"),  # 1: the client holds the lease
        ("t_ns", "<i8"),  # its last heartbeat on CLOCK_MONOTONIC
    ]
)
STATUS = np.dtype([("content", f"S{MOST_STATUS_BYTES}")])  # JSON


class CommandMemory:
    """Files that the resident process makes once and the command server's process opens.

    The server restarts with the same files: what it has put into the ring is not lost.

    Args:
        folder: of the files; only its owner may open it (mode 0700).
        create: make the folder and the files, or open them.

    Attributes:
        commands: ring of rows `OPERATOR_COMMAND`: from the command server to the loop, which misses none. One that it
            has not read at the end of a run waits for whoever reads next.
        lease: mailbox of `LEASE`: from the command server to the resident process.
        status: mailbox of `STATUS`: from the resident process to the command server.

    Raises:
        FileExistsError: the folder exists already.
        FileNotFoundError: there are no files to open.
        ShmError: the files do not have the expected contents.
    """

    def __init__(self, folder: str | os.PathLike[str], *, create: bool) -> None:
        self.folder = Path(folder)
        if create:
            self.folder.mkdir(mode=0o700)
        self.commands = Ring(
            self.folder / "commands", OPERATOR_COMMAND, OPERATOR_COMMANDS, create=create, must_not_lose=("loop",)
        )
        self.lease = Mailbox(self.folder / "lease", LEASE, create=create)
        self.status = Mailbox(self.folder / "status", STATUS, create=create)

    def close(self) -> None:
        """Unmap the files; may be called twice."""
        for part in (self.commands, self.lease, self.status):
            part.close()


_CREDENTIALS = struct.Struct("3i")  # process, user, group


def peer_pid(connected: socket.socket) -> int:
    """Id of the process at the other end of a unix socket."""
    credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(credentials)[0])
