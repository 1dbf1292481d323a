"""Settings and plan are changed between two runs, by the client that holds the lease, and else not."""

from __future__ import annotations

import pytest

from drivers.interfaces import DeviceError
from hil.app.run import open_backend
from hil.campaign.commanded import CommandedCampaign
from hil.campaign.plan import campaign_seed, expand, load_plan
from hil.campaign.run import CampaignOrder, PlanChoice
from hil.config import load_config
from hil.messages.operator_input import Arm, Campaign, ChoosePlan, Jog, Set, Start, Stop, Valve, Verdict
from hil.recording.run_folder import summary_of

from .conftest import DRIVE, drives, names, wrong

PLAN = (
    "name: {}\nangles_deg: {}\n"
    "set: {{trial.start_distance_m: 0.03, trial.ramp_s: 0.1, trial.settle_s: 0.5, record.after_s: 0.5}}\n"
)


def change(rig, *commands):
    """Send a change; how it was answered."""
    before = rig.status["settings"]["answered"]
    rig.ask(*commands)
    return rig.until(settings=Answered(before))["settings"]


class Answered:
    """Equals the settings of a status that holds a newer answer."""

    def __init__(self, before):
        self.before = before

    def __eq__(self, settings):
        return settings is not None and settings["answered"] > self.before

    __hash__ = None


def run_once(rig):
    """A run, stopped as soon as it drives; its summary."""
    folder = drives(rig)
    rig.ask(Stop())
    rig.until(state="idle", runs=rig.status["runs"] + 1)
    return folder


@pytest.mark.slow
def test_a_change_is_in_the_next_run_its_summary_and_the_status_and_needs_no_restart(rig):
    first = run_once(rig)
    found = change(
        rig,
        Set("soil.stiffness", 1e6),
    )
    assert (found["refused"], found["changed"]) == ([], {"soil.stiffness": 1e6})
    assert rig.status["state"] == "idle"
    second = run_once(rig)
    rig.end()
    given, now = (load_config("sim_impact", [*DRIVE, *more]).sha256() for more in ([], ["soil.stiffness=1e6"]))
    assert [summary_of(folder)["config_sha256"] for folder in (first, second)] == [given, now]
    assert "Ada: soil.stiffness is 1e+06 (was 1.783e+06)" in rig.said


def test_a_refused_value_leaves_everything_as_it_was(rig):
    config = rig.settings.config
    found = change(rig, Set("soil.exponent", 100))
    assert found["refused"] == ["soil.exponent: found 100; allowed: a number 0.3 to 1.75"]
    assert (found["changed"], rig.status["state"]) == ({}, "idle")
    assert rig.settings.config == config
    rig.end()


@pytest.mark.slow
def test_values_of_one_change_are_checked_together_and_take_effect_with_the_last_one(rig):
    rig.ask(Set("ground.kind", "firm", more=True))
    rig.host.sleep(0.2)
    assert (rig.status["settings"]["answered"], rig.settings.changed) == (0, {})
    found = change(rig, Set("ground.friction", 0.5))
    assert found["changed"] == {"ground.kind": "firm", "ground.friction": 0.5}
    assert len(change(rig, Set("ground.friction", 0.4, more=True), Set("soil.stiffness", "hard"))["refused"]) == 1
    assert rig.settings.config.ground.friction == 0.5
    rig.end()


@pytest.mark.slow
@pytest.mark.parametrize("between", [Stop(), Valve("middle", "extend", 1.0)])
def test_what_was_gathered_is_dropped_when_another_command_comes(rig, between):
    rig.ask(Set("soil.stiffness", 1e6, more=True), between)
    rig.host.sleep(0.2)
    assert change(rig, Set("soil.exponent", 0.8))["changed"] == {"soil.exponent": 0.8}
    rig.end()


def test_nothing_is_changed_without_the_lease(operated):
    rig = operated("sim_impact", *DRIVE)
    rig.until(state="idle")
    for command in (Set("soil.stiffness", 1e6), ChoosePlan("thesis")):
        assert change(rig, command)["refused"] == ["no client holds the operator lease; take it first"]
    assert rig.settings.changed == {}
    rig.end()


@pytest.mark.slow
@pytest.mark.parametrize("state", ["armed", "drive"])
def test_nothing_is_changed_while_the_rig_is_armed_or_drives(rig, state):
    rig.ask(Arm())
    rig.until(state="armed")
    if state == "drive":
        rig.ask(Start())
        rig.until(state="drive")
    assert change(rig, Set("soil.stiffness", 1e6))["refused"] == ["a run is on"]
    assert rig.status["message"] == "set refused: a run is on"
    assert rig.status["state"] == state
    rig.ask(Stop())
    rig.until(state="idle")
    rig.host.sleep(0.2)
    assert rig.settings.changed == {}
    rig.end()
    assert "operator set" in names(rig.folder / "run_1")  # the request is in the record
    assert wrong(rig.folder / "run_1") == []


def test_a_change_that_comes_while_the_rig_is_opened_again_is_refused(operated):
    def opener(*arguments, **more):
        if rig.opened:
            rig.ask(Set("soil.exponent", 0.8))
        rig.opened += 1
        return open_backend(*arguments, **more)

    rig = operated("sim_impact", *DRIVE, opener=opener)
    rig.opened = 0
    rig.until(state="idle")
    rig.take_lease()
    rig.ask(Set("soil.stiffness", 1e6))
    found = rig.until(settings=Answered(1))["settings"]
    assert found["refused"] == ["it came while the process was busy"]
    assert found["changed"] == {"soil.stiffness": 1e6}
    rig.end()


@pytest.mark.slow
def test_a_rig_that_cannot_be_opened_again_is_closed_and_the_next_arm_opens_it_with_the_new_values(operated):
    fails = []

    def opener(described, *arguments, **more):
        if fails:
            fails.pop()
            raise DeviceError("drives: no answer")
        rig.opened.append(described.config.soil.stiffness)
        return open_backend(described, *arguments, **more)

    rig = operated("sim_impact", *DRIVE, opener=opener)
    rig.opened = []
    rig.until(state="idle")
    rig.take_lease()
    fails.append(True)
    assert change(rig, Set("soil.stiffness", 1e6))["refused"] == []
    assert "the rig is closed, arm opens it again" in rig.until(state="closed")["message"]
    drives(rig)
    rig.ask(Stop())
    rig.until(state="idle")
    rig.end()
    assert rig.opened == [1.783e6, 1e6]


@pytest.mark.slow
def test_a_jog_after_a_change_is_of_the_changed_config(rig):
    change(rig, Set("soil.stiffness", 1e6))
    rig.ask(Jog(("front_left",), 0.02, 0.3))
    rig.until(state="idle", runs=1)
    rig.end()
    wanted = load_config("sim_impact", [*DRIVE, "soil.stiffness=1e6"])
    assert rig.settings.config == wanted


@pytest.fixture
def planned(operated, tmp_path):
    """A rig whose operator holds the lease and may choose between two plans; one of them is not in order."""
    shown = []
    offered = {}
    for name, angles in (("low", [40, 50]), ("high", [80]), ("broken", [5])):
        offered[name] = str(tmp_path / f"{name}.yaml")
        (tmp_path / f"{name}.yaml").write_text(PLAN.format(name, angles))

    def make(source, more, seed):
        overrides = ["telemetry.endpoint=''", *more]
        plan = load_plan(source) if isinstance(source, str) else source
        base = load_config("sim_impact", overrides, seed)
        return CampaignOrder(
            plan, base, expand(plan, "sim_impact", overrides, seed), campaign_seed(plan, base.seed, seed)
        )

    def lead(folder, console, report):
        return CommandedCampaign(PlanChoice(make, offered), folder, console, report)

    rig = operated("sim_impact", "telemetry.endpoint=''", lead=lead, show=lambda *seen: shown.append(seen))
    rig.until(state="idle")
    rig.take_lease()
    rig.shown = shown
    return rig


@pytest.mark.slow
def test_a_plan_is_chosen_and_its_trials_are_shown_with_their_settings(planned):
    planned.ask(Campaign("start"))
    planned.host.sleep(0.2)
    assert "choose one" in planned.status["refused"][0]
    assert change(planned, ChoosePlan("low"))["plan"] == "low"
    assert planned.status["message"] == "Ada: the plan is low"
    _, plan = planned.shown[-1]
    assert (plan["name"], sorted(trial["angle_deg"] for trial in plan["trials"])) == ("low", [40.0, 50.0])
    planned.ask(Campaign("start"))
    planned.until(state="campaign", question=planned.asked("ready"))
    planned.ask(Campaign("end"))
    planned.until(state="idle", question=None)
    planned.end()


def test_a_setting_is_in_the_trials_of_the_chosen_plan_too_and_one_that_its_trials_do_not_bear_is_refused(planned):
    change(planned, ChoosePlan("high"))
    assert not change(planned, Set("trial.speed_mps", 0.05))["refused"]
    rig, plan = planned.shown[-1]
    assert (rig.config.trial.speed_mps, plan["name"]) == (0.05, "high")
    # the run of the config itself bears it; the trials of the plan start 0.03 m before the obstacle
    assert change(
        planned,
        Set("trial.speed_mps", 0.15),
    )["refused"]
    assert planned.settings.config.trial.speed_mps == 0.05
    planned.end()


@pytest.mark.parametrize("name", ["broken", "thesis", "../low", "/etc/passwd", ""])
def test_a_plan_that_is_not_offered_or_not_in_order_is_refused_and_the_chosen_one_stays(planned, name):
    change(planned, ChoosePlan("low"))
    assert change(planned, ChoosePlan(name))["refused"]
    assert planned.status["settings"]["plan"] == "low"
    planned.end()


def test_a_paused_campaign_goes_on_as_it_began_or_is_ended_first(planned):
    change(planned, ChoosePlan("low"))
    planned.ask(Campaign("start"))
    planned.until(question=planned.asked("ready"))
    assert "a campaign asks ready" in change(planned, Set("trial.speed_mps", 0.05))["refused"][0]
    planned.ask(Campaign("pause"))
    planned.until(state="idle", question=None)
    for command in (Set("trial.speed_mps", 0.05), ChoosePlan("high")):
        assert change(planned, command)["refused"] == ["a campaign is paused; end it first (campaign end)"]
    planned.ask(Campaign("end"))
    planned.host.sleep(0.1)
    assert not change(planned, ChoosePlan("high"))["refused"]
    planned.end()


@pytest.mark.slow
def test_after_the_last_trial_of_a_campaign_settings_are_changed_again_and_the_next_start_begins_a_new_one(planned):
    change(planned, ChoosePlan("high"))
    for number in (1, 2):
        planned.ask(Campaign("start"))
        planned.until(question=planned.asked("ready"))
        planned.ask(Start())
        planned.until(question=planned.asked("verdict"))
        planned.ask(Verdict("keep"))
        planned.until(state="idle", question=None)
        found = change(planned, Set("trial.speed_mps", 0.05))
        assert (found["refused"], found["changed"]) == ([], {"trial.speed_mps": 0.05})
        assert (planned.folder / f"campaign_{number}").is_dir()
    planned.end()
    speeds = [summary_of(planned.folder / f"campaign_{number}" / "trial_0001")["impact_speed_mps"] for number in (1, 2)]
    assert speeds[1] < 0.8 * speeds[0]
