"""Scans in many dialects: of each the ground comes out that it has, held against a formula."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hil.config.scan.file import ScanFile
from hil.config.scan.map_text import grid_from
from tests.hil.config.scan.corpus import SCANS, height, prepare_all, written

MOST_M = 5e-4  # what heights in a file that are rounded, and flat triangles, leave out


@pytest.fixture(scope="module", autouse=True)
def prepared() -> None:
    prepare_all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", SCANS)
def test_of_a_scan_in_any_dialect_the_ground_comes_out_that_it_has(tmp_path: Path, kind: str) -> None:
    name = written(kind, tmp_path)
    section = {"file": name, "units": "m", "up": "z", "start_m": [0, 0], "spacing_m": 0.2, **SCANS[kind].settings}
    assert ScanFile().put({"ground": {"scan": section}}, tmp_path) == []
    grid = grid_from(section["map"])
    x, y = (
        low + grid.spacing * np.arange(count) for low, count in zip((grid.x, grid.y), grid.height.shape, strict=True)
    )
    assert grid.height.shape >= (24, 15)
    assert (x[0] <= -1.4, x[-1] >= 3.2, y[0] <= -1.4, y[-1] >= 1.4) == (True,) * 4
    expected = height(x[:, None], y[None]) - height(np.zeros(1), np.zeros(1))
    assert np.abs(grid.height - expected).max() < MOST_M
