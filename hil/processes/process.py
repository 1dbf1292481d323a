"""A child process with the lifecycle of `hil.processes.lifecycle`, as its parent sees it."""

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
    """A child process: a `Process`, or one in virtual time."""

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


# No library threads: each takes a stack and buffers, and a tick has no work for them.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Process:
    """A module that runs in a separate process, which ends with this one.

    Args:
        module: its full name; the id of this process is its second argument.
        first: its first argument.
        arguments: its further arguments, after the process id.
    """

    def __init__(self, module: str, first: str, *arguments: str) -> None:
        # -P: a folder `hil` or `models` in the working directory must not be imported
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
        """Its exit status, or None if it is still running after `within_s` [s]."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(within_s)
        code: int | None = self._process.poll()
        return code

    def receive(self, within_s: float) -> dict[str, Any]:
        """The next JSON message from it; empty if it ends or sends none within `within_s` [s]."""
        pipe = self._process.stdout
        if not select.select([pipe], [], [], within_s)[0]:
            return {}
        line = pipe.readline()
        return json.loads(line) if line else {}

    def send(self, message: Mapping[str, Any]) -> None:
        """Send it a message, one line of JSON, if it is still running."""
        with suppress(OSError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    def ask_to_end(self) -> None:
        """Ask it to end (SIGTERM)."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()
        # not Popen.wait: where a signal's handler raised amid an earlier look at it, Popen's lock is never free again
        if self._process.returncode is None:
            with suppress(ChildProcessError):
                _, status = os.waitpid(self.pid, 0)
                self._process.returncode = os.waitstatus_to_exitcode(status)

    def end(self, within_s: float) -> bool:
        """Ask it to end and wait for it. False if it was gone before, ended with an error or had to be killed."""
        was_there = self.status() is None
        self.ask_to_end()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe.close()
        code = self.status(within_s)
        if code is None:
            self.kill()
        return was_there and code == 0
