"""Dead links and names of missing pages fail the build."""

from __future__ import annotations

from pathlib import Path

import pytest

PAGE = Path("page.md")
OTHER = Path("docs/other.md")


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / OTHER).write_text("# Other\n\n## What it `does`, and why\n", encoding="utf-8")
    return tmp_path


def broken(check_tree, tree, text: str) -> list[str]:
    (tree / PAGE).write_text(text, encoding="utf-8")
    return check_tree.broken_links(tree, [PAGE])


@pytest.mark.parametrize(
    "text",
    [
        "[a](docs/other.md)",
        "[a](docs/other.md#what-it-does-and-why)",
        "[a](docs)",
        "[a](https://example.org/not/looked/at)",
        "# Here\n[a](#here)",
        "```\n[a](not/a/link.md)\n```\n",
    ],
)
def test_a_link_that_leads_somewhere_passes(check_tree, tree, text):
    assert broken(check_tree, tree, text) == []


@pytest.mark.parametrize(
    "target", ["docs/gone.md", "docs/other.md#gone", "#gone", "docs/other.md#what-it does-and-why"]
)
def test_a_link_that_leads_nowhere_is_named(check_tree, tree, target):
    (problem,) = broken(check_tree, tree, f"[a]({target})")
    assert target in problem
    assert str(PAGE) in problem


def test_a_page_that_code_names_has_to_be_there(check_tree, tree):
    code = Path("code.py")
    (tree / code).write_text('"""See docs/other.md and docs/gone.md."""', encoding="utf-8")
    (problem,) = check_tree.lost_pages(tree, [code])
    assert "docs/gone.md" in problem
