"""When each process was last alive."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hil.ipc.shm.machine import functions
from hil.ipc.shm.mapped import CONTROL_WORDS, Mapped, ShmError
from hil.messages.layout import ROLES

# loop: at the end of each good tick; loop_turn: at the beginning of any
PROCESSES = ("loop", "loop_turn", "recorder", "simulated_rig", "watchdog", *ROLES)
NEVER_NS = 2**62  # age of a process without a heartbeat so far: older than any limit


class Heartbeat:
    """A monotonic time [ns] for each of several names; each is written by one process and read by any.

    Args:
        path: the file.
        create: make the file, or open it.
        names: of the processes; None, when opening: those in the file.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool, names: Sequence[str] | None = None) -> None:
        self._call = functions()
        self.path = Path(path)
        if create and names is None:
            names = PROCESSES
        if names is not None and not 0 < len(names) <= CONTROL_WORDS:
            raise ShmError(f"{self.path}: {len(names)} names, allowed: 1 to {CONTROL_WORDS}")
        self._file = Mapped(self.path, "heartbeat", np.dtype("<i8"), create=create, capacity=1, names=names)
        self.names = self._file.names
        self._at = {name: self._file.control(i) for i, name in enumerate(self.names)}
        self._words = {name: self._file.word(i) for i, name in enumerate(self.names)}

    def beat(self, name: str, t_ns: int) -> None:
        """Record that `name` was alive at `t_ns` (CLOCK_MONOTONIC [ns], above 0). KeyError for an unknown name."""
        self._call.store(self._at[name], t_ns)

    def rest(self, name: str) -> None:
        """Record that `name` is not to be watched until its next beat. KeyError as with `beat`."""
        self._call.store(self._at[name], 0)

    def age(self, name: str, now_ns: int) -> int:
        """Time since `name` was last alive [ns]: at least 0, `NEVER_NS` if it never was. KeyError as with `beat`."""
        beat_ns = self._file.words[self._words[name]]
        return max(0, now_ns - beat_ns) if beat_ns else NEVER_NS

    def last_ns(self, name: str) -> int:
        """When `name` was last alive (CLOCK_MONOTONIC [ns]), 0 if it never was. KeyError as with `beat`."""
        return self._file.words[self._words[name]]

    def close(self) -> None:
        """Unmap the file; may be called twice. Any other call raises ShmError from then on."""
        self._call = self._file.close()
