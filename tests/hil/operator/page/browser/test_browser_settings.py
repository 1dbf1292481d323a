"""Settings and plan in the browser: what the form shows, what it sends, and where a refusal stands."""

from __future__ import annotations

import copy

import pytest

from .scripted_rig import STATUS
from .scripted_server import cells, until

pytestmark = pytest.mark.slow
LEASE = {"holder": "page-1", "yours": True, "asked_by": ""}


def answered(server, count, refused=(), changed=None, plan="two", **more):
    """The status after so many answers to changes."""
    server.show(settings={"answered": count, "refused": list(refused), "changed": changed or {}, "plan": plan}, **more)


@pytest.fixture
def form(page, server):
    """The form of a page that holds the lease."""
    server.show(**{**STATUS, "lease": LEASE})
    assert page.text_content("#settings-why") == "Nothing is edited."
    return page.locator("#settings-form")


def sets(server):
    return [command for command in server.commands() if command["type"] == "set"]


def test_each_setting_has_an_input_of_its_kind_with_unit_range_and_default(form):
    angle = form.get_by_label("angle [deg]")
    assert [angle.get_attribute(name) for name in ("type", "min", "max")] == ["number", "10", "90"]
    assert angle.input_value() == "60"
    about = form.page.locator("#" + angle.get_attribute("aria-describedby").split()[0]).text_content()
    assert (
        about
        == "trial.angle_deg: inclination of the obstacle. Allowed: a number 10 to 90; default 60; at the start 60."
    )
    form.get_by_text("ground", exact=True).click() if not form.get_by_label("kind").is_visible() else None
    assert form.get_by_label("kind").locator("option").all_text_contents() == ["soil", "firm"]
    assert form.get_by_label("rolling").locator("option").all_text_contents() == ["true", "false"]
    assert form.get_by_role("button", name="Apply").is_disabled()


def test_what_is_edited_is_marked_and_sent_as_one_change(form, server):
    form.get_by_label("angle [deg]").fill("70")
    form.get_by_label("speed [m/s]").fill("0.06")
    assert form.get_by_text("edited", exact=True).count() == 2
    form.get_by_role("button", name="Apply").click()
    until(lambda: len(sets(server)) == 2)
    assert sets(server) == [
        {"type": "set", "key": "trial.angle_deg", "value": 70, "more": True},
        {"type": "set", "key": "trial.speed_mps", "value": 0.06, "more": False},
    ]
    assert form.get_by_role("button", name="Apply").is_disabled()


def test_a_refusal_stands_beside_its_key_as_hil_operate_words_it_and_the_edit_is_kept(form, server):
    angle = form.get_by_label("angle [deg]")
    angle.fill("100")
    form.get_by_role("button", name="Apply").click()
    until(lambda: sets(server))
    answered(server, 1, ["trial.angle_deg: found 100; allowed: a number 10 to 90"])
    problem = form.page.locator("#setting-trial-angle_deg-problem")
    problem.filter(has_text="found 100; allowed: a number 10 to 90").wait_for()
    assert (angle.input_value(), angle.get_attribute("aria-invalid")) == ("100", "true")
    assert form.get_by_text("nothing was changed").is_visible()
    assert form.page.evaluate("document.activeElement.id") == "setting-trial-angle_deg"
    form.get_by_role("button", name="Undo").click()
    assert (angle.input_value(), problem.text_content()) == ("60", "")


def test_a_problem_of_no_key_that_is_shown_stands_below_the_form(form, server):
    form.get_by_label("angle [deg]").fill("70")
    form.get_by_role("button", name="Apply").click()
    until(lambda: sets(server))
    answered(server, 1, ["a run is on"])
    form.page.locator("#settings-problems").filter(has_text="a run is on").wait_for()


def test_what_is_changed_is_marked_and_the_drawing_follows_also_when_somebody_else_has_changed_it(form, server):
    plate = form.page.locator("#side line.plate")
    before = float(plate.get_attribute("y2"))
    config = copy.deepcopy(server.answers["config"])
    config["settings"][0]["now"] = 90.0
    config["obstacle"]["angle_deg"] = 90.0
    config["ground"] = {"pitch_deg": 5.0}
    server.answers["config"] = config
    answered(server, 1, changed={"trial.angle_deg": 90.0})
    form.get_by_text("changed", exact=True).wait_for()
    assert form.get_by_label("angle [deg]").input_value() == "90"
    server.settle()  # drawn anew
    assert float(plate.get_attribute("y2")) < before - 0.05
    assert plate.get_attribute("x1") == plate.get_attribute("x2")
    form.get_by_role("button", name="As at the start").click()
    assert form.get_by_label("angle [deg]").input_value() == "60"


def test_settings_are_not_sent_without_the_lease_or_during_a_run_and_the_form_says_why(form, server):
    form.get_by_label("angle [deg]").fill("70")
    why = form.page.locator("#settings-why")
    apply = form.get_by_role("button", name="Apply")
    for changed, words in (
        ({"running": True, "state": "run_up"}, "between two runs"),
        ({"running": False, "state": "idle", "lease": {**LEASE, "yours": False}}, "Take the lease"),
    ):
        server.show(**changed)
        why.filter(has_text=words).wait_for()
        assert apply.is_disabled()
    server.show(lease=LEASE)
    why.filter(has_text="1 edited").wait_for()
    assert apply.is_enabled()


def test_the_form_is_filled_and_sent_by_keyboard(form, server):
    page = form.page
    form.get_by_label("angle [deg]").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("75")
    page.keyboard.press("Enter")
    until(lambda: sets(server))
    assert sets(server)[0]["value"] == 75
    assert [command["type"] for command in server.commands()] == ["set"]


def test_a_plan_is_chosen_among_those_that_are_offered_and_its_trials_are_listed_the_next_one_marked(form, server):
    page = form.page
    assert page.get_by_label("Plan", exact=True).first.locator("option").all_text_contents() == ["two", "thesis"]
    assert page.locator("#plan li[aria-current=step]").text_content() == "angle 60 deg"
    page.locator("#plan-choice").select_option("thesis")
    page.get_by_role("button", name="Choose the plan").click()
    until(lambda: {"type": "plan", "name": "thesis"} in server.commands())
    config = copy.deepcopy(server.answers["config"])
    config["plan"] = {"name": "thesis", "choice": "thesis", "trials": [{"number": 1, "angle_deg": 30.0}]}
    server.answers["config"] = config
    answered(server, 1, plan="thesis")
    page.get_by_role("heading", name="Plan thesis, 1 trials").wait_for()
    assert page.locator("#plan li[aria-current=step]").text_content() == "angle 30 deg"


def test_at_the_verdict_the_trial_stands_with_its_force_its_rules_and_those_before_it_at_its_angle(form, server):
    page = form.page

    def run(number, peak, angle_deg=60.0, accepted=True, operator=None):
        return {
            "name": f"campaign_1/trial_{number:04d}", "state": "done", "experiment": "impact", "angle_deg": angle_deg,
            "accepted": accepted, "reasons": [], "numbers": {"peak_force_N": peak}, "files": [], "time": "",
            "operator": operator,
        }  # fmt: skip

    server.answers["runs"] = [
        run(6, 90.0),
        run(5, 50.0, 80.0),
        run(4, 82.0),
        run(3, 78.0),
        run(2, 200.0, operator={"name": "N", "verdict": "repeat", "word": "footstep"}),
        run(1, 300.0, accepted=False),
    ]
    forces = [0.0] * 50 + [40.0, 90.0, 40.0] + [0.0] * 50
    times = [0.001 * i for i in range(len(forces))]
    for number in range(1, 7):
        place = f"runs/campaign_1/trial_{number:04d}"
        server.answers[f"{place}/record/traces"] = {"t_s": times, "columns": {"force_sum_N": forces}, "impact_s": 0.05}
        server.answers[f"{place}/summary.json"] = {
            "quality": [
                {"rule": "droop", "value": None, "limit": 0.03, "ok": None},
                {"rule": "veer", "value": 0.031, "limit": 0.02, "ok": False},
            ]
        }
    server.show(
        runs=6, state="campaign", run="/somewhere/campaign_1/trial_0006",
        question={"key": "verdict", "text": "Keep it, or repeat it", "choices": [], "trial": 2},
    )  # fmt: skip
    panel = page.locator("#verdict")
    panel.get_by_role("heading", name="Trial campaign_1/trial_0006 at 60 deg").wait_for()
    panel.get_by_role("img", name="peak 90.0 N").wait_for()
    rules = [
        row.all_text_contents()
        for row in (panel.get_by_role("row").filter(has_text=name).locator("td") for name in ("veer", "droop"))
    ]
    assert rules == [["veer", "FAILS", "0.031", "0.02"], ["droop", "not judged", "-", "0.03"]]
    assert panel.get_by_role("region", name="Quality rules").locator("tbody td").first.text_content() == "veer"
    beside = panel.get_by_role("row").filter(has_text="Peak force").locator("td").all_text_contents()
    assert beside == ["Peak force [N]", "90", "80", "2.828", "3.5"]
    assert panel.get_by_text("Beside the 2 that count of 4 trials before it at this angle").is_visible()
    assert page.get_by_role("button", name="Keep the trial").is_visible()
    until(lambda: [row[2:4] for row in cells(page, "#run-list")][4] == ["accepted", "repeat: footstep"])
    assert page.get_by_text("60 deg, peak 90 N, rejected by the operator").count() == 1
    assert page.problems == []
