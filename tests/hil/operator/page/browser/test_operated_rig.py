"""A whole `hil operate` in a browser: what its operator does by clicks, and what the rig then has in its record."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hil.analysis.campaign import read_campaign
from hil.messages.fault import Fault

from .operated_rig import OperatedRig

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def processes(chromium, tmp_path_factory):
    """One rig for all tests; each leaves it at rest."""
    rig = OperatedRig(tmp_path_factory.mktemp("operated"))
    yield rig
    rig.close()


@pytest.fixture
def rig(processes):
    yield processes
    processes.rest()


@pytest.fixture
def page(rig, opened):
    """The page of an operator, who holds the lease."""
    one = opened(rig.url)
    take_lease(one)
    one.problems.clear()  # the login form came with 401
    return one


def take_lease(page):
    """Take the lease, as soon as nobody else holds it."""
    page.get_by_role("button", name="Take the lease").click()
    page.get_by_role("button", name="Release the lease").wait_for()


def press_twice(page, name):
    """A busy machine may let the first press expire before the second one comes."""
    again = page.get_by_role("button", name=f"{name}: press again")
    while not again.is_visible():
        page.get_by_role("button", name=name, exact=True).click()
    again.click()


def drives(page, rig):
    """Arm and start, until the rover moves."""
    press_twice(page, "Arm")
    rig.until(state="armed")
    press_twice(page, "Start")
    rig.until(state="run_up")
    page.locator("#speed").filter(has_text=re.compile(r"^0\.0[12]")).wait_for()  # telemetry shows that it moves


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
    assert not rig.client.status()["faults"]


def test_a_tab_that_is_closed_in_the_run_up_ends_the_lease_and_the_run_is_stopped_as_the_config_says(page, rig, opened):
    drives(page, rig)
    page.close()
    status = rig.until(state="idle", running=False, holder=None)
    assert [fault["number"] for fault in status["faults"]] == [Fault.CONSOLE_LOST]
    last = rig.record().tick[-1]
    assert (last["safe"], last["cut"]) == (1, 1)
    another = opened(rig.url)
    take_lease(another)
    another.get_by_role("button", name=f"Clear fault {Fault.CONSOLE_LOST:d}").click()
    rig.until(faults=[])


def test_a_campaign_is_led_by_clicks_alone_from_the_first_question_to_its_report(page, rig):
    press_twice(page, "Begin or resume")
    for verdict, word in (("Repeat", "footstep"), ("Keep", "clean"), ("Keep", "")):
        page.get_by_role("button", name="Everybody is clear: go", exact=True).wait_for()
        press_twice(page, "Everybody is clear: go")
        page.get_by_label("A word on it").fill(word)
        page.get_by_role("button", name=f"{verdict} the trial").click()
    rig.until(state="idle", question=None)
    folder = max(rig.runs.glob("campaign_*"))
    page.get_by_role("button", name=folder.name, exact=True).click()
    with page.context.expect_page() as opening:
        page.get_by_role("link", name="Report").click()
    report = opening.value
    report.get_by_role("heading", level=1).wait_for()
    assert report.get_by_text("70").count()
    rows = [(row["angle_deg"], row["operator_verdict"], row["operator_word"]) for row in read_campaign(folder).rows]
    assert sorted(rows) == [(60.0, "keep", "clean"), (60.0, "repeat", "footstep"), (70.0, "keep", "")]
    assert page.problems == []
