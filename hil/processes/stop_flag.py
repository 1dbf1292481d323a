"""A flag that ends a server when it is asked to by a signal."""

from __future__ import annotations

import signal
from typing import Protocol


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
