"""A whole `hil operate` in a browser: settings and a plan are changed by clicks, and the next runs have them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hil.analysis.campaign import read_campaign
from hil.config import load_config

from .operated_rig import LONGEST_S, PRESS_MS, operated, press
from .scripted_server import until
from .test_operated_rig import PLAN

pytestmark = pytest.mark.slow
# A run-up of half a second; a busy machine may stand still for longer than a lease lasts: runs go on.
SETTINGS = (
    "trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5",
    "operator.console_lost=finish",
)  # fmt: skip


@pytest.fixture(scope="module")
def processes(chromium, tmp_path_factory):
    """One rig for all tests, without a plan; its config stands in a folder with one."""
    folder = tmp_path_factory.mktemp("operated")
    (folder / "plan.yaml").write_text(PLAN)
    (folder / "rig.yaml").write_text(load_config("sim_impact", SETTINGS).to_yaml())
    with operated(folder, str(folder / "rig.yaml"), ()) as one:
        yield one


@pytest.fixture
def rig(rested):
    return rested


@pytest.fixture
def page(operated_page):
    return operated_page


def apply(page, rig, **values):
    """Edit settings and apply them, until they are answered; how."""
    before = rig.client.status()["settings"]["answered"]

    def edit():
        for key, value in values.items():
            page.locator(f"#setting-trial-{key}").fill(value, timeout=PRESS_MS)

    press(page, "Apply", lambda: rig.client.status()["settings"]["answered"] > before, held=False, before=edit)
    return rig.client.status()["settings"]


def run_by_clicks(page, rig):
    """Arm and start, again where a busy machine loses the lease before the impact; the summary of the run."""
    while True:
        press(page, "Arm", lambda: rig.client.status()["state"] != "idle")
        rig.client.wait_until(
            lambda status: status["armed"] or (status["state"] == "idle" and not status["running"]), within_s=LONGEST_S
        )
        press(page, "Start", lambda: rig.client.status()["state"] != "armed")
        folder = Path(rig.over()["run"])
        if (folder / "summary.json").is_file():
            summary = json.loads((folder / "summary.json").read_text())
            if not summary["aborted"]:
                return summary


def test_a_setting_is_changed_by_clicks_and_the_next_run_has_it_without_a_restart(page, rig):
    assert apply(page, rig, angle_deg="75", speed_mps="0.06")["changed"] == {
        "trial.angle_deg": 75.0, "trial.speed_mps": 0.06,
    }  # fmt: skip
    page.get_by_text("Done. The next runs have these settings.").wait_for()
    until(lambda: page.locator("#settings .changed").filter(has_text="changed").count() == 2)
    summary = run_by_clicks(page, rig)
    assert summary["angle_deg"] == 75.0
    assert abs(summary["impact_speed_mps"] - 0.06) < 0.01
    assert page.problems == []


def test_a_refused_value_leaves_everything_as_it_was(page, rig):
    before = rig.client.status()["settings"]["changed"]
    assert apply(page, rig, angle_deg="100")["refused"] == ["trial.angle_deg: found 100; allowed: a number 10 to 90"]
    page.locator("#setting-trial-angle_deg-problem").filter(has_text="found 100").wait_for()
    assert rig.client.status()["settings"]["changed"] == before
    assert rig.client.status()["state"] == "idle"


def test_a_campaign_of_two_trials_whose_plan_is_chosen_on_the_page(page, rig):
    page.locator("#plan-choice").select_option("plan.yaml")
    press(
        page, "Choose the plan", lambda: rig.client.status()["settings"]["plan"] == "plan.yaml", held=False,
        before=lambda: page.locator("#plan-choice").select_option("plan.yaml"),
    )  # fmt: skip
    page.get_by_role("heading", name="Plan two, 2 trials").wait_for()
    press(page, "Begin or resume", lambda: rig.asks("ready"))
    for _ in range(2):
        until(lambda: rig.asks("ready"))
        press(page, "Everybody is clear: go", lambda: not rig.asks("ready"))
        until(lambda: rig.asks("verdict"))
        panel = page.locator("#verdict")
        panel.get_by_role("img", name="Force on the obstacle").wait_for()
        until(lambda panel=panel: panel.get_by_role("row").filter(has_text="passes").count() > 3)
        press(page, "Keep the trial", lambda: not rig.asks("verdict"), held=False)
    rig.until(state="idle", question=None)
    rows = read_campaign(max(rig.runs.glob("campaign_*"))).rows
    assert sorted((row["angle_deg"], row["operator_verdict"]) for row in rows) == [(60.0, "keep"), (70.0, "keep")]
    assert page.problems == []
