"""A campaign that an operator leads by commands: what is asked stands in the status, and only then it is answered."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from hil.analysis.campaign import read_campaign
from hil.app.console import Console
from hil.app.resident import LatchedFaults
from hil.campaign.commanded import CommandedCampaign
from hil.campaign.run import PlanChoice
from hil.ipc.shared_types import STATUS, CommandMemory, OperatorWriter
from hil.messages.fault import Fault
from hil.messages.operator_input import Arm, Campaign, ClearFault, EStop, Start, Stop, Verdict

from .conftest import QUICK

TWO = f"name: two\nangles_deg: [40, 90]\norder: listed\n{QUICK}"
ACCEPTED = {"accepted": True, "aborted": None, "reasons": [], "peak_force_N": 80.0}


class Answering:
    """A clock that sends the next command whenever a question has stood for a while."""

    def __init__(self, memory):
        self._writer, self._status, self._row = OperatorWriter(memory.commands), memory.status, np.zeros(1, STATUS)
        self.answers, self.asked, self.said = [], [], set()
        self._now_ns, self._before = 0, None

    def now_ns(self):
        return self._now_ns

    def sleep(self, seconds):
        self._now_ns += round(seconds * 1e9)
        self._status.read(self._row)
        status = msgspec.json.decode(self._row["content"].item())
        question = status["question"]
        self.said.add(status["message"])
        if question and question != self._before:
            self.asked.append(question)
        self._before = question
        assert self.answers, f"nobody answers {question}"
        self._writer.put(self.answers.pop(0))


@pytest.fixture
def memory(tmp_path):
    made = CommandMemory(tmp_path / "commands", create=True)
    yield made
    made.close()


@pytest.fixture
def led(memory, wanted, tmp_path):
    """A campaign of two trials that are only pretended; its host answers."""
    host = Answering(memory)
    made = []

    def run(config, folder, progress, *, figure, console):
        made.append(config.trial.angle_deg)
        return SimpleNamespace(summary={**ACCEPTED, "config_sha256": config.sha256()})

    # of a pretended trial there is no record to go on from, but its summary
    plans = PlanChoice(lambda *_: wanted(TWO, folders=False), {"two": "two"}, "two")
    campaign = CommandedCampaign(plans, tmp_path, Console(memory, host), lambda _: None, run)
    latched = LatchedFaults()
    return SimpleNamespace(
        campaign=campaign,
        host=host,
        made=made,
        folder=tmp_path / "campaign_1",
        memory=memory,
        latched=latched,
        go_on=partial(campaign.go_on, latched=latched),
    )


def verdicts(folder):
    return [(row["number"], row["attempt"], row["operator_verdict"]) for row in read_campaign(folder).rows]


def test_start_begins_a_trial_and_a_verdict_keeps_or_repeats_it(led):
    led.host.answers = [
        Start(), Verdict("repeat", "the shield was loose"), Start(), Verdict("keep"), Start(), Verdict("keep", "clean"),
    ]  # fmt: skip
    led.go_on("Ada")
    assert led.made == [40.0, 40.0, 90.0]
    assert verdicts(led.folder) == [(1, 1, "repeat"), (1, 2, "keep"), (2, 1, "keep")]
    rows = read_campaign(led.folder).rows
    assert {row["operator_name"] for row in rows} == {"Ada"}
    assert [row["operator_word"] for row in rows] == ["the shield was loose", "", "clean"]
    assert [question["key"] for question in led.host.asked] == 3 * ["ready", "verdict"]
    numbers = [question["trial"] for question in led.host.asked]
    assert numbers[::2] == numbers[1::2]
    assert min(numbers) >= 1
    assert "40 degrees" in led.host.asked[0]["text"]
    assert led.host.asked[0]["choices"] == ["start", "campaign pause", "campaign end"]
    assert "accepted: peak force 80.0 N" in led.host.asked[1]["text"]


def test_a_stop_beside_a_verdict_is_not_called_refused_because_nothing_moves(led):
    led.host.answers = [Start(), Stop("Escape"), Arm(), Verdict("keep"), Stop()]
    led.go_on("Ada")
    assert led.made == [40.0]
    refused = [line for line in led.host.said if "refused" in line]
    assert refused == ["arm refused: a campaign asks verdict; allowed: verdict keep, verdict repeat"]


def test_a_campaign_that_is_paused_goes_on_with_the_trial_that_is_left(led):
    led.host.answers = [Start(), Campaign("pause"), Verdict("keep")]
    led.go_on("Ada")
    assert verdicts(led.folder) == [(1, 1, "keep")]
    led.host.answers = [Start(), Verdict("keep")]
    led.go_on("Bob")
    assert verdicts(led.folder) == [(1, 1, "keep"), (2, 1, "keep")]
    assert [row["operator_name"] for row in read_campaign(led.folder).rows] == ["Ada", "Bob"]
    assert led.made == [40.0, 90.0]


def test_a_campaign_that_was_ended_begins_anew_in_another_folder(led):
    led.host.answers = [Campaign("end")]
    led.go_on("Ada")
    led.host.answers = [Stop()]
    led.go_on("Ada")
    assert led.made == []
    assert {"campaign_1", "campaign_2"} <= {path.name for path in led.folder.parent.iterdir()}


def test_a_start_that_came_before_the_question_starts_nothing(led):
    OperatorWriter(led.memory.commands).put(Start())
    led.host.answers = [Arm(), Stop()]
    led.go_on("Ada")
    assert led.made == []


def test_an_e_stop_between_two_trials_ends_the_campaign_for_now_and_is_latched(led):
    led.host.answers = [Start(), EStop("button")]
    led.go_on("Ada")
    assert [(event.alarm.fault, event.alarm.detail) for event in led.latched.events] == [
        (Fault.STOP_BY_OPERATOR, "button")
    ]
    assert led.made == [40.0]
    assert [trial["status"] for trial in read_campaign(led.folder).trials] == ["kept"]


@pytest.mark.parametrize("beside", [Stop(), Campaign("pause"), Start()])
@pytest.mark.parametrize("first", [True, False])
def test_an_e_stop_that_came_before_the_question_is_latched_whatever_came_with_it(led, beside, first):
    writer = OperatorWriter(led.memory.commands)
    for command in (beside, EStop("button")) if first else (EStop("button"), beside):
        writer.put(command)
    led.go_on("Ada")
    assert [event.alarm.detail for event in led.latched.events] == ["button"]
    assert led.made == []


def test_after_a_fault_no_trial_begins_until_it_is_cleared_by_its_number(led):
    led.latched.latch_stop("button")
    led.host.answers = [Start(), ClearFault(17), Start(), ClearFault(18), Start(), Campaign("pause"), Verdict("keep")]
    led.go_on("Ada")
    assert led.made == [40.0]
    refused = "start refused: latched: 18 stop by operator; clear each by its number first"
    assert refused in led.host.said


def test_a_signal_during_a_trial_ends_the_process_and_the_trial_is_made_again_later(led):
    def run(config, folder, progress, *, figure, console):
        summary = {"accepted": False, "aborted": True, "reasons": ["fault 18: operator: SIGTERM"]}
        return SimpleNamespace(summary={**summary, "config_sha256": config.sha256()})

    led.campaign._run = run
    led.host.answers = [Start()]
    with pytest.raises(KeyboardInterrupt):
        led.go_on("Ada")
