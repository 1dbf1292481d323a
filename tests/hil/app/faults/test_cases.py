"""Injected faults come to what the fault table says, and what does not is a result that is wrong."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import pytest

from drivers.interfaces import DeviceError
from hil.app.faults import case as cases
from hil.app.faults import process_cases as processes
from hil.app.faults import table
from hil.app.faults.case import (
    LOCKSTEP,
    PROCESSES,
    Case,
    ExpectedOutcome,
    FaultResult,
    InjectionOutcome,
    NotInjectedError,
    preparation,
)
from hil.app.faults.faulty_device import KINDS
from hil.app.faults.judge import stopped_ms, times_wrong
from hil.app.faults.lockstep_cases import LockstepCases, cylinder_cases
from hil.app.faults.process_cases import process_cases
from hil.app.faults.protocol_cases import protocol_cases, protocol_config
from hil.app.faults.table import IN_LOCKSTEP, SHORT_TRIAL, all_cases, config_cases
from hil.config import load_config
from hil.messages.fault import NOT_FOLLOWING_NS, Fault
from hil.safety.fault_table import FAULT_TABLE, ReactionTimes

RUN_UP = {"run_up": 300}


@pytest.fixture(scope="module")
def config():
    return load_config("sim_impact", [*IN_LOCKSTEP, *SHORT_TRIAL])


def device_case(config, device, kind):
    return next(case for case in LockstepCases(config, RUN_UP).devices() if (case.device, case.kind) == (device, kind))


def test_every_kind_is_injected_into_every_device(config):
    cases = [*LockstepCases(config, RUN_UP).devices(), *LockstepCases(config, RUN_UP).implausible()]
    injected = {(case.device, case.kind) for case in cases}
    assert injected == {(device, kind) for device in ("daq", "drives", "valves") for kind in KINDS}


@pytest.mark.slow
def test_every_row_of_the_fault_table_is_injected_where_the_rig_has_a_device_for_it(config, monkeypatch):
    monkeypatch.setattr(table, "state_ticks", lambda *_: RUN_UP)
    monkeypatch.setattr(table, "cannot_mount", lambda: "")
    assert {case.row for case in all_cases(config, config)} == set(FAULT_TABLE) - {33, 40}
    measured = load_config("sim_impact", [*IN_LOCKSTEP, *SHORT_TRIAL, "motion={}"])
    assert {case.row for case in all_cases(measured, measured)} == set(FAULT_TABLE)


@pytest.mark.slow
def test_a_case_is_data(config, monkeypatch):
    monkeypatch.setattr(table, "state_ticks", lambda *_: RUN_UP)
    for case in all_cases(config, config):
        assert pickle.loads(pickle.dumps(case)).expected == case.expected


def test_arming_is_refused_with_a_sensor_that_is_open_or_shorted(config):
    offset, noise = list(LockstepCases(config, RUN_UP).sensors())[:2]
    assert [(case.kind, case.result().outcome) for case in (offset, noise)] == [
        (kind, InjectionOutcome(remark="arming refused")) for kind in ("offset", "noise")
    ]


@pytest.mark.slow
def test_a_sensor_in_its_band_that_is_expected_to_be_refused_is_wrong(config):
    case = next(LockstepCases(config, RUN_UP).sensors())
    assert "it was armed" in replace(case, config=config).result().outcome.wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "kind", "row"), [("daq", "off", 1), ("daq", "garbage", 3), ("drives", "stuck", 2), ("valves", "off", 2)]
)
def test_a_fault_of_a_device_is_noticed_and_stopped_within_its_bound(config, device, kind, row):
    result = device_case(config, device, kind).result()
    assert (result.case.row, result.ok) == (row, True), result.outcome
    assert 0.0 < result.outcome.detected_ms <= result.outcome.reacted_ms <= result.bound_ms


@pytest.mark.slow
def test_drives_that_stop_by_themselves_are_marked_and_the_run_goes_on(config):
    (case,) = (case for case in LockstepCases(config, RUN_UP).stages() if case.row == Fault.SPEED_NOT_FOLLOWING)
    result = case.result()
    assert result.ok, result.outcome
    assert NOT_FOLLOWING_NS / 1e6 <= result.outcome.detected_ms <= result.bound_ms
    assert result.outcome.reacted_ms is None


def test_drives_that_take_no_command_are_stopped_by_their_own_time_out(config):
    case = next(case for case in LockstepCases(config, RUN_UP).stages() if (case.row, case.device) == (28, "drives"))
    result = case.result()
    assert result.ok, result.outcome
    assert result.outcome.reacted_ms == pytest.approx(100.0)


@pytest.mark.slow
def test_faults_of_cylinders_are_noticed_within_their_bounds_and_only_marked_where_the_table_says_so():
    stuck, beyond, near = (case.result() for case in cylinder_cases())
    assert [(one.case.row, one.ok) for one in (stuck, beyond, near)] == [(17, True), (30, True), (31, True)]
    assert stuck.outcome.detected_ms <= 111.0
    assert stuck.outcome.reacted_ms == pytest.approx(500.0, abs=1.0)
    assert beyond.outcome.reacted_ms <= beyond.bound_ms == 101.0
    assert near.outcome.detected_ms <= near.bound_ms
    assert near.outcome.reacted_ms is None


@pytest.mark.slow
def test_a_lost_console_comes_to_what_the_table_says(config):
    results = [case.result() for case in LockstepCases(config, RUN_UP).consoles()]
    assert [result.outcome for result in results if not result.ok] == []
    stopped, finished = results
    assert stopped.outcome.reacted_ms == pytest.approx(501.0)
    assert finished.outcome.reacted_ms is None


def test_a_fault_that_is_noticed_too_late_is_wrong(config):
    case = device_case(config, "daq", "off")
    result = replace(case, expected=ExpectedOutcome(case.expected.rows, 1.0, 1.0)).result()
    assert not result.ok
    assert any("allowed: 1.0" in one for one in result.outcome.wrong)


def test_a_fault_that_is_noticed_as_another_one_is_wrong(config):
    case = device_case(config, "daq", "off")
    result = replace(case, expected=ExpectedOutcome(frozenset({9}))).result()
    (wrong,) = result.outcome.wrong
    assert wrong.startswith("noticed as fault 1 (")
    assert wrong.endswith(", expected: 9")


def test_a_fault_whose_text_does_not_name_its_cause_is_wrong(config):
    case = device_case(config, "daq", "off")
    result = replace(case, expected=replace(case.expected, says="-200279")).result()
    (wrong,) = result.outcome.wrong
    assert wrong.endswith(", expected: -200279")


def made_by(runner, config):
    return Case(12, "killed", "loop process", "run_up", PROCESSES, config, runner).result()


def test_an_injection_that_fails_itself_is_wrong_and_ends_nothing(config):
    def broken(_):
        raise RuntimeError("no rig")

    result = Case(1, "off", "daq", "idle", LOCKSTEP, config, broken).result()
    assert result.row()["ok"] is False
    assert result.row()["detail"] == "RuntimeError: no rig"


@pytest.mark.parametrize(("in_vain", "ok", "made"), [(0, True, 1), (2, True, 3), (3, None, 3)])
def test_a_fault_that_could_not_be_injected_is_tried_again_and_then_is_neither_ok_nor_wrong(config, in_vain, ok, made):
    tries = []

    def run(_):
        tries.append(1)
        if len(tries) <= in_vain:
            raise NotInjectedError("the trial ended by itself before the signal")
        return InjectionOutcome()

    result = made_by(run, config)
    assert (result.row()["ok"], len(tries)) == (ok, made)


@pytest.mark.parametrize("row", [12, 19])
def test_a_simulated_rig_that_did_not_start_is_no_fault_of_the_controller(monkeypatch, row):
    def spawn(*_):
        tries.append(1)
        raise DeviceError("simulated rig: it could not start: no memory")

    tries: list[int] = []
    monkeypatch.setattr(processes, "spawn_simulator", spawn)
    monkeypatch.setattr(cases, "TRIES", 2)
    found = next(case for case in process_cases() if case.row == row).result().row()
    assert (found["ok"], len(tries)) == (None, 2)
    assert found["disturbed"] == "no trial could be made: simulated rig: it could not start: no memory"


def test_a_simulated_rig_that_is_lost_before_the_signal_is_no_fault_of_the_controller_and_later_it_is(config):
    def run(lost_before):
        def run(_):
            with preparation():
                if lost_before:
                    raise DeviceError("simulated rig: no answer")
            raise DeviceError("simulated rig: no answer")

        return made_by(run, config)

    assert [run(lost_before).row()["ok"] for lost_before in (True, False)] == [None, False]


def test_times_are_compared_with_their_own_bounds():
    expected = ExpectedOutcome(frozenset({1}), 10.0, 20.0)
    assert times_wrong(expected, 10.0, 20.0) == []
    assert times_wrong(expected, None, None) == []
    assert len(times_wrong(expected, 10.1, 20.1)) == 2


def test_a_wrong_config_is_refused_with_every_section_named_at_once(config):
    *_, everything = config_cases(config)
    result = everything.result()
    assert result.ok, result.outcome


@pytest.mark.slow
@pytest.mark.parametrize(("device", "kind"), [("roboclaw", "off"), ("loop", "killed")])
def test_a_fault_at_the_protocol_level_is_stopped_within_its_bound(device, kind):
    case = next(case for case in protocol_cases() if (case.device, case.kind, case.state) == (device, kind, "run_up"))
    result = case.result()
    assert result.ok, result.outcome
    assert result.outcome.reacted_ms <= result.bound_ms


def test_processes_are_killed_and_stopped_and_their_bounds_are_those_of_the_table():
    found = [case for case in process_cases() if case.row != 19]
    struck = {(case.device, case.kind) for case in found}
    names = ("loop process", "drives process", "watchdog process")
    others = {("loop process", "Ctrl-C"), ("drives process", "driver fault")}
    assert struck == {(name, kind) for name in names for kind in ("killed", "stopped")} | others
    assert {case.row for case in found} == {12, 18, 29, 41}
    workers = [case.expected.react_ms for case in found if case.row == 29]
    assert workers == [FAULT_TABLE[29].bound_for(ReactionTimes(protocol_config()))] * 2


def test_stops_count_for_controllers_that_ran_at_the_injection():
    seen = {"starts": [(1, 5), (2, 5)], "stops": [(2, 8), (1, 25_000_000)], "timeouts": [(2, 90_000_000)]}
    assert stopped_ms(seen, 10) == pytest.approx(25.0, abs=1e-3)
    assert stopped_ms(seen, 30_000_000) is None
    assert stopped_ms({**seen, "stops": []}, 10) == math.inf


def test_the_bound_is_that_of_the_detection_where_nothing_ran_that_had_to_stop(config):
    case, expected = device_case(config, "daq", "off"), ExpectedOutcome(frozenset({1}), 10.0, 20.0)

    def bound_ms(outcome):
        return FaultResult(replace(case, expected=expected), outcome).bound_ms

    assert bound_ms(InjectionOutcome(9.0, 15.0)) == bound_ms(InjectionOutcome(None, 15.0)) == 20.0
    assert bound_ms(InjectionOutcome(9.0)) == 10.0


def test_a_row_is_what_json_has(config):
    row = FaultResult(device_case(config, "daq", "off"), InjectionOutcome(9.0, 9.0)).row()
    wanted = ("id", "fault", "kind", "device", "state", "detected_ms", "reacted_ms", "bound_ms", "ok")
    assert list(row)[:9] == list(wanted)
    assert row["fault"] == FAULT_TABLE[1].name
