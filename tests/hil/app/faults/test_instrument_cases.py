"""Faults of instruments of motion in lockstep: a mark, or Safe where the experiment needs the instrument."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hil.app.faults.case import ExpectedOutcome
from hil.app.faults.faulty_device import MOTION_KINDS
from hil.app.faults.instrument_cases import instrument_cases
from hil.app.faults.table import IN_LOCKSTEP, SHORT_TRIAL
from hil.config import load_config
from hil.config.schema.trial import TrialConfig
from hil.messages.fault import Fault

RUN_UP = {"idle": 51, "run_up": 300}
SETTINGS = (*IN_LOCKSTEP, *SHORT_TRIAL, "motion={measures: pose}", "imu={}", "joints={}")


def cases(*settings):
    config = load_config("sim_impact", [*SETTINGS, *settings])
    return {(case.device, case.kind, case.state): case for case in instrument_cases(config, RUN_UP)}


@pytest.fixture
def needed(monkeypatch):
    monkeypatch.setattr(TrialConfig, "needs_instruments", lambda self, rig: ("motion", "imu", "joints"))


def test_a_rig_without_instruments_has_no_cases():
    assert list(instrument_cases(load_config("sim_impact", [*IN_LOCKSTEP, *SHORT_TRIAL]), RUN_UP)) == []


def test_every_kind_is_injected_into_every_instrument_of_the_rig():
    found = {(device, kind) for device, kind, state in cases() if state == "run_up"}
    assert found == {(device, kind) for device in ("motion", "imu", "joints") for kind in MOTION_KINDS}
    assert {device for device, *_ in cases("imu=null")} == {"motion", "joints"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "kind"),
    [("motion", "off"), ("motion", "jump"), ("imu", "stuck"), ("joints", "garbage"), ("motion", "playback")],
)
def test_an_instrument_that_fails_is_marked_within_its_bound_and_the_run_goes_on(device, kind):
    result = cases()[device, kind, "run_up"].result()
    assert result.ok, result.outcome
    assert 0.0 < result.outcome.detected_ms <= result.bound_ms
    assert result.outcome.reacted_ms is None


@pytest.mark.slow
@pytest.mark.parametrize(("device", "kind"), [("motion", "off"), ("joints", "jump"), ("motion", "playback")])
def test_an_instrument_that_the_experiment_needs_leads_to_safe_within_its_bound(needed, device, kind):
    result = cases()[device, kind, "run_up"].result()
    assert result.ok, result.outcome
    assert result.outcome.detected_ms <= result.outcome.reacted_ms <= result.bound_ms


@pytest.mark.slow
@pytest.mark.parametrize("device", ["motion", "imu", "joints"])
def test_a_rig_is_not_armed_with_an_instrument_that_plays_a_recording_back(device):
    case = cases()[device, "playback", "idle"]
    assert case.row == Fault.NOT_LIVE
    assert case.result().ok, case.result().outcome


@pytest.mark.slow
def test_safe_where_a_mark_is_expected_is_wrong_and_so_is_a_mark_where_safe_is(monkeypatch):
    case = cases()["motion", "off", "run_up"]
    (wrong,) = replace(case, expected=ExpectedOutcome(frozenset({33}), 300.0, 300.0)).result().outcome.wrong
    assert wrong == "only marked, expected: Safe"
    monkeypatch.setattr(TrialConfig, "needs_instruments", lambda self, rig: ("motion",))
    (wrong,) = case.result().outcome.wrong
    assert wrong == "Safe by fault 33, expected: the run goes on"


@pytest.mark.slow
@pytest.mark.parametrize(("device", "kind"), [("motion", "jump"), ("imu", "wrong"), ("joints", "off")])
def test_a_rig_is_not_armed_with_an_instrument_that_fails(device, kind):
    result = cases()[device, kind, "idle"].result()
    assert result.ok, result.outcome
