"""The page of one's own rover has what its script computes: here with one state of each rover."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "reproduce"


@pytest.mark.slow
def test_the_page_of_ones_own_rover_has_what_its_script_computes(pages, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import rover_files

    monkeypatch.setattr(rover_files, "SEEDS", (7,))
    try:
        made = rover_files.page()
    finally:
        for name in ("rover_files", "other_engines", "written_page"):
            sys.modules.pop(name, None)
    assert made.replace("1 random states", "3 random states") == pages["docs/reproduce/rover_files.md"]
