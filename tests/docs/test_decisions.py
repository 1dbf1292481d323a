"""Decisions: each is short, is in the index, and is found by the number that code and pages cite."""

from __future__ import annotations

import re

from .page_commands import ROOT

HEADING = re.compile(r"^## .* \((\d{4})\)$", re.MULTILINE)
CITED = re.compile(r"\b[Dd]ecisions? (\d{1,4})\b")


def test_every_decision_that_is_cited_is_a_short_section_of_the_index():
    folder = ROOT / "docs" / "decisions"
    index = (folder / "index.md").read_text(encoding="utf-8")
    sections: dict[str, str] = {}
    for page in sorted(set(folder.glob("*.md")) - {folder / "index.md"}):
        _, *parts = HEADING.split(page.read_text(encoding="utf-8"))
        sections.update(zip(parts[::2], parts[1::2], strict=True))
    assert sorted(re.findall(r"\b\d{4}\b(?!\.)", index)) == sorted(sections)
    assert {number: len(text.split()) for number, text in sections.items() if len(text.split()) > 120} == {}
    files = (path for package in ("hil", "drivers", "models", "docs") for path in (ROOT / package).rglob("*.[pm][yd]"))
    cited = {number.zfill(4) for path in files for number in CITED.findall(path.read_text(encoding="utf-8"))}
    assert cited - set(sections) == set()
