"""A page that a script writes, or compares with what it would write."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from difflib import unified_diff
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "figures"))

from page_data import ROOT, write


def write_page(page: Path | str, text: str, out: Path = ROOT) -> None:
    """Write a page and its file of data, into this tree or another."""
    write((ROOT / page).relative_to(ROOT).as_posix(), text, out)


def write_or_compare(page: Path, text: str, *, check: bool) -> int:
    """Write a page and its file of data; with `check` print the lines that differ instead, and write nothing.

    Returns:
        1 if any differ, else 0: the exit status.
    """
    if not check:
        write_page(page, text)
        return 0
    before = page.read_text(encoding="utf-8").splitlines()
    different = list(unified_diff(before, text.splitlines(), str(page), "now", n=0, lineterm=""))
    print("\n".join(different))
    return 1 if different else 0


def page_script(description: str | None, page: Path, make: Callable[[], str], arguments: Sequence[str] | None) -> int:
    """What a script does that writes one page: write what `make` gives, or with --check compare it.

    Returns:
        As `write_or_compare`.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if the page differs")
    return write_or_compare(page, make(), check=parser.parse_args(arguments).check)
