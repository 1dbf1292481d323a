"""Each claim of docs/reference/claims.md names tests, scripts and commands that are there."""

from __future__ import annotations

import ast
import re

import pytest

# A line of the list: its words, if it has any, and what shows it, on the same line or on those below.
ROW = re.compile(r"^- (?:(.+?):\s+)?((?:`[^`]+`\s*)+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def claims(root):
    text = (root / "docs" / "reference" / "claims.md").read_text(encoding="utf-8")
    rows = [row for row in re.split(r"^(?=- |## )", text, flags=re.MULTILINE) if row.startswith("- ")]
    found = [ROW.fullmatch(" ".join(row.split())) for row in rows]
    assert [row for row, match in zip(rows, found, strict=True) if match is None] == []
    return {match[1] or match[2]: re.findall(r"`([^`]+)`", match[2]) for match in found if match}


def absent(root, shown):
    """Why what shows a claim is not there; None: it is. Commands `hil ...` are those of test_commands.py."""
    words = shown.split()
    if words[0] == "hil":
        return None
    if words[0] == "make":
        targets = re.findall(r"^([\w-]+):.*##", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        return None if words[1] in targets else f"no target {words[1]}"
    path, _, test = (words[1] if words[0] == "python" else shown).partition("::")
    if not (root / path).is_file():
        return f"no file {path}"
    tree = ast.parse((root / path).read_text(encoding="utf-8"))
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    if words[0] != "python" and not any(name.startswith("test_") for name in names):
        return f"{path} has no test"
    return None if not test or test in names else f"{path} has no {test}"


@pytest.mark.slow
def test_every_claim_names_what_shows_it_and_that_is_there(root, claims):
    assert len(claims) > 350
    assert [claim for claim, shown in claims.items() if not shown] == []
    wrong = [f"{claim}: {why}" for claim, shown in claims.items() for one in shown if (why := absent(root, one))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "shown",
    [
        "tests/docs/test_claims.py::test_that_is_not_there",
        "tests/docs/test_nothing.py",
        "tests/docs/conftest.py",
        "python docs/figures/nothing.py",
        "make nothing",
    ],
)
def test_what_is_not_there_is_noticed(root, shown):
    assert absent(root, shown)
