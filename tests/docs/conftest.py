"""The pages of the documentation, and its scripts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .page_commands import ROOT, pages_of_users


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the tree."""
    return ROOT


@pytest.fixture(scope="session")
def pages() -> dict[str, str]:
    """Text of the README and of every page that users read, by its path; decisions tell of their time."""
    return pages_of_users()


@pytest.fixture
def reproducing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Scripts of docs/reproduce can be imported, with each other and with those of docs/figures."""
    folders = [ROOT / "docs" / name for name in ("reproduce", "figures")]
    for folder in folders:
        monkeypatch.syspath_prepend(folder)
    yield
    for folder in folders:
        for path in folder.glob("*.py"):
            sys.modules.pop(path.stem, None)
