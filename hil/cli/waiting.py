"""While a command computes and prints nothing, a terminal shows for how long it has been working.

The line is written over itself and is gone with the next output. There is none without a terminal.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from types import FrameType

# Silence before the line is shown, and the time between two of them [s].
AFTER_S = 2.0
EVERY_S = 1.0
# Commands that only compute, so that the line is shown whenever they are silent. All others may wait for a person, a
# device or a deadline once they have begun to print: there it is shown until their first output.
COMPUTE = frozenset(
    {"compare", "energy", "explain", "export", "identify", "recover"}
    | {"render", "replay", "report", "run", "trial", "verify"}
)
_CLEAR = b"\r\x1b[K"


class WaitingLine:
    """The line of one command."""

    def __init__(self) -> None:
        self._command, self._until_output = "", True
        self._began = self._last = 0.0
        self._shown = self._on = False

    def start(self, command: str, *, after_s: float = AFTER_S, every_s: float = EVERY_S) -> None:
        """Show the line from now on, if standard error is a terminal; from the main thread."""
        if not sys.stderr.isatty():
            return
        self._command, self._until_output, self._on = command, command not in COMPUTE, True
        self._began = self._last = time.monotonic()
        self._after_s = after_s
        signal.signal(signal.SIGALRM, self._show)
        signal.setitimer(signal.ITIMER_REAL, every_s, every_s)

    def only_until_output(self) -> None:
        """The command will wait for a deadline: no line after its next output."""
        self._until_output = True

    def written(self) -> None:
        """Something is about to be printed."""
        if not self._on:
            return
        self._last = time.monotonic()
        if self._shown:
            self._shown = False
            _write(_CLEAR)
        if self._until_output:
            self.stop()

    def stop(self) -> None:
        """No line any more."""
        if self._on:
            self._on = False
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            if self._shown:
                _write(_CLEAR)

    def _show(self, _: int, __: FrameType | None) -> None:
        now = time.monotonic()
        if self._on and now - self._last >= self._after_s:
            self._shown = True
            _write(_CLEAR + f"hil {self._command}: working for {now - self._began:.0f} s".encode())


def _write(line: bytes) -> None:
    """Past Python's buffers: the signal may have come while they are being written."""
    with suppress(OSError):  # nobody may be left to read it
        os.write(sys.stderr.fileno(), line)


LINE = WaitingLine()
