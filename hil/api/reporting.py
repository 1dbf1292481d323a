"""What `progress` of `hil.run` and `hil.sweep` takes: lines to a terminal, to a notebook, to a function, or nowhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

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
    elif (show := _in_notebook()) is not None:
        with show as line:
            yield line
    else:
        yield _to_terminal


def _to_terminal(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _void(_: object) -> None:
    """Whatever a function of the caller returns."""


def _in_notebook() -> Any:
    """A line in the output of a notebook's cell, as a context; None: this is no notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return _line_of_a_cell() if shell is not None and hasattr(shell, "kernel") else None


@contextmanager
def _line_of_a_cell() -> Iterator[Callable[[str], None]]:
    """The line that says what is going on now; it is empty at the end."""
    from IPython.display import display

    shown: Any = display({"text/plain": ""}, raw=True, display_id=True)

    def show(line: str) -> None:
        shown.update({"text/plain": line}, raw=True)

    try:
        yield show
    finally:
        show("")
