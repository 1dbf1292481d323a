"""Files over time that a config names: a profile of two columns, time [s] and speed [m/s], and a stimulus' table."""

from __future__ import annotations

import csv
import math

from hil.config.named_file import TextFile, WrongContentError, lines_of
from hil.config.stimulus_table import MOST_CHARACTERS, read_table


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
