"""What each script of this folder takes and writes: the options --quick and --out, pictures, and tables of pages.

A pair of comments, `<!-- NAME -->` and `<!-- end -->`, marks the place of a table in a page.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from page_data import ROOT, write

Value = TypeVar("Value")


@dataclass(frozen=True)
class Outputs:
    """Where a script writes, and how much it computes.

    Attributes:
        quick: a small part of each table and figure, to see that the script runs.
        root: the tree that is written to; pages that are missing there are taken from this tree.
    """

    quick: bool
    root: Path

    def some(self, values: Sequence[Value], count: int = 2) -> Sequence[Value]:
        """All values; the first `count` of them if quick."""
        return values[:count] if self.quick else values

    def picture(self, figure: Figure, name: str, dpi: int = 110) -> None:
        """Write docs/images/NAME."""
        folder = self.root / "docs" / "images"
        folder.mkdir(parents=True, exist_ok=True)
        FigureCanvasAgg(figure)
        figure.savefig(folder / name, dpi=dpi, metadata={"Software": None})

    def table(self, page: str, name: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table, and write it into its place in a page, as `put`."""
        lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
        lines.insert(1, "|---" * len(head) + "|")
        self.put(page, name, "\n".join(lines))

    def put(self, page: str, name: str, found: str) -> None:
        """Print a text in Markdown, and write it into its place in a page and into the page's file of data.

        Args:
            page: its path from the root of the tree.
            name: in the comment before the place.
            found: the text.

        Raises:
            ValueError: the page has not exactly one such place.
        """
        target = self.root / page
        text = (target if target.exists() else ROOT / page).read_text(encoding="utf-8")
        place = re.compile(rf"(<!-- {name} -->\n)(.*?)(<!-- end -->)", re.DOTALL)
        text, places = place.subn(lambda match: f"{match[1]}{found}\n{match[3]}", text)
        if places != 1:
            raise ValueError(f"{page}: {places} places `<!-- {name} -->` with `<!-- end -->`; allowed: one")
        write(page, text, self.root)
        print(found, flush=True)


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """The options that every script has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="compute a small part only, to see that the script runs")
    parser.add_argument("--out", type=Path, default=ROOT, metavar="FOLDER", help="write there, not into this tree")
    return parser


def parsed(parser: argparse.ArgumentParser) -> tuple[argparse.Namespace, Outputs]:
    """All options as they are given, and what follows from those that every script has."""
    given = parser.parse_args()
    if given.quick and given.out == ROOT:
        parser.error("--quick: give --out FOLDER too: the pages do not take a small part of a table")
    return given, Outputs(given.quick, given.out)


def outputs(description: str | None) -> Outputs:
    """Read the options of a script that has no others."""
    return parsed(parser_of(description))[1]
