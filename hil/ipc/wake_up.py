"""Wake-ups of a link's worker: whoever writes it a command that cannot wait ends its rest."""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from typing_extensions import override

from drivers.host import Host, HostComputer

_DRAIN_BYTES = 4096


class WakeUp:
    """A named pipe without content: a byte in it means that there is a new command."""

    def __init__(self, path: Path, *, create: bool) -> None:
        if create:
            os.mkfifo(path, 0o600)
        self.path = path
        # for reading too: a pipe without a reader could not be opened, and one without a writer would always be ready
        self._handle = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def wake(self) -> None:
        """End the present or the next rest. It never blocks."""
        with suppress(BlockingIOError):  # full of wake-ups already
            os.write(self._handle, b"\0")

    def rest(self, seconds: float) -> bool:
        """Wait for so long [s], or for a wake-up; whether there was one."""
        if not select.select((self._handle,), (), (), max(seconds, 0.0))[0]:
            return False
        with suppress(BlockingIOError):
            os.read(self._handle, _DRAIN_BYTES)
        return True

    def close(self) -> None:
        """Close it; may be called twice."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


class WokenComputer(HostComputer):
    """This computer, for a process whose rests a wake-up ends."""

    def __init__(self, wake_up: WakeUp) -> None:
        self._wake_up = wake_up

    @override
    def rest(self, seconds: float) -> None:
        self._wake_up.rest(seconds)


class CommandedHost:
    """A host whose rests end with the newest command at the device, also one in the middle of a transaction.

    Args:
        host: the same without that.

    Attributes:
        take_commands: called after each rest.
    """

    def __init__(self, host: Host) -> None:
        self.take_commands: Callable[[], None] = lambda: None
        self._rest = host.rest
        self.now_ns, self.sleep, self.open_serial = host.now_ns, host.sleep, host.open_serial
        self.open_shared, self.open_channel, self.open_datagrams = (
            host.open_shared,
            host.open_channel,
            host.open_datagrams,
        )

    def rest(self, seconds: float) -> None:
        """Rest, then look for a command [s]."""
        self._rest(seconds)
        self.take_commands()
