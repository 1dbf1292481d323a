"""A whole `hil operate` in a browser: what its operator does by clicks, and what the rig then has in its record."""

from __future__ import annotations

import os
import re
import signal

import numpy as np
import pytest

from hil.analysis.campaign import read_campaign
from hil.experiments.impact.experiment import ImpactState
from hil.messages.fault import Fault
from hil.messages.operator_input import Arm, Start

from .conftest import NAME
from .operated_rig import LONGEST_S, PRESS_MS, operated, press, take_lease
from .scripted_server import until

pytestmark = pytest.mark.slow
# The run-up lasts until somebody stops it. A busy machine may stand still for longer than a lease lasts: runs go on.
SETTINGS = (
    "trial.start_distance_m=5", "trial.speed_mps=0.02", "trial.timeout_s=2000", "operator.console_lost=finish",
)  # fmt: skip
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
    with operated(folder, "sim_impact", SETTINGS, ("--plan", str(folder / "plan.yaml"))) as one:
        yield one


@pytest.fixture
def rig(rested):
    return rested


@pytest.fixture
def page(operated_page):
    return operated_page


def drives(page, rig):
    """Arm and start, until the rover moves."""
    press(page, "Arm", lambda: rig.client.status()["state"] != "idle")
    rig.until(state="armed")
    press(page, "Start", lambda: rig.client.status()["state"] == "run_up")
    moves(page)


def moves(page):
    """Telemetry shows that the rover moves."""
    page.locator("#speed").filter(has_text=re.compile(r"^0\.0[12]")).wait_for()


def event_tick(record, name):
    """The tick of an event that is in the record once."""
    (found,) = record.events["tick"][record.events["name"] == name]
    return int(found)


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


def test_a_page_server_killed_in_a_run_is_back_in_the_same_run_which_goes_on_as_if_nothing_had_happened(rig, opened):
    page = opened(rig.url)
    page.locator("#state").filter(has_text="idle").wait_for()
    with rig.client.lease():
        for command, state in ((Arm(), "armed"), (Start(), "run_up")):
            rig.client.take_lease()
            rig.client.ask(command)
            rig.until(state=state)
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


def test_a_campaign_is_led_by_clicks_alone_from_the_first_question_to_its_report(page, rig):
    press(page, "Begin or resume", lambda: rig.asks("ready"))
    page.evaluate(SEE)
    word = page.get_by_label("A word on it")
    for verdict, note in (("Repeat", "footstep"), ("Keep", "clean"), ("Keep", "")):
        until(lambda: rig.asks("ready"))
        press(page, "Everybody is clear: go", lambda: not rig.asks("ready"))
        until(lambda: rig.asks("verdict"))
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
