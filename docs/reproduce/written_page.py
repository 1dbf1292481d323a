"""A page that a script writes, or compares with what it would write."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path


def write_or_compare(page: Path, text: str, *, check: bool) -> int:
    """Write a page; with `check` print the lines that differ instead, and write nothing.

    Returns:
        1 if any differ, else 0: the exit status.
    """
    if not check:
        page.write_text(text, encoding="utf-8")
        return 0
    before = page.read_text(encoding="utf-8").splitlines()
    different = list(unified_diff(before, text.splitlines(), str(page), "now", n=0, lineterm=""))
    print("\n".join(different))
    return 1 if different else 0
