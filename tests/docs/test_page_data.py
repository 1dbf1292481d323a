"""Every number of the pages' tables, and every marked number of a sentence, is that of the page's file of data."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from .page_commands import ROOT, pages_of_users

sys.path.append(str(ROOT / "docs" / "figures"))
sys.path.append(str(ROOT / "tools"))
from figures_check import pages as pages_with_data
from figures_check import scripts
from page_data import NUMBER, VALUE, data_of, different, sentences_of, tables_of, wrong

TEXTS = pages_of_users()
PAGES = [page for page in TEXTS if tables_of(TEXTS[page])]
SECONDS = 8.0  # what takes longer is compared by `make figures-check`
QUICK = [
    script
    for script, tables in scripts().items()
    if all(one.get("seconds", SECONDS) < SECONDS for named in tables.values() for one in named.values())
]


def test_every_page_with_figures_has_a_file_and_every_file_a_page():
    assert pages_with_data() == sorted(PAGES)
    assert len(PAGES) > 60


@pytest.mark.parametrize("page", PAGES)
def test_every_number_of_a_page_is_that_of_its_file(page):
    assert wrong(page, TEXTS[page]) == []


def test_every_table_says_where_its_numbers_are_from():
    for page in PAGES:
        for name, table in data_of(page)["tables"].items():
            assert re.fullmatch(r"(run|page) of \d{4}-\d\d-\d\d", table["from"]), f"{page}, {name}"
            assert not table.get("by") or (ROOT / table["by"].split()[0]).is_file()
            # of timings the machine is known, for only ratios come again on another
            assert not table.get("timings") or table["machine"]


def planted(page, text):
    """Copies of a page with one digit other than it is: in each row, marked value, and sentence that is held."""
    lines = text.splitlines(keepends=True)
    held = {line for rows in tables_of(text).values() for row in rows for line in [as_line(row)]}
    places = [i for i, line in enumerate(lines) if line.strip("\n") in held and re.search(r"\d", line)]
    for i in places:
        yield "".join([*lines[:i], changed(lines[i]), *lines[i + 1 :]])
    for mark in VALUE.finditer(text):
        before = text[: mark.start()]
        yield changed(before) + text[mark.start() :]
    if sentences_of(page, text):
        words = re.sub(
            r"```.*?```|\]\([^)]*\)|<!--.*?-->|^[#|].*?$", lambda one: "~" * len(one[0]), text, flags=re.S | re.M
        )
        for number in NUMBER.finditer(words):
            yield changed(text[: number.end()]) + text[number.end() :]


def as_line(row):
    return row if isinstance(row, str) else f"| {' | '.join(row)} |"


def changed(text):
    """The same with another last digit: 225 for 226, as a hand would have it."""
    at = [match.start() for match in re.finditer(r"\d", text)][-1]
    return f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_wrong_number_in_any_row_of_a_page_is_noticed(page):
    copies = list(planted(page, TEXTS[page]))
    assert copies
    assert [copy for copy in copies if not wrong(page, copy)] == []


def test_a_wrong_number_in_a_file_is_noticed_where_another_page_quotes_it(tmp_path):
    """README quotes the table of the cut: the table's page and file changed together leave README wrong."""
    for path in (ROOT / "docs" / "figures" / "data").rglob("*.json"):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    copy = tmp_path / "docs/figures/data/benchmarks/cut.json"
    changed = re.sub(r'("over that at 0".*)"[0-9.]+"\]', r'\1"9.9"]', copy.read_text(encoding="utf-8"))
    copy.write_text(changed, encoding="utf-8")
    assert wrong("README.md", TEXTS["README.md"]) == []
    assert wrong("README.md", TEXTS["README.md"], tmp_path)


@pytest.mark.parametrize(
    ("now", "same"),
    [
        ("2.00; 10", True),
        ("2.01; 10", True),  # the last digit
        ("2.05; 10", False),
        ("2.00; 12", False),
        ("2.00, 10", False),
        ("-2.00; 10", False),
        ("2.00; 10; 3", False),
    ],
)
def test_numbers_made_again_are_the_same_to_their_tolerance_or_last_digit(now, same):
    then = {"tolerance": 0.01, "rows": [["a"], ["2.00; 10"]]}
    assert (not different({"rows": [["a"], [now]]}, then)) == same
    assert different({"rows": [["a"]]}, then)


def test_timings_of_another_machine_are_compared_as_ratios():
    then = {"timings": ["p50"], "tolerance": 0.1, "rows": [["by", "p50"], "|---|---|", ["a", "10"], ["b", "13"]]}
    for ours, theirs, same in (("30", "39", True), ("30", "60", False)):
        now = {"rows": [*then["rows"][:2], ["a", ours], ["b", theirs]]}
        assert (not different(now, then)) == same


@pytest.mark.slow
@pytest.mark.parametrize("script", QUICK)
def test_figures_that_take_under_eight_seconds_come_again(script):
    command = [sys.executable, ROOT / "tools" / "figures_check.py", script.split()[0]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
