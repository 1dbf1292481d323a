"""Injected faults come to what the fault table says, and what does not is a result that is wrong."""

from __future__ import annotations

import pytest

from drivers.faults import KINDS
from hil.app.faults.device_faults import device_cases
from hil.app.faults.injection import LOCKSTEP, Case, Expected, Injection, Outcome, times_wrong
from hil.app.faults.refusals import refusal_cases
from hil.app.faults.stage_faults import stage_cases
from hil.app.faults.table import IN_LOCKSTEP, SHORT_TRIAL
from hil.app.faults.virtual_faults import virtual_cases
from hil.config import load_config
from hil.safety.fault_table import FAULT_TABLE

RUN_UP = {"run_up": 300}


@pytest.fixture(scope="module")
def config():
    return load_config("sim_impact", [*IN_LOCKSTEP, *SHORT_TRIAL])


def device_case(config, device, kind):
    return next(
        case for case in device_cases(config, RUN_UP) if (case.injection.device, case.injection.kind) == (device, kind)
    )


def test_every_kind_is_injected_into_every_device(config):
    injected = {(case.injection.device, case.injection.kind) for case in device_cases(config, RUN_UP)}
    assert injected == {(device, kind) for device in ("daq", "drives", "valves") for kind in KINDS}


@pytest.mark.parametrize(
    ("device", "kind", "row"), [("daq", "off", 1), ("daq", "garbage", 3), ("drives", "stuck", 2), ("valves", "off", 2)]
)
def test_a_fault_of_a_device_is_noticed_and_stopped_within_its_bound(config, device, kind, row):
    result = device_case(config, device, kind).result()
    assert (result.injection.row, result.ok) == (row, True), result.outcome
    assert 0.0 < result.outcome.detected_ms <= result.outcome.reacted_ms <= result.bound_ms


def test_drives_that_take_no_command_are_stopped_by_their_own_time_out(config):
    case = next(
        case for case in stage_cases(config, RUN_UP) if (case.injection.row, case.injection.device) == (28, "drives")
    )
    result = case.result()
    assert result.ok, result.outcome
    assert result.outcome.reacted_ms == pytest.approx(100.0)


def test_a_fault_that_is_noticed_too_late_is_wrong(config):
    case = device_case(config, "daq", "off")
    result = Case(case.injection, Expected(case.expected.rows, 1.0, 1.0), case.run).result()
    assert not result.ok
    assert any("allowed: 1.0" in one for one in result.outcome.wrong)


def test_a_fault_that_is_noticed_as_another_one_is_wrong(config):
    case = device_case(config, "daq", "off")
    result = Case(case.injection, Expected(frozenset({9})), case.run).result()
    assert result.outcome.wrong == ("noticed as fault 1, expected: 9",)


def test_an_injection_that_fails_itself_is_wrong_and_ends_nothing():
    def broken(_):
        raise RuntimeError("no rig")

    result = Case(Injection(1, "off", "daq", "idle", LOCKSTEP, "sim_impact"), Expected(), broken).result()
    assert result.row()["ok"] is False
    assert result.row()["detail"] == "RuntimeError: no rig"


def test_times_are_compared_with_their_own_bounds():
    expected = Expected(frozenset({1}), 10.0, 20.0)
    assert times_wrong(expected, 10.0, 20.0) == []
    assert times_wrong(expected, None, None) == []
    assert len(times_wrong(expected, 10.1, 20.1)) == 2


def test_a_wrong_config_is_refused_with_every_section_named_at_once(config):
    *_, everything = refusal_cases(config)
    result = everything.result()
    assert result.ok, result.outcome


@pytest.mark.parametrize(("device", "kind"), [("roboclaw", "off"), ("loop", "killed")])
def test_a_fault_at_the_protocol_level_is_stopped_within_its_bound(device, kind):
    case = next(
        case
        for case in virtual_cases()
        if (case.injection.device, case.injection.kind, case.injection.state) == (device, kind, "run_up")
    )
    result = case.result()
    assert result.ok, result.outcome
    assert result.outcome.reacted_ms <= result.bound_ms


def test_a_row_is_what_json_has(config):
    result = device_case(config, "daq", "off")
    outcome = Outcome(9.0, 9.0)
    row = Case(result.injection, result.expected, lambda _: outcome).result().row()
    wanted = ("id", "fault", "kind", "device", "state", "detected_ms", "reacted_ms", "bound_ms", "ok")
    assert list(row)[:9] == list(wanted)
    assert row["fault"] == FAULT_TABLE[1].name
