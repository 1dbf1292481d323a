"""`hil explain` prints rows of the fault table, by number or name."""

from __future__ import annotations

import json

import pytest

from hil.cli import run
from hil.safety.fault_table import FAULT_TABLE


def explained(capsys, *arguments: str) -> str:
    assert run(["explain", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("row", FAULT_TABLE.values(), ids=lambda row: row.name)
def test_a_row_is_printed_whole_by_number_and_by_name(capsys, row):
    said = explained(capsys, str(row.number))
    assert said == explained(capsys, row.name)
    for text in (f"fault {row.number}: {row.name}", row.watched, row.bound, row.reaction, row.clears, row.operator):
        assert text in said


def test_without_a_fault_the_whole_table_is_printed(capsys):
    said = explained(capsys)
    assert all(row.name in said and row.reaction in said for row in FAULT_TABLE.values())


def test_the_row_as_json_has_all_columns(capsys):
    assert json.loads(explained(capsys, "19", "--json")) == FAULT_TABLE[19].as_json()
    assert [row["number"] for row in json.loads(explained(capsys, "--json"))] == list(FAULT_TABLE)


def test_an_unknown_fault_is_refused_with_all_that_there_are(capsys):
    assert run(["explain", "gremlin"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("hil: fault: found 'gremlin', allowed:")
    assert "17 valve stuck" in said.err
