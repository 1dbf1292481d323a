"""The loop's devices when the drivers run in workers: views on shared memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from drivers.interfaces import Health
from drivers.messages import DaqBlock
from hil.ipc.run_memory import RunMemory
from hil.messages.layout import ROLES, SAMPLED
from hil.messages.link_messages import BlockRow, CommandRow, Row, SampleRow
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


class _SharedBlocks(_View):
    """Blocks of samples, from the ring of their group.

    The arrays of a block are reused after MOST_BLOCKS more blocks: they are valid only during a tick.
    """

    def __init__(self, shared: RunMemory, group: str) -> None:
        self.name = ROLES[group].title
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


class _SharedNewest(_View):
    """The newest sample in, once, and the newest command out. What is urgent in a command wakes the worker.

    An output has no sample.
    """

    def __init__(self, shared: RunMemory, link: str, wake: Callable[[], None] | None = None) -> None:
        role, layout = ROLES[link], shared.config.layout
        self.name = role.title
        if role.sample is not None:
            self._samples, self._unpack = shared.newest[link], SampleRow(link, layout).unpack
            self._sample = Row(self._samples.dtype)
            self._version = self._samples.read(self._sample.array)  # a record already there is of an earlier run
        if role.command is not None:
            self._wake = wake or shared.wake_ups[link].wake
            self._urgent_in = role.urgent
            self._urgent: object = False
            self._commands, self._pack = shared.device_commands[link], CommandRow(link, layout).pack
            self._command = Row(self._commands.dtype)

    def read(self, t_ns: int) -> Any:  # noqa: ARG002
        """The newest sample, once; None: there is no new one."""
        if self._samples.version == self._version:
            return None
        version = self._samples.read(self._sample.array)
        if version <= self._version:  # not new, empty, or stale
            return None
        self._version = version
        return self._unpack(self._sample.numbers())

    def write(self, command: Any) -> None:
        """Send a command to the worker."""
        self._command.set(*self._pack(command))
        self._commands.write(self._command.array)
        if (urgent := self._urgent_in(command)) != self._urgent:
            self._urgent = urgent
            self._wake()


def shared_device(shared: RunMemory, link: str, wake: Callable[[], None] | None = None) -> Any:
    """The loop's view of a device: `read`, and `write` where it takes commands; its arguments as of `_SharedNewest`."""
    return _SharedBlocks(shared, link) if link in SAMPLED else _SharedNewest(shared, link, wake)
