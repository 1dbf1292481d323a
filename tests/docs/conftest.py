"""The pages of the documentation, and its scripts."""

from __future__ import annotations

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
