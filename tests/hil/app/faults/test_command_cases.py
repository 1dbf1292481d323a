"""Forged commands at the real command server, a subscriber that never reads, a console that is killed."""

from __future__ import annotations

import pytest

from hil.app.faults import command_cases as cases
from hil.app.faults.case import NO_RUN, PROCESSES
from hil.app.faults.command_cases import FORGERIES, command_cases
from hil.app.faults.process_cases import process_cases
from hil.app.faults.table import IN_LOCKSTEP, SHORT_TRIAL
from hil.config import load_config
from hil.messages.fault import CONSOLE_SILENT_NS
from hil.operator.command_messages import Lease

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def config():
    return load_config("sim_impact", [*IN_LOCKSTEP, *SHORT_TRIAL])


@pytest.fixture(autouse=True)
def own_runtime_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def at_socket(config):
    return [case for case in command_cases(config) if case.level == PROCESSES]


@pytest.mark.parametrize("kind", list(FORGERIES))
def test_the_gate_lets_no_forged_command_through(config, kind):
    found = (case for case in command_cases(config) if case.level == NO_RUN)
    result = next(case for case in found if case.kind == kind).result()
    assert result.ok, result.outcome
    assert result.outcome.remark == "1000 refused"


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(FORGERIES))
def test_the_command_server_lets_no_forged_command_through_and_answers_the_next_valid_one(config, kind):
    result = next(case for case in at_socket(config) if case.kind == kind).result()
    assert result.ok, result.outcome
    assert result.outcome.remark == "400 refused, and the next valid request answered"


def test_a_forged_command_that_came_through_is_wrong(config, monkeypatch):
    taken = {"with the key": lambda client, _: client.frame(Lease("take"))}
    monkeypatch.setattr(cases, "FORGERIES", taken)
    forged = next(command_cases(config))
    assert forged.result().outcome.wrong == ("1000 of 1000 came through",)


@pytest.mark.slow
def test_a_command_that_the_command_server_lets_through_is_wrong(config, monkeypatch):
    taken = {"with the key": lambda client, _: client.frame(Lease("take"))}
    monkeypatch.setattr(cases, "FORGERIES", taken)
    (case,) = at_socket(config)
    assert case.result().outcome.wrong == ("20 of 400 came through",)


@pytest.mark.slow
def test_messages_are_dropped_for_the_subscriber_that_never_reads_and_for_no_other(config):
    *_, case = command_cases(config)
    result = case.result()
    assert (result.case.row, result.ok, result.outcome.injected) == (21, True, True), result.outcome


@pytest.mark.slow
def test_a_message_that_is_lost_for_the_subscriber_that_reads_is_wrong(config, monkeypatch):
    publish, lost = cases.Publisher.tick, []

    def tick(publisher, rows):
        publish(publisher, rows if lost else rows[1:])
        lost.append(1)

    monkeypatch.setattr(cases.Publisher, "tick", tick)
    monkeypatch.setattr(cases, "ANSWER_MS", 1000)
    *_, case = command_cases(config)
    assert case.result().outcome.wrong == ("1 messages of 8000 lost for the one that reads",)


def test_a_killed_console_has_the_bound_of_the_fault_table_from_its_last_heartbeat_on():
    (case,) = (case for case in process_cases() if case.row == 19)
    assert case.level == PROCESSES
    assert case.expected.rows == {19}
    assert CONSOLE_SILENT_NS * 1e-6 < case.expected.detect_ms < case.expected.react_ms < CONSOLE_SILENT_NS * 1e-6 + 20.0
