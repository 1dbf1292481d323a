"""The runs of a folder are listed with what was written on them, and chosen by condition and tag."""

from __future__ import annotations

import json

import pytest

import hil
from hil.analysis.listed_runs import FilterError, chosen, listed_runs
from hil.cli import run
from hil.recording.run_folder import FolderError, annotate


def run_of(folder, **summary):
    folder.mkdir(parents=True)
    (folder / "trial.h5").touch()
    if summary:
        (folder / "summary.json").write_text(json.dumps({"experiment": "impact", "reasons": [], **summary}))


@pytest.fixture
def folder(tmp_path):
    run_of(tmp_path / "a", accepted=True, angle_deg=70.0, loop={"late": 1}, cut={"ms": 4.5})
    run_of(tmp_path / "b", accepted=False, angle_deg=40.0, reasons=["veer"])
    run_of(tmp_path / "plan" / "trial_0001", accepted=True, angle_deg=40.0)
    run_of(tmp_path / "killed")
    annotate(tmp_path / "a", "wheel slipped", add=["good", "soft sand"])
    annotate(tmp_path / "b", add=["good"])
    (tmp_path / "linked").symlink_to(tmp_path / "a")
    return tmp_path


def names(rows):
    return [row["run"] for row in rows]


def test_each_run_is_a_row_with_its_numbers_note_and_tags(folder):
    rows = listed_runs(folder)
    assert names(rows) == ["a", "b", "killed", "plan/trial_0001"]
    assert rows[0].items() >= {"accepted": True, "cut.ms": 4.5, "note": "wheel slipped"}.items()
    assert rows[0]["tags"] == ("good", "soft sand")
    assert rows[2] == {"run": "killed", "reasons": "", "note": "", "tags": ()}


def test_runs_are_chosen_by_condition_and_by_all_of_the_tags(folder):
    rows = listed_runs(folder)
    assert names(chosen(rows, "accepted and angle_deg < 60")) == ["plan/trial_0001"]
    assert names(chosen(rows, "", ["good"])) == ["a", "b"]
    assert names(chosen(rows, "accepted", ["good", "soft sand"])) == ["a"]


def test_what_the_operator_said_of_a_run_stands_beside_what_the_rules_say(folder, capsys):
    said = {"name": "N", "verdict": "repeat", "word": "footstep"}
    (folder / "plan" / "trial_0001" / "verdict.json").write_text(json.dumps(said))
    rows = listed_runs(folder)
    assert names(chosen(rows, "accepted")) == ["a", "plan/trial_0001"]
    assert names(chosen(rows, "counts")) == ["a"]
    assert run(["runs", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "repeat: footstep" in shown
    assert repr(hil.runs(folder)).endswith("3 runs, 2 accepted, 1 of these rejected by the operator>")


def test_a_value_that_no_run_has_is_refused_with_what_is_near(folder):
    with pytest.raises(FilterError, match=r"no run has a value 'angle': did you mean angle_deg"):
        chosen(listed_runs(folder), "angle > 3")


def test_what_cannot_be_read_is_said_and_the_other_runs_are_listed(folder):
    (folder / "a" / "annotation.json").write_text("[]")
    (folder / "b" / "summary.json").write_text("{")
    problems = []
    assert names(listed_runs(folder, problems)) == ["a", "b", "killed", "plan/trial_0001"]
    assert len(problems) == 2
    with pytest.raises(FolderError, match="is no folder"):
        listed_runs(folder / "none")


def test_the_commands_write_a_note_and_list_the_runs(folder, capsys):
    assert run(["note", str(folder / "killed"), "power lost", "--tag", "bad", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"note": "power lost", "tags": ["bad"]}
    assert run(["note", str(folder / "b"), "--remove-tag", "good"]) == 0
    assert run(["runs", str(folder), "--tag", "good", "--where", "cut.ms > 4"]) == 0
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("wheel slipped", "good, soft sand", "cut.ms", "4.5", "accepted"))
    assert "power lost" not in shown
    assert run(["runs", str(folder), "--json"]) == 0
    assert names(json.loads(capsys.readouterr().out)) == ["a", "b", "killed", "plan/trial_0001"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["note", "nothing_there", "x"], "holds no run"), (["note", "a", "--tag", "x,y"], "without commas"),
        (["runs", "nothing_there"], "is no folder"), (["runs", ".", "--where", "open('x')"], "allowed: names"),
    ],
)  # fmt: skip
def test_a_mistake_ends_with_status_two_and_what_is_allowed(folder, monkeypatch, capsys, arguments, why):
    monkeypatch.chdir(folder)
    assert run(arguments) == 2
    assert why in capsys.readouterr().err


def test_a_summary_of_other_types_is_said_and_the_other_runs_are_listed(folder, capsys):
    for number, wrong in enumerate(
        ({"reasons": 5}, {"reasons": "x"}, {"loop": []}, {"digests": 1}, {"accepted": "no"})
    ):
        run_of(folder / f"wrong_{number}", **wrong)
    problems = []
    assert names(listed_runs(folder, problems))[:2] == ["a", "b"]
    assert [problem.split(" is no summary of a run: ")[1] for problem in problems] == [
        "reasons is '5'", "reasons is 'x'", "loop is '[]'", "digests is '1'", "accepted is 'no'",
    ]  # fmt: skip
    assert run(["runs", str(folder)]) == 0


def test_control_characters_of_a_run_do_not_reach_the_terminal(folder, capsys):
    escape = "\x1b]0;owned\x07"
    run_of(folder / "sent", accepted=False, reasons=[f"{escape}reason"], experiment=f"{escape}name")
    assert run(["runs", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "\x1b]" not in said
    assert "\x07" not in said
    assert r"\x1b]" in said
