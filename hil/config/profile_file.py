"""Files over time that a config names: a profile of two columns, time [s] and speed [m/s], and a stimulus' table."""

from __future__ import annotations

import csv
import math
from importlib.resources.abc import Traversable
from typing import Any

from hil.config.named_file import named_path, path_or_text, read_named
from hil.config.problems import Problem
from hil.config.stimulus_table import MOST_CHARACTERS, read_table

KEY, TABLE_KEY = "follow.profile", "stimulus.table"
_MOST_BYTES = 1_000_000


def profile_path(raw: Any) -> str | None:
    """The path of the profile in a raw config; None: it names none."""
    return named_path(raw, KEY)


def put_profile(raw: dict[str, Any], folder: Traversable) -> list[Problem]:
    """Replace the path of a profile, if the raw config has one, by the points in the file.

    Args:
        raw: the config as read; changed in place.
        folder: of the config.

    Returns:
        The problems of the file; a section whose file has any has no profile.
    """
    path = profile_path(raw)
    if path is None:
        return []
    del raw["follow"]["profile"]
    allowed = "a readable CSV file of two columns, time [s] and speed [m/s]"

    def take(text: str) -> list[Problem]:
        rows = [row for row in csv.reader(text.splitlines()) if row]
        raw["follow"]["profile"] = [_point(row) for row in rows[_headers(rows) :]]
        return []

    return read_named(KEY, path, folder, _MOST_BYTES, allowed, take)


def table_path(raw: Any) -> str | None:
    """The path of a stimulus' table in a raw config; None: it names none. A text of several lines is a table."""
    return path_or_text(raw, TABLE_KEY)


def put_table(raw: dict[str, Any], folder: Traversable) -> list[Problem]:
    """Replace the path of a stimulus' table, if the raw config has one, by the text of the file.

    Args:
        raw: the config as read; changed in place.
        folder: of the config.

    Returns:
        The problems of the file; a section whose file has any has no table. What is in it is checked with the config.
    """
    path = table_path(raw)
    if path is None:
        return []
    del raw["stimulus"]["table"]
    allowed = "a readable CSV file with a header of time_s and other columns"

    def take(text: str) -> list[Problem]:
        text = text.removeprefix("\ufeff")  # as some spreadsheets write it
        try:
            read_table(text)
        except (ValueError, csv.Error) as error:
            found, _, needed = str(error).partition("; ")
            return [Problem(TABLE_KEY, f"{path}: {found}", needed or allowed)]
        raw["stimulus"]["table"] = "\n".join([*text.splitlines(), ""])
        return []

    return read_named(TABLE_KEY, path, folder, MOST_CHARACTERS, allowed, take)


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
