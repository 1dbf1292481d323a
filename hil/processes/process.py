"""A process that we start and that lives by `hil.processes.lifecycle`: our side of it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol


class Child(Protocol):
    """What was started, a `Process` or one of virtual time."""

    @property
    def pid(self) -> int:
        """See `Process`."""

    def status(self, within_s: float = 0.0) -> int | None:
        """See `Process`."""

    def receive(self, within_s: float) -> dict[str, Any]:
        """See `Process`."""

    def send(self, message: Mapping[str, Any]) -> None:
        """See `Process`."""

    def ask_to_end(self) -> None:
        """See `Process`."""

    def kill(self) -> None:
        """See `Process`."""

    def end(self, within_s: float) -> bool:
        """See `Process`."""


# No library's threads beside ours: they take a stack and buffers each, and wait for work that no tick has.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Process:
    """A module that runs in a process of its own, and dies with us.

    Args:
        module: its full name; it is told our process id after the first of its arguments.
        first: the first of them.
        arguments: what follows our process id.
    """

    def __init__(self, module: str, first: str, *arguments: str) -> None:
        # -P: a folder `hil` or `models` where the user stands is not ours
        command = [sys.executable, "-P", "-m", module, first, str(os.getpid()), *arguments]
        environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1")}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(  # type: ignore[call-overload]
            command, bufsize=0, process_group=0, env=environment, **pipes
        )

    @property
    def pid(self) -> int:
        """Its process id."""
        return int(self._process.pid)

    def status(self, within_s: float = 0.0) -> int | None:
        """The status it has ended with, or None if it has not by then."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(within_s)
        code: int | None = self._process.poll()
        return code

    def receive(self, within_s: float) -> dict[str, Any]:
        """The next line of JSON that it says; nothing if it ends or says none in time."""
        pipe = self._process.stdout
        if not select.select([pipe], [], [], within_s)[0]:
            return {}
        line = pipe.readline()
        return json.loads(line) if line else {}

    def send(self, message: Mapping[str, Any]) -> None:
        """Tell it something, one line of JSON, if it is still there."""
        with suppress(OSError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    def ask_to_end(self) -> None:
        """Tell it to end."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()

    def end(self, within_s: float) -> bool:
        """Tell it to end, and wait until it has. False if it was gone before, ended badly or had to be killed."""
        was_there = self.status() is None
        self.ask_to_end()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe.close()
        code = self.status(within_s)
        if code is None:
            self.kill()
        return was_there and code == 0
