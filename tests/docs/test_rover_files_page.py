"""The page of one's own rover has what its script computes: here with one state of each rover."""

from __future__ import annotations

import pytest


@pytest.mark.soak
@pytest.mark.usefixtures("reproducing")
def test_the_page_of_ones_own_rover_has_what_its_script_computes(pages, monkeypatch):
    import rover_files

    monkeypatch.setattr(rover_files, "SEEDS", (7,))
    made = rover_files.page()
    assert made.replace("1 random states", "3 random states") == pages["docs/reproduce/rover_files.md"]
