"""How far many runs have come: a bar with the time left in a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:  # slow to import, and few commands show a bar
    from rich.progress import Progress

# Without a bar, the shortest time between two lines, and a wait so short that nobody wants a line of it [s].
_EVERY_S, _SHORT_S = 10.0, 3.0


def write_line(line: str) -> None:
    """Write a line on standard error."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


class ProgressBar:
    """Receives how many of something are done (`hil.campaign.run.ProgressReporter`).

    Args:
        what: is counted, in the plural.
        write: takes lines in place of the bar; None: a bar if standard error is a terminal, else lines there.
        every_s: shortest time between two lines that count [s].
    """

    def __init__(self, what: str, write: Callable[[str], object] | None = None, every_s: float = _EVERY_S) -> None:
        self._what, self._every_s = what, every_s
        self._write = write or write_line
        self._has_bar = write is None and sys.stderr.isatty()
        self._bar: Progress | None = None
        self._began = self._opened = self._said = time.monotonic()
        self._first: int | None = None

    def __enter__(self) -> Self:
        if self._has_bar:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def text(self, line: str) -> None:
        """Print a line above the bar."""
        if self._bar:
            self._bar.console.print(line, markup=False, highlight=False)
        else:
            self._write(line)

    def done(self, count: int, total: int) -> None:
        """So many are done."""
        if self._bar:
            if not self._bar.tasks:
                self._bar.add_task(self._what, total=total)
            self._bar.update(self._bar.tasks[0].id, completed=count)
            return
        now = time.monotonic()
        if self._first is None:
            self._first, self._began = count, now
        over = count == total and (self._said > self._opened or now - self._opened >= _SHORT_S)
        if now - self._said >= self._every_s or over:
            self._said = now
            made = count - self._first
            left_s = (now - self._began) / made * (total - count) if made else None
            self._write(f"{count} of {total} {self._what}" + (f", {left_s:.0f} s left" if left_s else ""))
