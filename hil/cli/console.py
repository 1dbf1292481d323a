"""Prints tables: keys and numbers are never cut, in a narrow or wide terminal or in a pipe."""

from __future__ import annotations

import os
import sys

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hil.cli.exits import printable

# Width without a terminal and without COLUMNS: a table is then as wide as its content.
_WIDE = 10_000


def show(table: Table, widest: int = _WIDE) -> None:
    """Print a table on stdout; if it is wider than the terminal, cells are wrapped, between words where it has room.

    Args:
        table: to print.
        widest: its width where there is no terminal.
    """
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
