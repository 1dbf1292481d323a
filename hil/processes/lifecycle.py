"""Lifecycle of a worker, worker side: it ends when asked to, and when the process that started it is gone."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Protocol

from hil.realtime.libc import signal_when_parent_dies
from hil.realtime.rights import Right


class Reporter(Protocol):
    """The part of `WorkerLifecycle` that a worker needs: when to end, and how to report."""

    ending: bool

    @property
    def orphaned(self) -> bool:
        """The process that started this one is gone."""

    def ready(self, granted: Sequence[Right] = (), **more: Any) -> None:
        """Report to the loop process that the worker is ready, and its rights."""

    def report(self, **message: Any) -> None:
        """Send a message to the loop process."""


class WorkerLifecycle:
    """To be made first in a worker, before anything that takes time.

    Only the loop process handles SIGINT and SIGHUP. SIGTERM asks a worker to end; the kernel also sends it when the
    loop process dies.

    Args:
        parent: process id of the loop process.

    Attributes:
        ending: the worker was asked to end.
    """

    def __init__(self, parent: int) -> None:
        self._parent = parent
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
        return os.getppid() != self._parent

    def ready(self, granted: Sequence[Right] = (), **more: Any) -> None:
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
