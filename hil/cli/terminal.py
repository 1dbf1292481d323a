"""Standard output and error of `hil`, where the reader may leave or the disk may be full; tables and errors."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from shutil import get_terminal_size
from textwrap import fill
from types import FrameType
from typing import Any, TextIO

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
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


def write_folded(text: str) -> None:
    """Print sentences on stdout, likewise."""
    print(wrapped(printable(text), sys.stdout))


def wrapped(text: str, stream: TextIO | None = None) -> str:
    """A text for a stream, stderr by default.

    Its lines are as wide as the terminal and continued with an indent; unchanged without one.
    """
    if not (stream or sys.stderr).isatty():
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
# A longer word may be broken, behind one of these signs; a key, a path and the name of a run stay readable.
_LONG = 16
_PIECE = re.compile(r"[^./_@:,=-]*[./_@:,=-]+|[^./_@:,=-]+")
# Rows whose lines decide the widths of the columns.
_ROWS = 200


def show(table: Table, widest: int = _WIDE) -> None:
    """Print a table on stdout, at most as wide as the terminal.

    Cells are wrapped between words, and long words behind a sign, but in a column that is `no_wrap`. Where the columns
    have no room for that, each row is printed as a list: its first cell, and under it every other one with the
    heading of its column.
    """
    console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else widest, highlight=False)
    for column in table.columns:
        column.overflow = "fold"
        if isinstance(column.header, str):
            column.header = Text(column.header)  # a unit, [deg], is no markup
        column._cells = [console.render_str(cell) if isinstance(cell, str) else cell for cell in column.cells]
        for cell in (column.header, *column.cells):
            if isinstance(cell, Text):
                cell.plain = printable(cell.plain)
    if _fit(console, table):
        console.print(table)
    else:
        _list_rows(console, table)


def _fit(console: Console, table: Table) -> bool:
    """Give the columns the widths with which the table has the fewest lines; False: there is no room for its words.

    Rich alone takes the same share from all, and breaks the keys of a config in a column of few words.
    """
    columns = [[str(cell) for cell in (column.header, *column.cells)] for column in table.columns]
    words = [" ".join(texts).split() or ["-"] for texts in columns]
    widths = [max(map(len, each)) for each in words]
    wanted = [max(cell_len(line) for text in texts for line in (text or " ").split("\n")) for texts in columns]
    available = console.width - (1 + table.padding[1] + table.padding[3]) * len(widths) - 1
    if sum(wanted) <= available:
        return True
    if sum(widths) > available:
        for place, column in enumerate(table.columns):
            widths[place] = widths[place] if column.no_wrap else max(map(_least, words[place]))
    spare = available - sum(widths)
    if spare < 0:
        return False
    while spare:
        gain, place, more = max(
            ((_cost(texts, width) - _cost(texts, width + more)) / more, place, more)
            for place, (texts, width) in enumerate(zip(columns, widths, strict=True))
            for more in range(1, spare + 1)
        )
        if gain <= 0.0:
            break
        widths[place] += more
        spare -= more
    for column, width in zip(table.columns, widths, strict=True):
        column.width = width
        column._cells = [_broken(cell, width) if isinstance(cell, Text) else cell for cell in column.cells]
    return True


def _least(word: str) -> int:
    """Least width of a column with this word."""
    return min(len(word), max(_LONG, *map(len, _PIECE.findall(word))))


def _cost(texts: Sequence[str], width: int) -> int:
    """Grows with the lines of a column's cells, more with those of the tallest."""
    total = 0
    for text in texts[:_ROWS]:
        lines = 0
        for line in text.split("\n"):
            lines, at = lines + 1, 0
            for size in map(len, line.split()):
                if at and at + 1 + size > width:
                    lines, at = lines + 1, 0
                lines, at = lines + (size - 1) // width, at + bool(at) + size if size <= width else size % width
        total += lines * lines
    return total


def _broken(cell: Text, width: int) -> Text:
    """A cell with a space behind a sign of each word that is longer than its column."""
    places = []
    for word in re.finditer(r"\S+", cell.plain):
        if len(word[0]) > width:
            line = 0
            for piece in _PIECE.finditer(word[0]):
                if piece.end() - line > width:
                    places.append(word.start() + piece.start())
                    line = piece.start()
    return Text(" ").join(cell.divide(places)) if places else cell


def _list_rows(console: Console, table: Table) -> None:
    if table.title:
        console.print(Text(str(table.title), "italic"))
    heads = [str(column.header) for column in table.columns]
    for first, *others in zip(*(column.cells for column in table.columns), strict=True):
        console.print(_broken(Text(str(first), "bold"), console.width))
        for head, cell in zip(heads[1:], others, strict=True):
            if str(cell) not in ("", "-"):
                line = Text.assemble(f"{head}: " if head else "", cell)
                console.print(Padding(_broken(line, console.width - 2), (0, 0, 0, 2), expand=False))


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
