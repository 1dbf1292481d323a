"""Lifecycle of a worker, on its own side and on that of its parent, and of what runs until it is closed."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from typing import Any, Protocol, Self

from typing_extensions import override

from hil.realtime.rights import RealtimeRight, signal_when_parent_dies


class Reporter(Protocol):
    """The part of `WorkerLifecycle` that a worker needs: when to end, and how to report."""

    ending: bool

    @property
    def orphaned(self) -> bool:
        """The process that started this one is gone."""

    def ready(self, granted: Sequence[RealtimeRight] = (), **more: Any) -> None:
        """Report to the loop process that the worker is ready, and its rights."""

    def report(self, **message: Any) -> None:
        """Send a message to the loop process."""


class WorkerLifecycle:
    """To be made first in a worker, before anything that takes time.

    Only the loop process handles SIGINT and SIGHUP. SIGTERM asks a worker to end; the kernel also sends it when the
    loop process dies.

    Attributes:
        ending: the worker was asked to end.
        parent: as given.
    """

    def __init__(self, parent: int) -> None:
        self.parent = parent
        self.ending = False
        # other output of this process goes to stderr, not between the messages
        self._pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        signal.signal(signal.SIGTERM, self._end)
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal_when_parent_dies(signal.SIGTERM)
        if self.orphaned:  # it died before that
            self.ending = True

    @property
    def orphaned(self) -> bool:
        """The process that started this one is gone."""
        return os.getppid() != self.parent

    def ready(self, granted: Sequence[RealtimeRight] = (), **more: Any) -> None:
        """Report to the loop process that the worker is ready, and its rights."""
        self.report(ready=True, granted=[asdict(item) for item in granted], **more)

    def report(self, **message: Any) -> None:
        """Send a message to the loop process; it is dropped if that process is gone."""
        try:
            self._pipe.write(json.dumps(message) + "\n")
            self._pipe.flush()
        except BrokenPipeError:
            # otherwise the interpreter prints an error when it exits
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._pipe.fileno())

    def _end(self, _number: int, _frame: object) -> None:
        self.ending = True


class Child(Protocol):
    """A child process: a `Process`, or one in virtual time."""

    @property
    def pid(self) -> int:
        """Its process id."""

    def status(self, within_s: float = 0.0) -> int | None:
        """Its exit status, or None if it is still running after `within_s` [s]."""

    def receive(self, within_s: float) -> dict[str, Any]:
        """The next JSON message from it; empty if it ends or sends none within `within_s` [s]."""

    def send(self, message: Mapping[str, Any]) -> None:
        """Send it a message, one line of JSON, if it is still running."""

    def ask_to_end(self) -> None:
        """Ask it to end (SIGTERM)."""

    def kill(self) -> None:
        """Kill it."""

    def end(self, within_s: float) -> bool:
        """Ask it to end and wait for it. False if it was gone before, ended with an error or had to be killed."""


# No library threads: each takes a stack and buffers, and a tick has no work for them.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Process(Child):
    """One of the processes of `hil.processes.__main__`, which ends with this one.

    Args:
        path: its first argument, before the id of this process.
        arguments: its further arguments, after that id.
    """

    def __init__(self, name: str, path: str, *arguments: str) -> None:
        # -P: a folder `hil` or `models` in the working directory must not be imported
        command = [sys.executable, "-P", "-m", "hil.processes", name, path, str(os.getpid()), *arguments]
        environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1")}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(  # type: ignore[call-overload]
            command, bufsize=0, process_group=0, env=environment, **pipes
        )

    @property
    @override
    def pid(self) -> int:
        return int(self._process.pid)

    @override
    def status(self, within_s: float = 0.0) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(within_s)
        code: int | None = self._process.poll()
        return code

    @override
    def receive(self, within_s: float) -> dict[str, Any]:
        pipe = self._process.stdout
        if not select.select([pipe], [], [], within_s)[0]:
            return {}
        line = pipe.readline()
        return json.loads(line) if line else {}

    @override
    def send(self, message: Mapping[str, Any]) -> None:
        with suppress(OSError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    @override
    def ask_to_end(self) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    @override
    def kill(self) -> None:
        self._process.kill()
        # not Popen.wait: where a signal's handler raised amid an earlier look at it, Popen's lock is never free again
        if self._process.returncode is None:
            with suppress(ChildProcessError):
                _, status = os.waitpid(self.pid, 0)
                self._process.returncode = os.waitstatus_to_exitcode(status)

    @override
    def end(self, within_s: float) -> bool:
        was_there = self.status() is None
        self.ask_to_end()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe.close()
        code = self.status(within_s)
        if code is None:
            self.kill()
        return was_there and code == 0


class ServedProcess:
    """Something that a program or a test starts, and that ends with `close` or with its `with` block.

    A subclass puts what it needs on `_stack`.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()

    def close(self) -> None:
        """Stop it, and remove what it needed; may be called twice."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class StopFlag(Protocol):
    """Tells when to end."""

    ending: bool


class SignalStop:
    """A stop flag that Ctrl-C, SIGHUP and SIGTERM set.

    Attributes:
        ending: one of these signals has come.
    """

    def __init__(self) -> None:
        self.ending = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._end)

    def _end(self, _number: int, _frame: object) -> None:
        self.ending = True
