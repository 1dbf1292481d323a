"""A page that a script writes, or compares with what it would write."""

from __future__ import annotations

from pathlib import Path


def write_or_compare(page: Path, text: str, *, check: bool) -> int:
    """Write a page; with `check` print the lines that it lacks instead, and write nothing.

    Returns:
        1 if it lacks any, else 0: the exit status.
    """
    if not check:
        page.write_text(text, encoding="utf-8")
        return 0
    before = page.read_text(encoding="utf-8").splitlines()
    wrong = [line for line in text.splitlines() if line not in before]
    print("\n".join(wrong))
    return 1 if wrong else 0
