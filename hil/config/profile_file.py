"""Files over time that a config names: a profile of two columns, time [s] and speed [m/s], and a stimulus' table."""

from __future__ import annotations

import csv
import math
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from hil.config.problems import Problem
from hil.config.stimulus_table import MOST_CHARACTERS, read_table
from hil.config.text_file import read_text

KEY, TABLE_KEY = "follow.profile", "stimulus.table"
_MOST_BYTES = 1_000_000


def profile_path(raw: Any) -> str | None:
    """The path of the profile in a raw config; None: it names none."""
    section = raw.get("follow") if isinstance(raw, dict) else None
    path = section.get("profile") if isinstance(section, dict) else None
    return path if isinstance(path, str) else None


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
    if not path or "\0" in path:
        return [Problem(KEY, repr(path), allowed)]
    file = Path(str(folder / path))
    try:
        rows = [row for row in csv.reader(read_text(file, _MOST_BYTES).splitlines()) if row]
        raw["follow"]["profile"] = [_point(row) for row in rows[_headers(rows) :]]
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return [Problem(KEY, f"{path}: {reason}", f"{allowed}; looked for {file}")]
    return []


def table_path(raw: Any) -> str | None:
    """The path of a stimulus' table in a raw config; None: it names none. A text of several lines is a table."""
    section = raw.get("stimulus") if isinstance(raw, dict) else None
    path = section.get("table") if isinstance(section, dict) else None
    return path if isinstance(path, str) and "\n" not in path else None


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
    if not path or "\0" in path:
        return [Problem(TABLE_KEY, repr(path), allowed)]
    file = Path(str(folder / path))
    try:
        text = read_text(file, MOST_CHARACTERS).removeprefix("\ufeff")  # as some spreadsheets write it
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return [Problem(TABLE_KEY, f"{path}: {reason}", f"{allowed}; looked for {file}")]
    try:
        read_table(text)
    except (ValueError, csv.Error) as error:
        found, _, needed = str(error).partition("; ")
        return [Problem(TABLE_KEY, f"{path}: {found}", needed or allowed)]
    raw["stimulus"]["table"] = "\n".join([*text.splitlines(), ""])
    return []


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
