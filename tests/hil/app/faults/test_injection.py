"""Injected faults come to what the fault table says, and what does not is a result that is wrong."""

from __future__ import annotations

import math

import pytest

from drivers.faults import KINDS
from drivers.interfaces import DeviceError
from hil.app.faults import console_process, injection, operator_faults, process_faults, table
from hil.app.faults.console_process import console_process_cases
from hil.app.faults.device_faults import cylinder_cases, device_cases, implausible_cases
from hil.app.faults.injection import (
    LOCKSTEP,
    PROCESSES,
    Case,
    Expected,
    Injection,
    Outcome,
    preparation,
    times_wrong,
)
from hil.app.faults.operator_faults import operator_cases
from hil.app.faults.process_faults import process_cases
from hil.app.faults.refusals import refusal_cases
from hil.app.faults.stage_faults import stage_cases
from hil.app.faults.table import IN_LOCKSTEP, SHORT_TRIAL, all_cases
from hil.app.faults.virtual_faults import virtual_cases
from hil.app.faults.virtual_run import stopped_ms, virtual_config
from hil.config import load_config
from hil.operator.command_messages import Lease
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
    cases = [*device_cases(config, RUN_UP), *implausible_cases(config, RUN_UP)]
    injected = {(case.injection.device, case.injection.kind) for case in cases}
    assert injected == {(device, kind) for device in ("daq", "drives", "valves") for kind in KINDS}


def test_every_row_of_the_fault_table_is_injected(config, monkeypatch):
    monkeypatch.setattr(table, "state_ticks", lambda *_: RUN_UP)
    monkeypatch.setattr(table, "cannot_mount", lambda: "")
    assert {case.injection.row for case in all_cases(config, config)} == set(FAULT_TABLE)


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


def test_faults_of_cylinders_are_noticed_within_their_bounds_and_only_marked_where_the_table_says_so():
    stuck, beyond, near = (case.result() for case in cylinder_cases())
    assert [(one.injection.row, one.ok) for one in (stuck, beyond, near)] == [(17, True), (30, True), (31, True)]
    assert stuck.outcome.detected_ms <= 111.0
    assert stuck.outcome.reacted_ms == pytest.approx(500.0, abs=1.0)
    assert beyond.outcome.reacted_ms <= beyond.bound_ms == 101.0
    assert near.outcome.detected_ms <= near.bound_ms
    assert near.outcome.reacted_ms is None


def test_a_lost_console_and_forged_commands_come_to_what_the_table_says(config):
    results = [case.result() for case in operator_cases(config, RUN_UP)]
    assert [result.outcome for result in results if not result.ok] == []
    stopped, finished, *forged = results
    assert stopped.outcome.reacted_ms == pytest.approx(501.0)
    assert finished.outcome.reacted_ms is None
    assert len(forged) == 5


def test_a_forged_command_that_came_through_is_wrong(config, monkeypatch):
    taken = {"with the key": lambda client, _: client.frame(Lease("take"))}
    monkeypatch.setattr(operator_faults, "FORGERIES", taken)
    *_, forged = operator_cases(config, RUN_UP)
    assert forged.result().outcome.wrong == ("1000 of 1000 came through",)


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


@pytest.mark.parametrize(("in_vain", "ok", "made"), [(0, True, 1), (2, True, 3), (3, None, 3)])
def test_a_fault_that_could_not_be_injected_is_tried_again_and_then_is_neither_ok_nor_wrong(in_vain, ok, made):
    tries = []

    def run(_):
        tries.append(1)
        late = len(tries) <= in_vain
        return Outcome(disturbed="the trial ended by itself before the signal", injected=False) if late else Outcome()

    result = Case(Injection(12, "killed", "loop process", "run_up", PROCESSES, "sim_wire"), Expected(), run).result()
    assert (result.row()["ok"], len(tries)) == (ok, made)


@pytest.mark.parametrize("module", [process_faults, console_process])
def test_a_simulated_rig_that_did_not_start_is_no_fault_of_the_controller(monkeypatch, module):
    def spawn(*_):
        tries.append(1)
        raise DeviceError("simulated rig: it could not start: no memory")

    tries: list[int] = []
    monkeypatch.setattr(module, "spawn_simulator", spawn)
    monkeypatch.setattr(injection, "TRIES", 2)
    case = next(iter(process_cases() if module is process_faults else console_process_cases()))
    row = case.result().row()
    assert (row["ok"], len(tries)) == (None, 2)
    assert row["disturbed"] == "no trial could be made: simulated rig: it could not start: no memory"


def test_a_simulated_rig_that_is_lost_before_the_signal_is_no_fault_of_the_controller_and_later_it_is():
    def run(lost_before):
        def run(_):
            with preparation():
                if lost_before:
                    raise DeviceError("simulated rig: no answer")
            raise DeviceError("simulated rig: no answer")

        return Case(Injection(12, "killed", "loop process", "run_up", PROCESSES, "sim_wire"), Expected(), run).result()

    assert [run(lost_before).row()["ok"] for lost_before in (True, False)] == [None, False]


def test_times_are_compared_with_their_own_bounds():
    expected = Expected(frozenset({1}), 10.0, 20.0)
    assert times_wrong(expected, 10.0, 20.0) == []
    assert times_wrong(expected, None, None) == []
    assert len(times_wrong(expected, 10.1, 20.1)) == 2


def test_a_wrong_config_is_refused_with_every_section_named_at_once(config):
    *_, everything = refusal_cases(config)
    result = everything.result()
    assert result.ok, result.outcome


@pytest.mark.slow
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


def test_processes_are_killed_and_stopped_and_their_bounds_are_those_of_the_table():
    cases = list(process_cases())
    struck = {(case.injection.device, case.injection.kind) for case in cases}
    names = ("loop process", "drives process", "watchdog process")
    assert struck == {(name, kind) for name in names for kind in ("killed", "stopped")} | {("loop process", "Ctrl-C")}
    assert {case.injection.row for case in cases} == {12, 18, 29}
    workers = [case.expected.react_ms for case in cases if case.injection.row == 29]
    assert workers == [FAULT_TABLE[29].bound_for(virtual_config())] * 2


def test_stops_count_for_controllers_that_ran_at_the_injection():
    seen = {"starts": [(1, 5), (2, 5)], "stops": [(2, 8), (1, 25_000_000)], "timeouts": [(2, 90_000_000)]}
    assert stopped_ms(seen, 10) == pytest.approx(25.0, abs=1e-3)
    assert stopped_ms(seen, 30_000_000) is None
    assert stopped_ms({**seen, "stops": []}, 10) == math.inf


def test_the_bound_is_that_of_the_detection_where_nothing_ran_that_had_to_stop(config):
    case, expected = device_case(config, "daq", "off"), Expected(frozenset({1}), 10.0, 20.0)

    def bound_ms(outcome):
        return Case(case.injection, expected, lambda _: outcome).result().bound_ms

    assert bound_ms(Outcome(9.0, 15.0)) == bound_ms(Outcome(None, 15.0)) == 20.0
    assert bound_ms(Outcome(9.0)) == 10.0


def test_a_row_is_what_json_has(config):
    result = device_case(config, "daq", "off")
    outcome = Outcome(9.0, 9.0)
    row = Case(result.injection, result.expected, lambda _: outcome).result().row()
    wanted = ("id", "fault", "kind", "device", "state", "detected_ms", "reacted_ms", "bound_ms", "ok")
    assert list(row)[:9] == list(wanted)
    assert row["fault"] == FAULT_TABLE[1].name
