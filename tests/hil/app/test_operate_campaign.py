"""A campaign in the resident process: the rig is closed between two trials, and the operator's console is watched."""

from __future__ import annotations

import pytest

from hil.analysis.campaign import read_campaign
from hil.campaign.commanded import CommandedCampaign
from hil.campaign.plan import campaign_seed, expand, load_plan
from hil.campaign.run import CampaignOrder, PlanChoice
from hil.config import load_config
from hil.messages.operator_input import Arm, Campaign, ClearFault, EStop, Start, Verdict
from hil.recording import read_trial
from hil.recording.run_folder import summary_of

from .conftest import CONSOLE_LOST, STOP_BY_OPERATOR, wrong

QUIET = ("experiment=impact", "telemetry.endpoint=''")
PLAN = (
    "name: one\nangles_deg: [60]\n"
    "set: {trial.start_distance_m: 0.03, trial.ramp_s: 0.1, trial.settle_s: 0.5, record.after_s: 0.5}\n"
)


@pytest.fixture
def rig(operated, tmp_path):
    """A rig with a campaign of one trial, whose operator holds the lease."""
    file = tmp_path / "plan.yaml"
    file.write_text(PLAN)

    def lead(folder, console, report):
        plan, base = load_plan(file), load_config("sim_impact", QUIET)
        wanted = CampaignOrder(plan, base, expand(plan, "sim_impact", QUIET), campaign_seed(plan, base.seed, None))
        plans = PlanChoice(lambda *_: wanted, {"one": "one"}, "one")
        return CommandedCampaign(plans, folder, console, report, report=lambda campaign: f"no room in {campaign.name}")

    one = operated("sim_impact", *QUIET, lead=lead)
    one.until(state="idle")
    one.take_lease()
    return one


def begin(rig):
    """Start the campaign; its question."""
    rig.ask(Campaign("start", "Ada"))
    return rig.until(state="campaign", question=rig.asked("ready"))["question"]


@pytest.mark.slow
def test_a_trial_of_the_campaign_is_started_judged_and_kept_and_then_the_rig_is_open_again(rig):
    assert "60 degrees" in begin(rig)["text"]
    rig.ask(Start())
    question = rig.until(question=rig.asked("verdict"))["question"]
    assert "The trial is accepted" in question["text"]
    rig.ask(Verdict("keep", "clean"))
    assert rig.until(state="idle", runs=1, question=None)["message"].endswith("without a report: no room in campaign_1")
    rig.ask(Arm())
    rig.until(state="armed")
    rig.ask(EStop())
    rig.until(state="idle", runs=2)
    rig.end()
    (row,) = read_campaign(rig.folder / "campaign_1").rows
    assert (row["operator_name"], row["operator_verdict"], row["operator_word"]) == ("Ada", "keep", "clean")
    assert wrong(rig.folder / "campaign_1" / "trial_0001") == []


@pytest.mark.slow
def test_a_trial_whose_console_is_lost_is_cut_and_the_operator_decides_what_becomes_of_it(rig):
    begin(rig)
    rig.ask(Start())
    rig.until(state="run_up")
    rig.release_lease()
    rig.until(question=rig.asked("verdict"))
    rig.take_lease()
    rig.ask(Campaign("pause"), Verdict("repeat"))
    assert "the campaign is paused" in rig.until(state="idle", question=None)["message"]
    rig.ask(Campaign("pause"))  # nothing is under way; what was paused goes on once the fault is cleared
    rig.ask(Campaign("start", "Ada"))
    rig.until(refused=["latched: 19 console lost; clear each by its number first"])
    rig.ask(ClearFault(CONSOLE_LOST))
    begin(rig)
    rig.ask(Campaign("end"))
    assert "the campaign is over" in rig.until(state="idle", question=None)["message"]
    rig.end()
    assert [path.name for path in rig.folder.iterdir()] == ["campaign_1"]
    trial = rig.folder / "campaign_1" / "trial_0001"
    assert "fault 19" in summary_of(trial)["reasons"][0]
    assert read_trial(trial, trusted=True).tick["cut"][-1] == 1


def test_an_e_stop_between_two_trials_is_latched_in_the_rig_that_opens_again(rig):
    begin(rig)
    rig.ask(EStop("smoke"))
    status = rig.until(state="idle", question=None, safe=True)
    assert [fault["number"] for fault in status["faults"]] == [STOP_BY_OPERATOR]
    rig.ask(Campaign("start"))
    rig.host.sleep(0.2)
    assert rig.status["state"] == "idle"
    rig.end()
