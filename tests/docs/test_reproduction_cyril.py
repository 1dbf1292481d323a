"""The page of Cyril's captures says what its script computes."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "docs" / "reproduce"


def test_captures_come_to_what_their_page_says(monkeypatch, capsys):
    monkeypatch.syspath_prepend(FOLDER)
    from cyril import main

    assert main(["--check"]) == 0, capsys.readouterr().out
