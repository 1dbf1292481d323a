"""At 80 columns every table is readable: whole words, no cut cells; where there is no room, rows become lists."""

from __future__ import annotations

import re
import sys

import pytest
from rich.table import Table

from hil.cli import run
from hil.cli.terminal import show, write_folded

COMMANDS = {
    "help": ("--help",), "help of trial": ("trial", "--help"), "configs": ("configs",), "faults": ("explain",),
    "one fault": ("explain", "32"), "devices": ("devices",), "check": ("check", "sim_impact", "--quick"),
    "energy": ("energy", "sim_impact", "--angles", "30:60:30", "--standing"),
}  # fmt: skip
SLOW = ("check", "energy")


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in COMMANDS]
)
def test_a_command_prints_whole_words_at_80_columns(name, narrow, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMMANDS[name]) == 0
    printed = capsys.readouterr().out
    assert "…" not in printed
    tables = [line for line in printed.splitlines() if line[:1] in "┏┡│└├┃╭╰"]
    assert all(len(line) <= 80 for line in tables)
    for line in tables:  # a word that is cut fills its cell to the rim, and goes on in the next line without a sign
        assert not re.search(r"\w{30,} │", line)


def test_a_row_is_a_list_where_its_words_have_no_room(monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(*(f"heading {number}" for number in range(12)), title="twelve columns")
    table.add_row("hard ground", *(f"{number} newton" for number in range(1, 11)), "-")
    monkeypatch.setenv("COLUMNS", "80")
    show(table)
    assert capsys.readouterr().out.splitlines() == [
        "twelve columns",
        "hard ground",
        *(f"  heading {number}: {number} newton" for number in range(1, 11)),
    ]
    monkeypatch.setenv("COLUMNS", "200")
    show(table)
    assert "┃ heading 11" in capsys.readouterr().out


def test_columns_are_shared_out_so_that_the_table_is_short(monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    table = Table("item", "found", "allowed")
    table.add_row("sensor", "none", "a device that answers as in the config: check its power, its cable, its port")
    table.add_row("predicted force", "71 N", "at most 445 N")
    show(table)
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert len(rows) == 4
    assert any("predicted force" in line and "71 N" in line for line in rows)


def test_a_sentence_on_standard_output_is_broken_between_words(monkeypatch, capsys) -> None:
    sentence = "NI's driver is not installed; install NI-DAQmx, or set devices.daq.server to host:port of a server"
    monkeypatch.setenv("COLUMNS", "40")
    write_folded(sentence)
    assert capsys.readouterr().out == f"{sentence}\n"  # a pipe
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    write_folded(sentence)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(" ".join(lines).split()) == sentence
