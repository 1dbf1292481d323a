"""Standard output and error of `hil`, where the reader may leave or the disk may be full; tables and errors."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from shutil import get_terminal_size
from textwrap import fill
from types import FrameType
from typing import Any, TextIO

import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

FAULT = 1
USAGE = 2
REFUSED = 3


def printable(text: str) -> str:
    """A text whose control characters, which a file may have put there to command the terminal, are escapes."""
    return "".join(one if one.isprintable() or one == "\n" else ascii(one)[1:-1] for one in text)


def complain(text: str) -> None:
    """Print the text on stderr without markup; a line that is longer than the terminal is broken between words.

    Control characters are written as escapes.
    """
    print(wrapped(f"hil: {printable(text)}"), file=sys.stderr)


def wrapped(text: str) -> str:
    """A text for stderr, its lines as wide as the terminal and continued with an indent; unchanged without one."""
    if not sys.stderr.isatty():
        return text
    width = get_terminal_size().columns
    return "\n".join(
        line
        if len(line) <= width
        else fill(line, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )


@contextmanager
def usage_errors(*others: type[Exception]) -> Iterator[None]:
    """Wrong configs, wrong folders, missing devices and other errors end the command with exit status 2, no traceback.

    A rig that cannot be armed because of a measurement before the first tick ends it with exit status 3.
    """
    from drivers.interfaces import DeviceError
    from hil.config import ConfigError
    from hil.recording.run_folder import FolderError
    from hil.safety.arming import NotArmedError

    kinds: tuple[type[Exception], ...] = (ConfigError, FolderError, DeviceError, *others)
    try:
        yield
    except kinds as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    except NotArmedError as error:
        complain(str(error))
        raise typer.Exit(REFUSED) from None


# Width without a terminal and without COLUMNS: a table is then as wide as its content.
_WIDE = 10_000


def show(table: Table, widest: int = _WIDE) -> None:
    """Print a table on stdout; if it is wider than the terminal, cells are wrapped, between words where it has room."""
    for column in table.columns:
        column.overflow, column.no_wrap = "fold", False
        if isinstance(column.header, str):
            column.header = Text(column.header)  # a unit, [deg], is no markup
        for cell in (column.header, *column.cells):
            if isinstance(cell, Text):
                cell.plain = printable(cell.plain)
    console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else widest)
    _fit(console, table)
    console.print(table)


def _fit(console: Console, table: Table) -> None:
    """Give every column the width of its longest word, and share out the rest by how much more each could use.

    Rich alone takes the same share from all, and breaks the keys of a config in a column of few words.
    """
    sizes = [
        [Measurement.get(console, console.options, cell) for cell in (column.header, *column.cells)]
        for column in table.columns
    ]
    least = [max(size.minimum for size in column) for column in sizes]
    more = [max(size.maximum for size in column) - words for column, words in zip(sizes, least, strict=True)]
    spare = console.width - 3 * len(least) - 1 - sum(least)  # a space on either side of a cell, and the lines between
    if not 0 <= spare < sum(more):
        return
    for column, words, wanted in zip(table.columns, least, more, strict=True):
        column.width = words + spare * wanted // sum(more)


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


class OutputError(Exception):
    """Standard output cannot be written."""


class _Stream:
    """A text stream whose file may fail.

    A closed pipe is no error: its reader wants no more, and the command goes on to its own exit status. What cannot be
    written for another reason is raised as OutputError; on standard error it is lost, for nobody is left to read it.
    """

    def __init__(self, stream: TextIO, *, raises: bool) -> None:
        self._stream, self._raises = stream, raises

    def write(self, text: str) -> int:
        """Write a text; returns its length."""
        LINE.written()
        try:
            return self._stream.write(text)
        except OSError as error:
            self._fail(error)
            return len(text)

    def flush(self) -> None:
        """Write what is in the buffer."""
        try:
            self._stream.flush()
        except OSError as error:
            self._fail(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _fail(self, error: OSError) -> None:
        # what is still in the buffer goes nowhere, or the interpreter would fail on it once more when it ends
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        if self._raises and not isinstance(error, BrokenPipeError):
            raise OutputError(f"standard output cannot be written: {error.strerror}") from None


def guard_streams() -> None:
    """Make standard output and error such streams; one that is closed takes anything."""
    for name, raises in (("stdout", True), ("stderr", False)):
        stream = getattr(sys, name) or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  until the process ends
        setattr(sys, name, _Stream(stream, raises=raises))
