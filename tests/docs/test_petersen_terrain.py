"""The two simulations of Petersen 2012 (6.3) come to what their page says."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "reproduce" / "petersen_terrain.py"
PAGE = "docs/reproduce/uneven-ground.md"


def numbers(line):
    """Of the cell with our numbers."""
    return [float(one) for one in re.findall(r"[-+]?[0-9.]*[0-9]", line.split("|")[2])]


def table(page):
    """Rows of the table."""
    return page.partition("<!-- petersen_terrain -->")[2].partition("<!-- end -->")[0].strip().splitlines()[2:]


@pytest.mark.soak
def test_both_simulations_come_to_what_the_page_says(tmp_path, pages, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))  # the script adds a folder
    monkeypatch.setattr(sys, "argv", [SCRIPT.name, "--out", str(tmp_path)])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    rows, there = (table(text) for text in ((tmp_path / PAGE).read_text(encoding="utf-8"), pages[PAGE]))
    assert len(rows) == 9
    assert [row.split("|")[1] for row in rows] == [row.split("|")[1] for row in there]
    for now, then in zip(rows, there, strict=True):
        np.testing.assert_allclose(numbers(now), numbers(then), rtol=0.02, atol=0.011)
    assert (tmp_path / "docs" / "images" / "reproduce_terrain.png").stat().st_size > 20_000
