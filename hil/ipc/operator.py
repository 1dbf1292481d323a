"""An operator's commands from another process: a ring in shared memory that the loop reads without waiting."""

from __future__ import annotations

from typing import Any

import numpy as np

from hil.ipc.shared_types import OPERATOR_COMMAND
from hil.ipc.shm import Ring
from hil.messages.operator_input import OperatorCommand, OperatorInput, command_of_bytes, command_to_bytes

# A tick reads no more commands than this, so that many commands cannot delay the loop.
MOST_COMMANDS = 16


class SharedOperator:
    """The loop's end of the ring (`hil.messages.operator_input.OperatorSource`).

    Args:
        ring: of rows `OPERATOR_COMMAND` (`hil.ipc.command_memory.CommandMemory.commands`).
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
