"""A whole `hil operate` in a browser: what its operator does by clicks, and what the rig then has in its record.

The processes start once for all tests (15 s): settings, plan and campaign are tested on the same rig as the stops.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from hil.analysis.campaign import read_campaign
from hil.config import load_config
from hil.experiments.impact.experiment import ImpactState
from hil.messages.fault import Fault
from hil.messages.operator_input import Arm, Start
from hil.operator.client import CommandError

from .conftest import NAME
from .operated_rig import LONGEST_S, PRESS_MS, operated, press, take_lease
from .scripted_server import until

pytestmark = pytest.mark.slow
# The run-up lasts until somebody stops it. A busy machine may stand still for longer than a lease lasts: runs go on.
SETTINGS = (
    "trial.start_distance_m=5", "trial.speed_mps=0.02", "trial.timeout_s=2000", "operator.console_lost=finish",
    "trial.settle_s=0.5", "record.after_s=0.5", "realtime.measure_s=0",
)  # fmt: skip
# Settings at the start, and those of a run-up of half a second as somebody types them.
GIVEN = {"trial.angle_deg": 60.0, "trial.speed_mps": 0.02, "trial.start_distance_m": 5.0, "trial.ramp_s": 0.5}
TYPED = {"angle_deg": "75", "speed_mps": "0.06", "start_distance_m": "0.03", "ramp_s": "0.1"}
PLAN = (
    "name: two\nangles_deg: [60, 70]\n"
    "set: {trial.speed_mps: 0.07, trial.start_distance_m: 0.03, trial.ramp_s: 0.1, trial.settle_s: 0.5, "
    "record.after_s: 0.5}\n"
)


# Has the page remember the speeds that it shows, and the angles that its plate is drawn at [deg].
SEE = """() => {
  window.seen = { angles: new Set(), speeds: new Set() };
  const look = () => {
    const plate = document.querySelector("#side .plate");
    const [x1, x2, y1, y2] = ["x1", "x2", "y1", "y2"].map((end) => Number(plate.getAttribute(end)));
    seen.angles.add(Math.round(Math.atan2(y1 - y2, x2 - x1) * 180 / Math.PI));
    seen.speeds.add(document.getElementById("speed").textContent);
  };
  const all = { subtree: true, characterData: true, attributes: true };
  new MutationObserver(look).observe(document.getElementById("rover"), all);
}"""


@pytest.fixture(scope="module")
def processes(chromium, tmp_path_factory):
    """One rig for all tests; each leaves it at rest."""
    folder = tmp_path_factory.mktemp("operated")
    (folder / "plan.yaml").write_text(PLAN)
    (folder / "another.yaml").write_text(PLAN.replace("two", "another"))
    (folder / "rig.yaml").write_text(load_config("sim_impact", SETTINGS).to_yaml())
    with operated(folder, str(folder / "rig.yaml"), (), ("--plan", str(folder / "plan.yaml"))) as one:
        one.given = GIVEN
        yield one


@pytest.fixture
def rig(rested):
    return rested


@pytest.fixture
def page(operated_page):
    return operated_page


def arm(page, rig):
    """Arm, again where a busy machine loses the lease before it is armed."""
    armed = False
    while not armed:
        press(page, "Arm", lambda: rig.client.status()["state"] != "idle")
        armed = rig.client.wait_until(
            lambda status: status["armed"] or (status["state"] == "idle" and not status["running"]), within_s=LONGEST_S
        )["armed"]


def drives(page, rig):
    """Arm and start, until the rover moves; again where a busy machine loses the lease before the start."""
    while rig.client.status()["state"] != "run_up":
        arm(page, rig)
        press(page, "Start", lambda: rig.client.status()["state"] in ("run_up", "idle"))
    moves(page)


def moves(page):
    """Telemetry shows that the rover moves."""
    page.locator("#speed").filter(has_text=re.compile(r"^0\.0[12]")).wait_for()


def starts(rig):
    """Arm and start by a script, again where a busy machine loses the lease before the start."""
    while (state := rig.client.status()["state"]) != "run_up":
        with suppress(CommandError):
            rig.client.take_lease()
            rig.client.ask(Arm() if state == "idle" else Start())
        time.sleep(0.1)


def event_tick(record, name):
    """The tick of an event that is in the record once."""
    (found,) = record.events["tick"][record.events["name"] == name]
    return int(found)


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
        arm(page, rig)
        press(page, "Start", lambda: rig.client.status()["state"] != "armed")
        folder = Path(rig.over()["run"])
        if (folder / "summary.json").is_file():
            summary = json.loads((folder / "summary.json").read_text())
            if not summary["aborted"]:
                return summary


@pytest.mark.ci_cases("button")
@pytest.mark.parametrize("how", ["button", "space bar"])
def test_a_stop_in_the_run_up_cuts_the_drives_in_its_tick_and_the_run_ends_once_they_have_it(page, rig, how):
    drives(page, rig)
    if how == "button":
        page.click("#stop")
    else:
        page.locator("#arm").focus()
        page.keyboard.press(" ")
    rig.until(state="idle", running=False)
    record = rig.record()
    asked = record.tick["tick"] >= event_tick(record, b"operator stop")
    before, after = record.tick[~asked][-1], record.tick[asked]
    assert np.abs(before["wheel_speed_radps"]).min() > 0.05
    assert not before["cut"]
    assert after["cut"].all()
    assert not after["set_speed_radps"].any()
    assert after["drives_stopped_ns"][-1] >= after["t_ns"][0]
    (detail,) = record.events["detail"][record.events["name"] == b"operator stop"]
    assert how.encode() in detail
    assert NAME.encode() in detail
    assert not rig.client.status()["faults"]


@pytest.mark.soak
def test_a_tab_that_is_closed_in_the_run_up_ends_the_lease_and_the_run_goes_on_as_the_config_says(page, rig, opened):
    drives(page, rig)
    page.close()
    status = rig.client.wait_until(lambda status: not status["holder"], within_s=LONGEST_S)
    assert [fault["number"] for fault in status["warnings"]] == [Fault.CONSOLE_LOST]
    assert (status["state"], status["safe"]) == ("run_up", False)
    another = opened(rig.url)
    take_lease(another)
    another.click("#stop")
    rig.until(state="idle", running=False)


@pytest.mark.soak
def test_a_page_server_killed_in_a_run_is_back_in_the_same_run_which_goes_on_as_if_nothing_had_happened(rig, opened):
    page = opened(rig.url)
    page.locator("#state").filter(has_text="idle").wait_for()
    starts(rig)
    page.locator("#state").filter(has_text="run up").wait_for()
    killed = rig.server()
    os.kill(killed, signal.SIGKILL)
    page.locator("#message").filter(has_text="no connection to the page server").wait_for()
    page.locator("#state").filter(has_text="run up").wait_for()
    assert rig.server() not in (None, killed)
    moves(page)
    page.keyboard.press("Escape")
    rig.until(state="idle", running=False)
    record = rig.record()
    assert (np.diff(record.tick["tick"]) == 1).all()
    assert (record.tick["state"][-1], record.tick["safe"].any()) == (ImpactState.ABORTED, False)


@pytest.mark.soak
def test_a_setting_is_changed_by_clicks_and_the_next_run_has_it_without_a_restart(page, rig):
    wanted = {f"trial.{key}": float(value) for key, value in TYPED.items()}
    assert apply(page, rig, **TYPED)["changed"] == wanted
    page.get_by_text("Done. The next runs have these settings.").wait_for()
    until(lambda: page.locator("#settings .changed").filter(has_text="changed").count() == len(TYPED))
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


@pytest.mark.soak
def test_a_campaign_is_led_by_clicks_alone_from_the_choice_of_its_plan_to_its_report(page, rig):
    page.get_by_role("heading", name="Plan two, 2 trials").wait_for()  # of the command line
    press(
        page, "Choose the plan", lambda: rig.client.status()["settings"]["plan"] == "another.yaml", held=False,
        before=lambda: page.locator("#plan-choice").select_option("another.yaml", timeout=PRESS_MS),
    )  # fmt: skip
    page.get_by_role("heading", name="Plan another, 2 trials").wait_for()
    press(page, "Begin or resume", lambda: rig.asks("ready"))
    page.evaluate(SEE)
    word, panel = page.get_by_label("A word on it"), page.locator("#verdict")
    for verdict, note in (("Repeat", "footstep"), ("Keep", "clean"), ("Keep", "")):
        until(lambda: rig.asks("ready"))
        press(page, "Everybody is clear: go", lambda: not rig.asks("ready"))
        until(lambda: rig.asks("verdict"))
        panel.get_by_role("img", name="Force on the obstacle").wait_for()
        until(lambda: panel.get_by_role("row").filter(has_text="passes").count() > 3)
        press(
            page, f"{verdict} the trial", lambda: not rig.asks("verdict"), held=False,
            before=lambda note=note: word.fill(note, timeout=PRESS_MS),
        )  # fmt: skip
    rig.until(state="idle", question=None)
    angles_deg, speeds_mps = page.evaluate("[[...seen.angles], [...seen.speeds]]")
    assert {60, 70} <= set(angles_deg)
    assert [speed for speed in speeds_mps if speed.startswith("0.0")], "of the trials, not only of runs without a plan"
    folder = max(rig.runs.glob("campaign_*"))
    page.get_by_role("button", name=folder.name, exact=True).click()
    with page.context.expect_page() as opening:
        page.get_by_role("link", name="Report").click()
    report = opening.value
    report.get_by_role("heading", level=1).wait_for()
    until(lambda: report.get_by_text("70").count())
    rows = [(row["angle_deg"], row["operator_verdict"], row["operator_word"]) for row in read_campaign(folder).rows]
    assert sorted(rows) == [(60.0, "keep", "clean"), (60.0, "repeat", "footstep"), (70.0, "keep", "")]
    assert page.problems == []
