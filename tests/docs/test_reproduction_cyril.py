"""The page of Cyril's captures says what its script computes."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("reproducing")]


@pytest.mark.soak
def test_captures_come_to_what_their_page_says(capsys):
    from cyril import main

    assert main(["--check"]) == 0, capsys.readouterr().out
