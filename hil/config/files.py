"""Files that a config names, JSON of runs and campaigns, and tables over time."""

from __future__ import annotations

import csv
import errno
import json
import math
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources.abc import Traversable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol

from typing_extensions import override

from hil.config.problems import Problem
from hil.config.text_io import number_in, numbered_rows


class OpenedFiles:
    """The content that files had when they were first read: what a rig was opened with stays, whatever is written."""

    def __init__(self) -> None:
        self._contents: dict[Path, bytes] = {}

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Until its end, this thread reads each file once, and then has it from here."""
        before = _opened.set(self._contents)
        try:
            yield
        finally:
            _opened.reset(before)

    def changed(self) -> list[Path]:
        """The files in which something else stands now, or which cannot be read."""
        return [path for path, content in self._contents.items() if _now(path, len(content)) != content]


_opened: ContextVar[dict[Path, bytes]] = ContextVar("opened files")


def read_text(path: Path, most_bytes: int) -> str:
    """The text of a file.

    Raises:
        OSError: it cannot be opened or read.
        ValueError: it is no regular file, is too large, or is not text in UTF-8; the message says which.
    """
    try:
        return read_bytes(path, most_bytes).decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("not text in UTF-8") from None


def read_bytes(path: Path, most_bytes: int) -> bytes:
    """The content of a file; arguments and errors as of `read_text`, any content."""
    opened, place = _opened.get(None), path.absolute()
    if opened is not None and place in opened:
        return opened[place]
    content = _read(path, most_bytes)
    if opened is not None:
        opened[place] = content
    return content


def is_file(path: Path) -> bool:
    """Whether there is such a file, or was when it was opened. Raises OSError and ValueError as `Path.is_file`."""
    return path.absolute() in _opened.get({}) or path.is_file()


def _now(path: Path, most_bytes: int) -> bytes | None:
    try:
        return _read(path, most_bytes)
    except (OSError, ValueError):
        return None


def _read(path: Path, most_bytes: int) -> bytes:
    # without O_NONBLOCK, opening a pipe that nobody writes to waits for ever
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("no regular file, but a folder, device, pipe or socket")
        if status.st_size > most_bytes:
            raise ValueError(f"{status.st_size} bytes, allowed are {most_bytes}")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(most_bytes)
    finally:
        os.close(descriptor)


# What a program writes to directly, whatever is connected there.
_STREAMS = ("/dev", "/dev/fd")


@contextmanager
def replacing(path: Path, *, new: bool = False) -> Iterator[Path]:
    """A name next to a file or folder, with the same ending, to write it under; it takes its place once it is good.

    An exception leaves what was there before as it was. Nobody else has the name: what another program writes at the
    same time, or left when it was killed, is not touched and is not in the way.

    Raises:
        FileExistsError: with `new`, something is there by then.
        OSError: it cannot be moved there.
    """
    unfinished = path.with_name(f"{path.stem}.{secrets.token_hex(4)}.unfinished{path.suffix}")
    try:
        yield unfinished
        if unfinished.exists():  # an experiment may find that there is nothing to draw
            if new and os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
            unfinished.replace(path)
    finally:
        if unfinished.is_dir():
            shutil.rmtree(unfinished)
        unfinished.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text file that a user may have named; after an error its former content is there.

    A link of the user stays, and the file that it leads to is replaced; that has the rights of the former one. A
    terminal or pipe is written to. Raises OSError: it cannot be written.
    """
    if str(path.parent) in _STREAMS or (path.exists() and not path.is_file()):
        path.write_text(text, encoding="utf-8", newline="")
        return
    place = path.resolve()
    with replacing(place) as unfinished:
        with unfinished.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            shutil.copymode(place, unfinished)


class NamedFile(Protocol):
    """A file that a config may name."""

    def path(self, raw: Any) -> str | None:
        """Its path in a raw config; None: the config names none, or has its content already."""

    def put(self, raw: dict[str, Any], folder: Traversable) -> list[Problem]:
        """Replace the path, if the raw config has one, by what is in the file.

        Args:
            raw: the config as read; changed in place. What is no path is left to the check of the config.
            folder: of the config.

        Returns:
            The problems of the file; the key of one that has any is left out.
        """


class WrongContentError(ValueError):
    """What is in a file is wrong: what was found, and what is allowed."""

    def __init__(self, *problems: tuple[str, str]) -> None:
        super().__init__("; ".join(found for found, _ in problems))
        self.problems = problems


@dataclass(frozen=True)
class TextFile(NamedFile):
    """A `NamedFile` of text."""

    key: str  #: of its path in the config, a dot between its parts
    most_bytes: int  #: largest size of the file
    allowed: str  #: what the file should be, in words
    content: Callable[[str], Any]  #: of its text, what takes the place of the path; may raise ValueError or csv.Error
    several_lines: bool = False  #: a text of several lines is the content itself

    @override
    def path(self, raw: Any) -> str | None:
        path = named_path(raw, self.key)
        return None if path is None or (self.several_lines and "\n" in path) else path

    @override
    def put(self, raw: dict[str, Any], folder: Traversable) -> list[Problem]:
        path = self.path(raw)
        if path is None:
            return []
        *sections, last = self.key.split(".")
        section: dict[str, Any] = raw
        for name in sections:
            section = section[name]
        del section[last]
        if not path or "\0" in path:
            return [Problem(self.key, repr(path), self.allowed)]
        file = Path(str(folder / path))
        try:
            section[last] = self.content(read_text(file, self.most_bytes).removeprefix("\ufeff"))  # as spreadsheets do
        except WrongContentError as error:
            return [Problem(self.key, f"{path}: {found}", needed or self.allowed) for found, needed in error.problems]
        except (OSError, ValueError, csv.Error) as error:
            reason = getattr(error, "strerror", None) or str(error) or "cannot be read"
            return [Problem(self.key, f"{path}: {reason}", f"{self.allowed}; looked for {file}")]
        return []


def named_path(raw: Any, key: str) -> str | None:
    """The text that a raw config has for a key, a dot between its parts; None: none."""
    for name in key.split("."):
        raw = raw.get(name) if isinstance(raw, dict) else None
    return raw if isinstance(raw, str) else None


def lines_of(text: str) -> str:
    """A text with one kind of line end, one at its end, too."""
    return "\n".join([*text.splitlines(), ""])


DEEPEST = 32
# Each value of a list or section follows one of these, so that counting them bounds the memory before it is used.
_BEFORE_VALUES = "[{,"
# A file of that many bytes has at most this many values: 30 bytes each, as a campaign's file has.
_BYTES_A_VALUE = 30
_LEAST_VALUES = 10_000


def read_json(path: Path, most_bytes: int) -> Any:
    """The content of a JSON file.

    Raises:
        OSError: it cannot be opened or read.
        ValueError: it is too large, nested too deep, or not JSON; the message says which.
    """
    return parse_json(read_text(path, most_bytes), most_bytes)


def parse_json(text: str, most_bytes: int) -> Any:
    """The value of JSON text, limited as a file of `most_bytes` is. Raises ValueError."""
    most_values = max(_LEAST_VALUES, most_bytes // _BYTES_A_VALUE)
    if (values := sum(map(text.count, _BEFORE_VALUES))) > most_values:
        raise ValueError(f"up to {values} values, allowed are {most_values}")
    try:
        value = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST}") from None
    _check_depth(value)
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON: a number is finite, or null")


def _check_depth(value: Any) -> None:
    """Functions that walk through a value call themselves at each level. Raises ValueError."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [inner for outer in level if isinstance(outer, dict | list)
                 for inner in (outer.values() if isinstance(outer, dict) else outer)]  # fmt: skip
        if not level:
            return
    raise ValueError(f"nested deeper than {DEEPEST}")


TIME, ALL_WHEELS = "time_s", "speed_mps"
LONGEST_S = 3600.0
# With the rest of a config it stays below the largest YAML file that is read.
MOST_CHARACTERS = 150_000


class StimulusTable(NamedTuple):
    """A table over time."""

    times_s: tuple[float, ...]  #: (rows,) strictly increasing, from 0 [s]
    columns: dict[str, tuple[float, ...]]  #: the others by name, (rows,) each


@lru_cache(8)
def read_table(text: str) -> StimulusTable:
    r"""Read the text of a CSV file: a header with `time_s` and other names, then rows of numbers.

    Args:
        text: its lines; empty ones, and those that begin with #, do not count.

    Raises:
        ValueError: it is no such table; the message names the row, as a text editor counts it.

    Example:
        >>> read_table("time_s,speed_mps\n0,0\n1,0.05\n2,0").columns["speed_mps"]
        (0.0, 0.05, 0.0)
        >>> read_table("time_s,speed_mps\n0,0\n1,\n2,0")
        Traceback (most recent call last):
            ...
        ValueError: row 3: speed_mps is empty; a number in each column
    """
    lines = numbered_rows(text)
    if not lines:
        raise ValueError("no rows")
    names = lines[0][1]
    if TIME not in names or len(names) < 2 or len(set(names)) < len(names) or "" in names:
        found = ",".join(names)[:80]
        raise ValueError(f"the header is {found!r}; it is needed, with {TIME} and one column or more, each named once")
    rows = [_numbers(number, cells, names) for number, cells in lines[1:]]
    if len(rows) < 2:
        raise ValueError(f"{len(rows)} rows of numbers; two or more")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    times = columns.pop(TIME)
    if times[0] != 0.0:
        raise ValueError(f"the first time is {times[0]:g} s; 0")
    for (number, _), (one, later) in zip(lines[2:], pairwise(times), strict=True):
        if later <= one:
            raise ValueError(f"row {number}: {TIME} {later:g} follows {one:g}; each later than the one before")
    if times[-1] > LONGEST_S:
        raise ValueError(f"it lasts {times[-1]:g} s; at most {LONGEST_S:g} s")
    return StimulusTable(times, columns)


def _numbers(number: int, cells: list[str], names: list[str]) -> list[float]:
    if len(cells) != len(names):
        raise ValueError(f"row {number} has {len(cells)} columns; {len(names)}, as the header")
    values = []
    for name, cell in zip(names, cells, strict=True):
        if not cell:
            raise ValueError(f"row {number}: {name} is empty; a number in each column")
        value = number_in(cell)
        if math.isnan(value):
            raise ValueError(f"row {number}: {name} is {cell[:40]!r}; a finite number")
        values.append(value)
    return values


def _points(text: str) -> list[list[float]]:
    rows = [row for row in csv.reader(text.splitlines()) if row]
    return [_point(row) for row in rows[_headers(rows) :]]


def _table(text: str) -> str:
    """The text itself: what is in it is checked once more with the config."""
    try:
        read_table(text)
    except (ValueError, csv.Error) as error:
        found, _, needed = str(error).partition("; ")
        raise WrongContentError((found, needed)) from None
    return lines_of(text)


def _headers(rows: list[list[str]]) -> int:
    """1 if the first row has a name where a number could be."""
    try:
        float(rows[0][0])
    except (ValueError, IndexError):
        return 1
    return 0


def _point(row: list[str]) -> list[float]:
    if len(row) != 2:
        raise ValueError(f"a row of {len(row)} columns: {','.join(row)[:60]}")
    point = [float(text) for text in row]
    if not all(map(math.isfinite, point)):
        raise ValueError(f"a number that is not finite: {','.join(row)[:60]}")
    return point


PROFILE = TextFile("follow.profile", 1_000_000, "a readable CSV file of two columns, time [s] and speed [m/s]", _points)
TABLE = TextFile(
    "stimulus.table",
    MOST_CHARACTERS,
    "a readable CSV file with a header of time_s and other columns",
    _table,
    several_lines=True,
)
