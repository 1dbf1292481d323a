"""The page of one's own rover has what its script computes: here with one state of each rover."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "reproduce"


@pytest.mark.slow
def test_the_page_of_ones_own_rover_has_what_its_script_computes(pages, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import own_rover

    monkeypatch.setattr(own_rover, "SEEDS", (7,))
    try:
        made = own_rover.page()
    finally:
        for name in ("own_rover", "other_engines", "written_page"):
            sys.modules.pop(name, None)
    assert made.replace("1 random states", "3 random states") == pages["docs/reproduce/own_rover.md"]
