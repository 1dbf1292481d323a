"""What `progress` of `hil.run` and `hil.sweep` takes: lines to a terminal, to a notebook, to a function, or nowhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from hil.api.notebook import shown_in_cell

Progress: TypeAlias = bool | Callable[[str], object]


@contextmanager
def lines_to(progress: Progress) -> Iterator[Callable[[str], None]]:
    """Takes what is going on, a line at a time.

    Args:
        progress: False: nothing is said; True: lines on standard error, in a notebook one line that changes; or a
            function that is called with each line.
    """
    if callable(progress):
        yield lambda line: _void(progress(line))
    elif not progress:
        yield lambda _: None
    elif (cell := shown_in_cell({"text/plain": ""}, raw=True)) is not None:
        try:
            yield lambda line: cell.update({"text/plain": line}, raw=True)
        finally:
            cell.update({"text/plain": ""}, raw=True)
    else:
        yield _to_terminal


def _to_terminal(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _void(_: object) -> None:
    """Whatever a function of the caller returns."""
