"""Messages of commands: whole words in a terminal, whole lines in a pipe; a config's wrong line is shown."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hil.cli import run
from hil.cli.terminal import complain

LONG = "trial.speed_mps: found 70; allowed: a number 0.005 to 0.2, in metres per second, as in every other key"


def test_a_long_message_is_broken_between_words_in_a_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    complain(LONG)
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(" ".join(lines).split()) == f"hil: {LONG}"


def test_a_long_message_is_one_line_in_a_pipe(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    complain(LONG)
    assert capsys.readouterr().err == f"hil: {LONG}\n"


@pytest.mark.parametrize(
    ("wrong", "line"),
    [("  angle_deg 60", "line 4, 'angle_deg 60'"), ("\tangle_deg: 60", "line 4, 'angle_deg: 60'")],
    ids=["no colon", "tab"],
)
def test_a_line_that_is_no_yaml_is_shown_with_its_number_and_with_what_is(wrong, line, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text(f"name: own\nrig: simulated\ntrial:\n{wrong}\n  speed_mps: 0.05\n")
    assert run(["trial", f"{os.curdir}/own.yaml"]) == 2
    said = capsys.readouterr().err
    assert line in said
    assert "indented by spaces" in said
