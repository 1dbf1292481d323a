"""The page of walking: its numbers are what comes out of its script."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "reproduce"
PAGE = "docs/reproduce/walking.md"


def numbers(line):
    """Cells of a row that are numbers; an interval or a word is none."""
    found = []
    for cell in line.strip("| ").split("|"):
        try:
            found.append(float(cell))
        except ValueError:
            continue
    return found


@pytest.mark.slow
def test_walking_comes_to_what_its_page_says(tmp_path, pages, monkeypatch):
    """One slope in place of seven: its rows of advance and of energy are those of the page."""
    monkeypatch.syspath_prepend(FOLDER)
    from walking import main

    try:
        assert main(["--quick", "--out", str(tmp_path)]) == 0
    finally:
        sys.modules.pop("walking", None)
    rows = [line for line in (tmp_path / PAGE).read_text(encoding="utf-8").splitlines() if line.startswith("| 10 |")]
    assert len(rows) == 2
    title = "### Soft soil, shear displacement 1 mm"
    shipped = [line for line in pages[PAGE].partition(title)[2].splitlines() if line.startswith("| 10 |")][:2]
    for now, then in zip(rows, shipped, strict=True):
        assert numbers(now) == pytest.approx(numbers(then), rel=0.05, abs=0.02)
    assert (tmp_path / "docs" / "images" / "reproduce_walking.png").stat().st_size > 10_000
