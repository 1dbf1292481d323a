"""Rows of CSV text: those that people write, with empty lines and comments, and those that are written for them."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from typing import TextIO


def write_rows(file: TextIO, rows: Iterable[Iterable[object]]) -> None:
    """Write rows as CSV, texts by `no_formula`, floats so that they read back to the same bits, nothing for None."""
    csv.writer(file, lineterminator="\n").writerows(
        [no_formula(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    )


def no_formula(text: str) -> str:
    """A text as the cell of a table: with an apostrophe before what a spreadsheet would calculate or run."""
    text = text.replace("\r", "\n")  # csv quotes \n only; after a bare \r a spreadsheet would begin a row
    if len(text) < 2 or text[0] not in "=@+-\t\n":
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def numbered_rows(text: str) -> list[tuple[int, list[str]]]:
    """The rows of CSV text: number of the line, from 1, and its cells without spaces around them.

    Args:
        text: its lines; empty ones, and those that begin with #, do not count.

    Raises:
        csv.Error: a line cannot be read.
    """
    return [
        (number, [cell.strip() for cell in next(csv.reader([line]))])
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]


def number_in(cell: str) -> float:
    """The finite number in a cell; NaN: there is none.

    Example:
        >>> number_in("0.5"), number_in("inf"), number_in("half")
        (0.5, nan, nan)
    """
    try:
        value = float(cell)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan
