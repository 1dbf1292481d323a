"""Files over time that a config names: a profile of time [s] and speed [m/s], and the table of a stimulus."""

from __future__ import annotations

import csv
import math
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from hil.config.files import TextFile, WrongContentError, lines_of
from hil.config.text_io import number_in, numbered_rows

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
