"""Prints tables: keys and numbers are never cut, in a narrow or wide terminal or in a pipe."""

from __future__ import annotations

import os
import sys

from rich.console import Console
from rich.table import Table

# Width without a terminal and without COLUMNS: a table is then as wide as its content.
_WIDE = 10_000


def show(table: Table) -> None:
    """Print a table on stdout; if it is wider than the terminal, cells are wrapped, not cut."""
    for column in table.columns:
        column.overflow, column.no_wrap = "fold", False
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDE
    Console(width=width).print(table)
