"""The loop's devices when the drivers run in workers: views on shared memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from drivers.interfaces import Health
from drivers.messages import (
    DaqBlock,
    DriveCommand,
    DriveSample,
    JointCommand,
    JointSample,
    Reading,
    ValveCommand,
    ValveSample,
    ValveSet,
)
from hil.ipc.run_memory import RunMemory
from hil.ipc.shm import Mailbox
from hil.messages.link_messages import BlockRow, DriveCommandRow, JointCommandRow, SampleRow, ValveCommandRow
from hil.messages.schema import Row
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
        self._slots = [(row, BlockRow.view(row)) for row in rows]
        self._slot = 0

    def read(self, t_ns: int) -> DaqBlock | None:  # noqa: ARG002  blocks in the ring are already measured
        """The next block, or None if there is none."""
        row, views = self._slots[self._slot]
        if not self._cursor.read_one(row):
            return None
        self._slot = (self._slot + 1) % len(self._slots)
        return BlockRow.unpack(views)


class SharedDrives(_View):
    """Wheel drives: newest sample in, newest command out. A cut, and the first command after one, wakes the worker.

    Args:
        shared: memory of the run.
        wake: wakes the worker; by default its process.
    """

    name = "wheel drives"

    def __init__(self, shared: RunMemory, wake: Callable[[], None] | None = None) -> None:
        self._wake, self._cut = wake or shared.wake_ups["drives"].wake, False
        self._commands, self._command = shared.drive_command, Row(shared.drive_command.dtype)
        self._samples = _Newest(shared.drives)
        layout = shared.config.layout
        self._sample_row, self._command_row = SampleRow(DriveSample, layout), DriveCommandRow(layout)

    def read(self, t_ns: int) -> DriveSample | None:  # noqa: ARG002
        """The newest sample, once."""
        numbers = self._samples.read()
        return None if numbers is None else self._sample_row.unpack(numbers)

    def write(self, command: DriveCommand) -> None:
        """Send a command to the worker."""
        self._command.set(*self._command_row.pack(command))
        self._commands.write(self._command.array)
        if command.cut is not self._cut:
            self._cut = command.cut
            self._wake()


class SharedValves(_View):
    """Bogie valves: newest sample in, newest command out.

    An output to be switched, or a regulator to be closed or opened, wakes the worker; a new pressure waits its turn.

    Args:
        shared: memory of the run.
        wake: wakes the worker; by default its process.
    """

    name = "bogie valves"

    def __init__(self, shared: RunMemory, wake: Callable[[], None] | None = None) -> None:
        self._wake = wake or shared.wake_ups["valves"].wake
        self._powered: ValveSet = ()
        self._open: tuple[bool, ...] = ()
        self._trigger = False
        self._commands, self._command = shared.valve_command, Row(shared.valve_command.dtype)
        self._samples = _Newest(shared.valves)
        layout = shared.config.layout
        self._sample_row, self._command_row = SampleRow(ValveSample, layout), ValveCommandRow(layout)

    def read(self, t_ns: int) -> ValveSample | None:  # noqa: ARG002
        """The newest sample, once."""
        numbers = self._samples.read()
        return None if numbers is None else self._sample_row.unpack(numbers)

    def write(self, command: ValveCommand) -> None:
        """Send a command to the worker."""
        self._command.set(*self._command_row.pack(command))
        self._commands.write(self._command.array)
        opened = tuple(map(bool, command.regulators_Pa)) if command.regulators_Pa else ()
        if command.powered != self._powered or opened != self._open or command.trigger is not self._trigger:
            self._powered, self._open, self._trigger = command.powered, opened, command.trigger
            self._wake()


class SharedServos(_View):
    """Servos of driven joints: newest sample in, newest command out. They are woken as `SharedDrives` are.

    Args:
        shared: memory of the run.
        wake: wakes the worker; by default its process.
    """

    name = "servos"

    def __init__(self, shared: RunMemory, wake: Callable[[], None] | None = None) -> None:
        self._wake, self._cut = wake or shared.wake_ups["servos"].wake, False
        self._commands, self._command = shared.servo_command, Row(shared.servo_command.dtype)
        self._samples = _Newest(shared.servos)
        layout = shared.config.layout
        self._sample_row, self._command_row = SampleRow(JointSample, layout), JointCommandRow(layout)

    def read(self, t_ns: int) -> JointSample | None:  # noqa: ARG002
        """The newest sample, once."""
        numbers = self._samples.read()
        return None if numbers is None else self._sample_row.unpack(numbers)

    def write(self, command: JointCommand) -> None:
        """Send a command to the worker."""
        self._command.set(*self._command_row.pack(command))
        self._commands.write(self._command.array)
        if command.cut is not self._cut:
            self._cut = command.cut
            self._wake()


class SharedInstrument(_View):
    """An instrument of motion: newest reading in."""

    def __init__(self, shared: RunMemory, role: str) -> None:
        self.name = role
        self._samples = _Newest(shared.readings[role])
        self._sample_row = SampleRow(Reading, shared.config.layout, role)

    def read(self, t_ns: int) -> Reading | None:  # noqa: ARG002
        """The newest reading, once."""
        numbers = self._samples.read()
        return None if numbers is None else self._sample_row.unpack(numbers)


class _Newest:
    """The newest record of a mailbox, once; a record already there at the start is of an earlier run."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox, self._row = mailbox, Row(mailbox.dtype)
        self._version = mailbox.read(self._row.array)

    def read(self) -> tuple[Any, ...] | None:
        if self._mailbox.version == self._version:
            return None
        version = self._mailbox.read(self._row.array)
        if version <= self._version:  # not new, empty, or stale
            return None
        self._version = version
        return self._row.numbers()
