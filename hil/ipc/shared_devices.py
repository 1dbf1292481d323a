"""The loop's devices when the drivers run in workers: views on shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from drivers.interfaces import Health
from drivers.messages import DaqBlock, DriveCommand, DriveSample, ValveCommand, ValveSample
from hil.ipc.run_memory import RunMemory
from hil.ipc.shm import Mailbox
from hil.messages.schema import Row, power_of
from hil.messages.stages import MOST_BLOCKS


class _View:
    """Life cycle of a view: the worker owns the device."""

    name: str

    def open(self) -> None:
        """Nothing to do: the worker has opened the device before the loop runs."""

    def close(self) -> None:
        """Nothing to do: the worker stops and closes it."""

    def health(self) -> Health:
        """State of the view."""
        return Health(self.name, True, 0, "in its own process")


class SharedDaq(_View):
    """Blocks of samples, from the ring of their group.

    The arrays of a block are reused after MOST_BLOCKS more blocks: they are valid only during a tick.
    """

    name = "DAQ"

    def __init__(self, shared: RunMemory, group: str = "daq") -> None:
        ring = shared.sampled[group]
        self._cursor = ring.reader("loop", newest=True)
        rows = [np.zeros(1, ring.dtype) for _ in range(MOST_BLOCKS + 1)]
        self._slots: list[tuple[Any, ...]] = [
            (row, row["t_ns"][0], row["volts"][0], row["overload"][0]) for row in rows
        ]
        self._numbers = [(row["sequence"], row["arrived_ns"]) for row in rows]
        self._slot = 0

    def read(self, t_ns: int) -> DaqBlock | None:  # noqa: ARG002  blocks in the ring are already measured
        """The next block, or None if there is none."""
        row, stamps, volts, overload = self._slots[self._slot]
        if not self._cursor.read_one(row):
            return None
        sequence, arrived_ns = self._numbers[self._slot]
        block = DaqBlock(sequence.item(), stamps, volts, tuple(overload.tolist()), arrived_ns.item())
        self._slot = (self._slot + 1) % len(self._slots)
        return block


class SharedDrives(_View):
    """Wheel drives: newest sample in, newest command out."""

    name = "wheel drives"

    def __init__(self, shared: RunMemory) -> None:
        self._commands, self._command = shared.drive_command, Row(shared.drive_command.dtype)
        self._samples = _Newest(shared.drives)
        self._layout = shared.config.layout
        self._no_duty = self._layout.no_duty

    def read(self, t_ns: int) -> DriveSample | None:  # noqa: ARG002
        """The newest sample, once."""
        if (numbers := self._samples.read()) is None:
            return None
        speeds_end = 2 + len(self._layout.wheels)
        acknowledged_ns, stopped_ns, *power = numbers[speeds_end:]
        speeds = numbers[2:speeds_end]
        return DriveSample(numbers[0], numbers[1], speeds, acknowledged_ns, stopped_ns, power_of(self._layout, power))

    def write(self, command: DriveCommand) -> None:
        """Send a command to the worker."""
        self._command.set(command.t_ns, command.cut, *command.speed_radps, *(command.duty or self._no_duty))
        self._commands.write(self._command.array)


class SharedValves(_View):
    """Bogie valves: newest sample in, newest command out."""

    name = "bogie valves"

    def __init__(self, shared: RunMemory) -> None:
        self._commands, self._command = shared.valve_command, Row(shared.valve_command.dtype)
        self._samples = _Newest(shared.valves)

    def read(self, t_ns: int) -> ValveSample | None:
        """The newest sample, once."""
        if (numbers := self._samples.read()) is None:
            return None
        pressures = tuple(zip(numbers[2:-1:2], numbers[3:-1:2], strict=True))
        sequence, t_ns, acknowledged_ns = numbers[0], numbers[1], numbers[-1]
        return ValveSample(sequence, t_ns, pressures, acknowledged_ns)

    def write(self, command: ValveCommand) -> None:
        """Send a command to the worker."""
        self._command.set(command.t_ns, *[on for pair in command.powered for on in pair], *command.regulators_Pa)
        self._commands.write(self._command.array)


class _Newest:
    """The newest record of a mailbox, once; a record already there at the start is of an earlier run."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox, self._row = mailbox, Row(mailbox.dtype)
        self._version = mailbox.read(self._row.array)

    def read(self) -> tuple[Any, ...] | None:
        version = self._mailbox.read(self._row.array)
        if version <= self._version:  # not new, empty, or stale
            return None
        self._version = version
        return self._row.numbers()
