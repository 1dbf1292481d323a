"""How tables are printed: every key and number whole, in a narrow terminal, in a wide one, and in a pipe."""

from __future__ import annotations

import os
import sys

from rich.console import Console
from rich.table import Table

# Of what is no terminal and has no COLUMNS: a table there is as wide as what is in it.
_WIDE = 10_000


def show(table: Table) -> None:
    """Print a table on stdout; where it is wider than the terminal, cells go on in the next line, and none is cut."""
    for column in table.columns:
        column.overflow, column.no_wrap = "fold", False
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDE
    Console(width=width).print(table)
