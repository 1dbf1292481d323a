"""Forged commands at the real command server, a subscriber that never reads, a console that is killed."""

from __future__ import annotations

import pytest

from hil.app.faults import socket_faults
from hil.app.faults.console_process import console_process_cases
from hil.app.faults.injection import PROCESSES
from hil.app.faults.operator_faults import FORGERIES
from hil.app.faults.socket_faults import socket_cases
from hil.app.faults.table import IN_LOCKSTEP, SHORT_TRIAL
from hil.config import load_config
from hil.messages.fault_bounds import CONSOLE_SILENT_NS
from hil.operator.command_messages import Lease

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def config():
    return load_config("sim_impact", [*IN_LOCKSTEP, *SHORT_TRIAL])


@pytest.fixture(autouse=True)
def own_runtime_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(FORGERIES))
def test_the_command_server_lets_no_forged_command_through_and_answers_the_next_valid_one(config, kind):
    result = next(case for case in socket_cases(config) if case.injection.kind == kind).result()
    assert result.ok, result.outcome
    assert result.injection.level == PROCESSES
    assert result.outcome.remark == "400 refused, and the next valid request answered"


def test_a_command_that_the_command_server_lets_through_is_wrong(config, monkeypatch):
    taken = {"with the key": lambda client, _: client.frame(Lease("take"))}
    monkeypatch.setattr(socket_faults, "FORGERIES", taken)
    case, _ = socket_cases(config)
    assert case.result().outcome.wrong == ("20 of 400 came through",)


@pytest.mark.slow
def test_messages_are_dropped_for_the_subscriber_that_never_reads_and_for_no_other(config):
    *_, case = socket_cases(config)
    result = case.result()
    assert (result.injection.row, result.ok, result.outcome.injected) == (21, True, True), result.outcome


@pytest.mark.slow
def test_a_message_that_is_lost_for_the_subscriber_that_reads_is_wrong(config, monkeypatch):
    publish, lost = socket_faults.Publisher.tick, []

    def tick(publisher, rows):
        publish(publisher, rows if lost else rows[1:])
        lost.append(1)

    monkeypatch.setattr(socket_faults.Publisher, "tick", tick)
    monkeypatch.setattr(socket_faults, "ANSWER_MS", 1000)
    *_, case = socket_cases(config)
    assert case.result().outcome.wrong == ("1 messages of 8000 lost for the one that reads",)


def test_a_killed_console_has_the_bound_of_the_fault_table_from_its_last_heartbeat_on():
    (case,) = console_process_cases()
    assert (case.injection.row, case.injection.level) == (19, PROCESSES)
    assert case.expected.rows == {19}
    assert CONSOLE_SILENT_NS * 1e-6 < case.expected.detect_ms < case.expected.react_ms < CONSOLE_SILENT_NS * 1e-6 + 20.0
