"""A browser changes settings and plan by the door that scripts use: with the lease, in the form of that socket."""

from __future__ import annotations

import pytest

from hil.messages.operator_input import ChoosePlan, Set

from .conftest import CONTENT

POLICY_VIOLATION = 1008


def test_a_viewer_without_the_lease_changes_no_setting_and_no_plan(browser, rig):
    viewer = browser.viewer()
    for reply in (viewer.command("set", key="trial.angle_deg", value=70), viewer.command("plan", name="thesis")):
        assert not reply["ok"]
        assert "needs the operator lease" in reply["error"]
    assert rig.commands() == []


def test_a_viewer_with_the_lease_sends_each_value_as_it_is(browser, rig):
    viewer = browser.viewer()
    assert viewer.lease("take")["ok"]
    for key, value in (("trial.angle_deg", 70), ("ground.kind", "firm"), ("ground.rolling", False), ("seed", None)):
        assert viewer.command("set", key=key, value=value, more=True)["ok"]
    assert viewer.command("plan", name="thesis")["ok"]
    assert rig.commands() == [
        Set("trial.angle_deg", 70, more=True), Set("ground.kind", "firm", more=True),
        Set("ground.rolling", False, more=True), Set("seed", None, more=True), ChoosePlan("thesis"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "fields", [{"value": [70]}, {"value": {}}, {}, {"value": 70, "more": 1}, {"value": 70, "lease": "mine"}]
)
def test_a_setting_of_another_form_ends_the_connection_and_changes_nothing(browser, rig, fields):
    viewer = browser.viewer()
    assert viewer.lease("take")["ok"]
    viewer.send("command", id=2, command={"type": "set", "key": "trial.angle_deg", **fields})
    assert viewer.close_code() == POLICY_VIOLATION
    assert rig.commands() == []


def test_a_setting_that_is_too_long_is_refused_in_a_sentence(browser, rig):
    viewer = browser.viewer()
    assert viewer.lease("take")["ok"]
    reply = viewer.command("set", key="trial.angle_deg", value="x" * 200)
    assert (reply["ok"], "allowed: 128" in reply["error"]) == (False, True)
    assert rig.commands() == []


def test_the_page_draws_with_what_hil_operate_shows_now(browser, served, monkeypatch):
    assert browser.json("/api/config")["name"] == CONTENT["name"]
    monkeypatch.setitem(CONTENT, "name", "another")
    assert browser.json("/api/config")["name"] == "another"
