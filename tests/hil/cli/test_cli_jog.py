"""`hil jog` and `hil valve` for the user: nothing moves without a confirmation or outside the limits."""

import io
import json
from pathlib import Path

import pytest

from hil.cli import run

QUICK = ("--set", "telemetry.endpoint=''")
JOG = ("jog", "sim_impact", "--wheel", "all", "--speed", "0.05", "--for", "0.3", *QUICK)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def typed(monkeypatch, text):
    monkeypatch.setattr("sys.stdin", Terminal(text))


def test_without_a_terminal_it_has_to_be_told_yes(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert run(JOG) == 2
    said = capsys.readouterr().err
    assert "this program is not an emergency stop" in said
    assert "hard-wired one for motor power and valve supply" in said
    assert "--yes" in said
    assert not list(Path().iterdir())


def test_who_does_not_confirm_moves_nothing(monkeypatch, capsys):
    typed(monkeypatch, "n\n")
    assert run(JOG) == 3
    assert "nothing has moved" in capsys.readouterr().err
    assert not list(Path().iterdir())


@pytest.mark.slow
def test_who_confirms_is_told_what_moved_and_where_it_is_recorded(monkeypatch, capsys):
    typed(monkeypatch, "y\n")
    assert run(JOG) == 0
    printed = capsys.readouterr()
    assert "front_left at 0.05 m/s" in printed.err
    assert "rear right" in printed.out
    (folder,) = Path("runs").iterdir()
    assert folder.name.endswith("_sim_impact_jog")
    assert {path.name for path in folder.iterdir()} == {"trial.h5", "summary.json"}
    assert printed.out.splitlines()[-1] == f"run folder: {folder}"


@pytest.mark.slow
def test_json_prints_the_summary_and_nothing_else(capsys):
    assert (
        run(["valve", "sim_impact", "left", "retract", "--for", "0.3", "--yes", "--json", "--out", "run", *QUICK]) == 0
    )
    summary = json.loads(capsys.readouterr().out)
    assert summary == json.loads(Path("run/summary.json").read_text())
    assert summary["motion"] == "valve left retract for 0.3 s"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["jog", "sim_impact", "--wheel", "all", "--speed", "0.5", "--for", "1"], "jog.speed_mps: found 0.5 m/s"),
        (["jog", "sim_impact", "--wheel", "all", "--speed", "0.02", "--for", "11"], "jog.seconds: found 11.0"),
        (["jog", "sim_impact", "--speed", "0.02", "--for", "1"], "jog.wheels: found none"),
        (["jog", "sim_impact", "--wheel", "all", "--for", "1"], "give --speed with --wheel, or --angle with --joint"),
        (["jog", "sim_impact", "--joint", "mast", "--for", "1"], "--joint needs --angle"),
        (["jog", "sim_impact", "--joint", "mast", "--angle", "5", "--for", "1"], "no joint is driven"),
        (["valve", "sim_impact", "left", "sideways", "--for", "1"], "1 problem\n  jog.valve: found left_sideways"),
    ],
)
def test_what_is_over_its_limit_is_refused_before_anybody_is_asked(arguments, said, capsys):
    assert run([*arguments, "--yes"]) == 2
    assert said in capsys.readouterr().err
    assert not list(Path().iterdir())


@pytest.mark.slow
def test_report_prints_what_moved_again_and_draws_nothing(capsys):
    assert run([*JOG, "--yes", "--out", "run"]) == 0
    table = capsys.readouterr().out.partition("run folder:")[0]
    assert run(["report", "run"]) == 0
    assert capsys.readouterr().out == table
    assert {path.name for path in Path("run").iterdir()} == {"trial.h5", "summary.json"}
