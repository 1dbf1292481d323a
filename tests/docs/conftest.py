"""The pages of the documentation, and its scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the tree."""
    return ROOT


@pytest.fixture(scope="session")
def pages() -> dict[str, str]:
    """Text of the README and of every page that users read, by its path; decisions tell of their time."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    paths = [path for path in found if "decisions" not in path.parts]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
