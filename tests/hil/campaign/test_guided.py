"""A campaign with an operator: what is said, what is asked, what becomes of the answers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from hil.analysis.campaign import read_campaign
from hil.app.run import run_experiment
from hil.campaign import guided as terminal
from hil.campaign.guided import NoAnswerError, Question, TerminalOperator, run_guided, to_set

from .conftest import QUICK, Lines, NeverStop
from .test_run import folder_of

TWO = f"name: two\nangles_deg: [40, 90]\norder: listed\n{QUICK}"


class Scripted:
    """Answers from a list; then the operator is gone."""

    def __init__(self, *answers: str) -> None:
        self.answers, self.asked = list(answers), list[Question]()

    def ask(self, question: Question) -> str:
        self.asked.append(question)
        if not self.answers:
            raise NoAnswerError(question.key)
        answer = self.answers.pop(0)
        assert not question.choices or answer in question.choices
        return answer


def simulated(config, folder: Path):
    return run_experiment(config, folder, lambda _: None, figure=False).summary


guided = partial(run_guided, run=simulated, report=Lines(), stop=NeverStop())


@pytest.mark.slow
def test_the_operator_sets_what_is_said_repeats_a_trial_and_is_named_with_a_word(wanted, tmp_path) -> None:
    campaign, folder = wanted(TWO), folder_of(tmp_path / "c")
    operator = Scripted("Ann", "go", "repeat", "the shield was loose", "go", "keep", "", "go", "keep", "clean")
    guided(campaign, folder, operator)
    keys = [question.key for question in operator.asked]
    assert keys == ["name", *3 * ("ready", "verdict", "word")]
    first, again, last = (question.text for question in operator.asked if question.key == "ready")
    assert "Trial 1 of 2. Set:" in first
    assert "40 degrees: 0.896 m (35.3 in)" in first
    assert "41 mm over the ground, which is 64 mm along the plate" in first
    assert "attempt 2" in again
    assert "obstacle" not in again.replace("before the obstacle", "")
    assert "175 mm over the ground" in last
    rows = read_campaign(folder).rows
    assert [(row["number"], row["attempt"], row["operator_verdict"], row["operator_word"]) for row in rows] == [
        (1, 1, "repeat", "the shield was loose"),
        (1, 2, "keep", ""),
        (2, 1, "keep", "clean"),
    ]
    assert {row["operator_name"] for row in rows} == {"Ann"}


def test_what_is_drawn_of_a_trial_are_the_numbers_that_the_operator_is_told(wanted) -> None:
    campaign = wanted(TWO)
    for shown, trial in zip(campaign.shown()["trials"], campaign.trials, strict=True):
        text, frame = to_set(trial), shown["frame"]
        assert (shown["number"], shown["angle_deg"]) == (trial.number, trial.config.trial.angle_deg)
        assert f"{frame['feet_m']:.3f} m" in text
        assert f"{1e3 * frame['sensor_height_m']:.0f} mm over the ground" in text


def test_the_operator_sets_nothing_that_a_trial_leaves_open(wanted) -> None:
    trial = wanted(TWO).trials[0]
    open_one = replace(trial, settings={**trial.settings, "wheel.grouser_offset_deg": None, "trial.speed_mps": 0.06})
    text = to_set(open_one)
    assert "trial.speed_mps: 0.06" in text
    assert "None" not in text


@pytest.mark.slow
def test_an_operator_who_leaves_finds_the_campaign_as_it_was(wanted, tmp_path) -> None:
    campaign, folder, stop = wanted(TWO), folder_of(tmp_path / "c"), NeverStop()
    guided(campaign, folder, Scripted("Ann", "go", "keep", "fine"), stop=stop)
    assert stop.wanted
    before = read_campaign(folder).rows
    assert len(before) == 1
    second = Scripted("Bob", "go", "keep", "")
    rows = read_campaign(guided_again(campaign, folder, second)).rows
    assert rows[0] == before[0]
    assert [row["operator_name"] for row in rows] == ["Ann", "Bob"]
    assert "ground: soil" in second.asked[1].text  # all is said anew to whoever comes


def guided_again(campaign, folder: Path, operator: Scripted) -> Path:
    guided(campaign, folder, operator, stop=NeverStop(), resume=True)
    return folder


@pytest.mark.slow
def test_a_trial_that_nobody_judged_keeps_the_verdict_of_the_rules(wanted, tmp_path) -> None:
    folder = folder_of(tmp_path / "c")
    guided(wanted(TWO), folder, Scripted("Ann", "go"), stop=NeverStop())
    (row,) = read_campaign(folder).rows
    assert row["status"] == "kept"
    assert row["operator_verdict"] is None


def test_a_terminal_takes_the_first_letter_the_default_and_asks_again(monkeypatch) -> None:
    lines = iter(["x", "k", "", "any text"])
    monkeypatch.setattr("builtins.input", lambda: next(lines))
    question = Question("verdict", "Keep it", ("keep", "repeat"), "repeat")
    assert [TerminalOperator().ask(question) for _ in range(2)] == ["keep", "repeat"]
    assert TerminalOperator().ask(Question("word", "A word")) == "any text"


@pytest.mark.parametrize("end", [EOFError, KeyboardInterrupt])
def test_ctrl_c_and_the_end_of_the_input_at_a_question_end_the_campaign(monkeypatch, end) -> None:
    def leave() -> str:
        raise end

    monkeypatch.setattr("builtins.input", leave)
    with pytest.raises(NoAnswerError):
        terminal.TerminalOperator().ask(Question("ready", "Ready", ("go", "stop")))
