"""How far many trials or rows have come, and how long the rest will take: a bar in a terminal, else a line at times."""

from __future__ import annotations

import sys
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hil.cli.options import progress

# Without a terminal, the shortest time between two lines [s].
_EVERY_S = 10.0


class ProgressBar:
    """Receives how many of something are done (`hil.campaign.run.ProgressReporter`).

    Args:
        what: is counted.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._bar: Progress | None = None
        self._began = self._said = time.monotonic()
        self._first: int | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
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
            progress(line)

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
        if now - self._said >= _EVERY_S or count == total:
            self._said = now
            made = count - self._first
            left_s = (now - self._began) / made * (total - count) if made else None
            progress(f"{count} of {total} {self._what}" + (f", {left_s:.0f} s left" if left_s else ""))
