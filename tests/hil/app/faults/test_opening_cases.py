"""Devices that are not as they should be when they are opened: each is set back, or refused with its name."""

from dataclasses import replace

import pytest

from hil.app.faults import opening_cases as opening
from hil.app.faults.case import LOCKSTEP, PROCESSES, VIRTUAL_TIME, ExpectedOutcome
from hil.app.faults.judge import judge_refusal
from hil.app.faults.opening_cases import opening_cases


@pytest.fixture(scope="module")
def cases():
    return {(case.kind, case.device, case.level): case for case in opening_cases()}


def test_each_thing_that_is_found_at_opening_is_a_case_in_virtual_and_in_real_time(cases):
    found = {
        level: {(kind, device) for kind, device, where in cases if where == level}
        for level in (VIRTUAL_TIME, PROCESSES)
    }
    assert found[PROCESSES] == found[VIRTUAL_TIME] | {("second program", "port")}
    assert found[VIRTUAL_TIME] == {
        *(("another device", line) for line in ("roboclaw", "cia402")),
        *(("another device that streams", line) for line in ("roboclaw", "modbus", "roboteq", "cia402")),
        *((kind, "cia402") for kind in ("two drives of one node-ID", "drive without a dead-man")),
        ("settings of one byte unanswered", "roboclaw"),
        ("script running", "roboteq"),
        ("script at power-up", "roboteq"),
        ("binary output on", "vectornav"),
        ("other check sum", "vectornav"),
        ("frame turned", "vectornav"),
        ("counts below 0", "encoders"),
    }


def test_in_lockstep_another_device_is_refused_with_its_words_and_nothing_moves(cases):
    found = [case for case in cases.values() if case.level == LOCKSTEP]
    assert [case.device for case in found] == ["daq", "drives", "valves"]
    for case in found:
        result = case.result()
        assert (result.outcome.wrong, result.outcome.remark) == ((), f"refused with: {case.device}: {opening.REFUSAL}")
    opened = replace(found[0], expected=ExpectedOutcome(refused_with="no such words")).result()
    assert not opened.ok


def test_a_refusal_in_other_words_or_of_what_can_be_set_back_or_with_a_wheel_driven_is_wrong():
    expected = ExpectedOutcome(refused_with="its identity is 12")
    assert judge_refusal("port: its identity is 12, needed: 11", [], expected).wrong == ()
    assert "expected: its identity is 12" in judge_refusal("no answer, check cable", [], expected).wrong[0]
    assert "expected: it is opened" in judge_refusal("no answer, check cable", [], ExpectedOutcome()).wrong[0]
    assert judge_refusal("its identity is 12", ["a wheel was driven"], expected).wrong == ("a wheel was driven",)


@pytest.mark.ci_cases("another device roboclaw", "script running roboteq")
@pytest.mark.slow
@pytest.mark.parametrize(
    "which",
    [
        *(("another device", line) for line in ("roboclaw", "cia402")),
        *(("another device that streams", line) for line in ("roboclaw", "modbus", "roboteq", "cia402")),
        *((kind, "cia402") for kind in ("two drives of one node-ID", "drive without a dead-man")),
        ("settings of one byte unanswered", "roboclaw"),
        ("script running", "roboteq"),
        ("script at power-up", "roboteq"),
        ("binary output on", "vectornav"),
        ("other check sum", "vectornav"),
        ("frame turned", "vectornav"),
        ("counts below 0", "encoders"),
    ],
    ids=" ".join,
)
def test_what_is_found_at_opening_is_set_back_or_refused_with_its_name(cases, which):
    result = cases[*which, VIRTUAL_TIME].result()
    assert result.ok, result.outcome


@pytest.mark.slow
def test_a_device_that_is_as_it_should_be_is_no_refusal(cases):
    case = replace(cases["another device", "roboclaw", VIRTUAL_TIME], act=())
    assert any("its devices were opened" in one for one in case.result().outcome.wrong)


@pytest.mark.ci_cases("second program port")
@pytest.mark.slow
@pytest.mark.parametrize("which", [("another device", "roboclaw"), ("second program", "port")], ids=" ".join)
def test_real_processes_refuse_what_is_found_with_its_name(cases, which):
    result = cases[*which, PROCESSES].result()
    assert result.ok, result.outcome
    assert result.outcome.remark.startswith("refused with: ")
