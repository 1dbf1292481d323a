"""A worker's own side of its life: it ends when told, and when the process that started it is gone."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Protocol

from hil.realtime.libc import signal_when_parent_dies
from hil.realtime.rights import Granted


class Reporter(Protocol):
    """What a worker needs of its `WorkerLifecycle`: when to end, and whom to tell how it goes."""

    ending: bool

    @property
    def orphaned(self) -> bool:
        """The process that started this one is gone."""

    def ready(self, granted: Sequence[Granted] = (), **more: Any) -> None:
        """Tell the loop process that work can begin, and with which rights."""

    def report(self, **message: Any) -> None:
        """Tell the loop process something."""


class WorkerLifecycle:
    """Made first thing in a worker, before anything that takes time.

    Only the loop process handles SIGINT and SIGHUP; a worker is told to end by SIGTERM, which the kernel also sends
    when the loop process dies.

    Args:
        parent: process id of the loop process.

    Attributes:
        ending: told to end.
    """

    def __init__(self, parent: int) -> None:
        self._parent = parent
        self.ending = False
        # what else is printed here goes to the error output, not between our words
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

    def ready(self, granted: Sequence[Granted] = (), **more: Any) -> None:
        """Tell the loop process that work can begin, and with which rights."""
        self.report(ready=True, granted=[asdict(item) for item in granted], **more)

    def report(self, **message: Any) -> None:
        """Tell the loop process something; nobody may be there to listen."""
        try:
            self._pipe.write(json.dumps(message) + "\n")
            self._pipe.flush()
        except BrokenPipeError:
            # or the interpreter complains about it when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._pipe.fileno())

    def _end(self, _number: int, _frame: object) -> None:
        self.ending = True
