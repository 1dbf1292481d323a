"""The two simulations of Petersen 2012 (6.3) come to what their page says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "reproduce" / "petersen_terrain.py"
PAGE = "docs/reproduce/uneven-ground.md"


def numbers(line):
    """Of the cell with our numbers."""
    return [float(one) for one in re.findall(r"[-+]?[0-9.]*[0-9]", line.split("|")[2])]


@pytest.mark.slow
def test_both_simulations_come_to_what_the_page_says(tmp_path, pages, capsys):
    made = runpy.run_path(str(SCRIPT), run_name="terrain")
    assert made["main"](["--write", "--out", str(tmp_path)]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    there = pages[PAGE].partition(made["BEGIN"])[2].partition(made["END"])[0].strip().splitlines()[2:]
    assert [row.split("|")[1] for row in rows] == [row.split("|")[1] for row in there]
    for now, then in zip(rows, there, strict=True):
        np.testing.assert_allclose(numbers(now), numbers(then), rtol=0.02, atol=0.011)
    assert (tmp_path / made["PICTURE"]).stat().st_size > 20_000
