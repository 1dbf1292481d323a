"""The page of walking: its numbers are what comes out of its script."""

from __future__ import annotations

import re
import runpy
import sys

import pytest

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


def rows_of(page, name):
    """Rows of numbers in a place of the page."""
    place = re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->", page, re.DOTALL)
    return [line for line in place[1].splitlines() if line.startswith("| ") and numbers(line)]


@pytest.mark.soak
def test_walking_comes_to_what_its_page_says(root, pages, tmp_path, monkeypatch):
    """One slope in place of seven, the softest soil of six: these rows are those of the page."""
    monkeypatch.setattr(sys, "path", [*sys.path])  # the script adds a folder
    monkeypatch.setattr(sys, "argv", ["walking.py", "--quick", "--out", str(tmp_path)])
    try:
        runpy.run_path(str(root / "docs" / "reproduce" / "walking.py"), run_name="__main__")
    finally:
        sys.modules.pop("outputs", None)
    made = (tmp_path / PAGE).read_text(encoding="utf-8")
    shipped = pages[PAGE]
    of_soil = shipped.partition("### Soft soil, shear displacement 1 mm")[2]
    before = [line for line in of_soil.splitlines() if line.startswith("| 10 |")][:2]
    softest = rows_of(made, "sinkage")[0]
    before += [line for line in rows_of(shipped, "sinkage") if numbers(line)[:2] == numbers(softest)[:2]]
    now = [*rows_of(made, "slopes"), softest]
    assert len(now) == len(before) == 3
    for row, then in zip(now, before, strict=True):
        assert numbers(row) == pytest.approx(numbers(then), rel=0.05, abs=0.02)
    assert (tmp_path / "docs" / "images" / "reproduce_walking.png").stat().st_size > 10_000


def test_the_posture_of_least_energy_lowers_the_peak_force_by_more_than_its_interval(pages):
    peak = re.search(r"^\| peak force \|.*\| ([\d.]+) \+- ([\d.]+) \|$", pages[PAGE], re.MULTILINE)
    ratio, half = (float(one) for one in peak.groups())
    assert ratio + half < 1.0
