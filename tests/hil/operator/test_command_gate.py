"""Each command needs a valid key, a session and a new number, and all but stops need the operator lease."""

from __future__ import annotations

import msgspec
import pytest

from hil.messages.fault import CONSOLE_SILENT_NS
from hil.messages.operator_input import (
    Arm,
    Campaign,
    ClearFault,
    Custom,
    EStop,
    Jog,
    JogJoint,
    LeaseChange,
    Mode,
    RefusedCommands,
    SetLoads,
    SetPoint,
    Start,
    Stop,
    Valve,
    Verdict,
    command_to_bytes,
)
from hil.operator.command_messages import (
    MOST_COMMANDS_PER_S,
    MOST_REQUEST_BYTES,
    MOST_SESSIONS,
    MOST_STRANGERS_PER_S,
    CommandGate,
    Hello,
    Request,
    Status,
)

MS = 1_000_000
NEED_THE_LEASE = [
    Arm(), Start(), ClearFault(18), SetPoint("speed_mps", 0.1), Mode("hold"), SetLoads("uniform"),
    Jog(("front_left",), 0.05, 1.0), JogJoint("mast", 5.0, 2.0, 1.0), Valve("left", "extend", 0.5), Campaign("start"),
    Verdict("keep"), Custom("gait"),
]  # fmt: skip


@pytest.mark.parametrize("command", NEED_THE_LEASE, ids=lambda one: type(one).__name__)
def test_a_command_is_handed_on_to_whoever_holds_the_lease_and_to_nobody_else(client, sink, command):
    anna, ben = client("anna"), client("ben")
    assert ben.ask(command).refusal == "no_lease"
    assert anna.lease("take").ok
    assert ben.ask(command).refusal == "no_lease"
    assert sink.commands == []
    assert anna.ask(command).ok
    assert sink.commands == [command]


@pytest.mark.parametrize("stop", [Stop("enough"), EStop("hand on the button")])
def test_stops_need_a_valid_key_and_no_lease(client, sink, stop):
    client("anna").lease("take")
    assert client("ben").ask(stop).ok
    assert sink.commands == [stop]


@pytest.mark.parametrize("reason", ['"' * 500, "\x1b[2J", "a\nb"])
@pytest.mark.parametrize("stop", [Stop, EStop])
def test_a_stop_is_not_refused_for_its_text(client, sink, stop, reason):
    assert client().ask(stop(reason)).ok
    assert sink.commands == [stop()]


def test_two_clients_never_hold_the_lease_together(client, sink):
    anna, ben = client("anna"), client("ben")
    assert anna.lease("take").lease.yours
    refused = ben.lease("take")
    assert refused.refusal == "lease_held"
    assert "anna holds the operator lease" in refused.error
    assert ben.lease("keep").refusal == "lease_lost"
    assert ben.lease("release").refusal == "lease_lost"
    assert anna.lease("release").ok
    assert ben.lease("take").lease.holder == "ben"
    assert anna.lease("keep").refusal == "lease_lost"
    held = [notice for notice in sink.notices if isinstance(notice, LeaseChange)]
    assert held == [LeaseChange("anna", "taken"), LeaseChange("", "released"), LeaseChange("ben", "taken")]


def test_processes_with_the_same_key_and_name_are_one_client(client, sink):
    console, script = client("anna"), client("anna")
    console.lease("take")
    assert script.lease("take").lease.held_before
    assert script.ask(Arm()).ok
    assert sink.commands == [Arm()]


def test_the_lease_expires_without_a_heartbeat_and_not_a_moment_sooner(client, sink, gate):
    anna = client("anna")
    anna.lease("take")
    gate.pass_time(CONSOLE_SILENT_NS)
    assert sink.leases[-1] == ("anna", 0)
    gate.pass_time(CONSOLE_SILENT_NS + 1)
    assert sink.leases[-1] == ("", 0)
    assert sink.notices[-1] == LeaseChange("", "expired")
    anna.now_ns = CONSOLE_SILENT_NS + 2
    assert anna.ask(Arm()).refusal == "no_lease"
    assert sink.commands == []


def test_a_heartbeat_that_comes_too_late_does_not_bring_the_lease_back(client, sink):
    """Heartbeats that waited while the server was suspended are no proof that the console is still there."""
    anna = client("anna")
    anna.lease("take")
    anna.now_ns = CONSOLE_SILENT_NS + 1
    assert anna.lease("keep").refusal == "lease_lost"
    assert sink.leases[-1][0] == ""


def test_heartbeats_keep_the_lease_and_tell_the_resident_process_when(client, sink):
    anna = client("anna")
    anna.lease("take")
    for number in range(1, 50):
        anna.now_ns = number * 400 * MS
        assert anna.lease("keep").ok
    assert sink.leases[-1] == ("anna", 49 * 400 * MS)
    assert anna.ask(Arm()).ok


def test_only_heartbeats_keep_the_lease(client):
    """A script that hangs in its own work while another thread asks for the status is no console."""
    anna = client("anna")
    anna.lease("take")
    for anna.now_ns in (300 * MS, 400 * MS):
        anna.ask(Status())
    anna.now_ns = CONSOLE_SILENT_NS + 1
    assert anna.ask(Arm()).refusal == "no_lease"


def test_a_request_counts_once(client, sink):
    anna = client("anna")
    anna.lease("take")
    frame = anna.frame(Start())
    assert anna.send(frame).ok
    assert anna.send(frame).refusal == "replayed"
    assert anna.ask(Start(), sequence=2).refusal == "replayed"
    assert sink.commands == [Start()]


def test_a_recorded_request_is_worth_nothing_in_another_session_or_after_a_restart(client, sink):
    anna = client("anna")
    anna.lease("take")
    recorded = anna.frame(Start())
    after_restart = CommandGate(sink, bytes(range(32)))
    again = client("anna")
    again.gate = after_restart
    assert again.send(recorded).refusal == "no_session"
    assert sink.commands == []


def test_a_reply_cannot_be_returned_as_a_request(client, gate):
    anna = client("anna")
    reply = gate.handle(anna.frame(Status()), "", 0)
    assert anna.send(reply).refusal == "not_authenticated"


def test_status_is_what_the_resident_process_has_written(client, sink):
    assert client().ask(Status()).status == {"state": "idle"}


@pytest.mark.parametrize("content", [b"", b"\xff", b"[1]", b'{"state":'])
def test_a_status_that_is_missing_or_damaged_ends_nothing(client, sink, content):
    sink.content = content
    answer = client().ask(Status())
    assert answer.ok
    assert answer.status is None


def test_a_loop_that_does_not_read_is_named(client, sink):
    anna = client("anna")
    anna.lease("take")
    sink.room = False
    assert anna.ask(Arm()).refusal == "not_read"
    assert anna.ask(Stop()).refusal == "not_read"


def test_a_command_too_long_for_the_record_is_refused(client, sink):
    anna = client("anna")
    anna.lease("take")
    assert anna.ask(Custom("gait", "x" * 200)).refusal == "too_long"
    assert anna.ask(Custom("gait", "x" * MOST_REQUEST_BYTES)).refusal == "too_long"
    assert sink.commands == []


def test_a_client_that_floods_is_refused_and_its_stops_and_heartbeats_are_not(client, sink):
    anna = client("anna")
    anna.lease("take")
    answers = [anna.ask(SetPoint("speed_mps", 0.1)) for _ in range(MOST_COMMANDS_PER_S + 50)]
    assert {answer.refusal for answer in answers[-50:]} == {"too_many"}
    assert len(sink.commands) == MOST_COMMANDS_PER_S - 1  # the lease was taken in the same second
    assert anna.lease("keep").ok
    assert anna.ask(EStop()).ok
    anna.now_ns = 400 * MS
    anna.lease("keep")
    anna.now_ns = 800 * MS
    anna.lease("keep")
    anna.now_ns = 1000 * MS
    assert anna.ask(SetPoint("speed_mps", 0.1)).ok


def test_refused_requests_are_counted_and_reported_once_a_second(client, sink, gate):
    ben = client("ben")
    for number in range(1000):
        ben.now_ns = number * 2 * MS
        ben.ask(Arm())
    gate.pass_time(3_000 * MS)
    reports = [notice for notice in sink.notices if isinstance(notice, RefusedCommands)]
    assert [report.count for report in reports] == [1, 500, 499]
    assert reports[0].why == "no lease"
    assert sum(gate.refused.values()) == 1000
    assert client("eva").ask(Status()).refused == 1000


def test_notices_fit_into_the_record(client, sink):
    anna = client("a" * 30)
    anna.lease("take")
    anna.ask(Start(), sequence=0)
    anna.gate.pass_time(1)
    assert len(sink.notices) == 2
    assert all(command_to_bytes(notice) for notice in sink.notices)


def test_strangers_get_few_answers_so_that_a_flood_of_theirs_costs_little(gate):
    answers = [gate.handle(b"x" * 100, "", 0) for _ in range(1000)]
    assert sum(answer is not None for answer in answers) == MOST_STRANGERS_PER_S
    assert gate.handle(b"x" * 100, "", 1_000 * MS) is not None


def test_hellos_of_somebody_else_do_not_end_a_session_that_is_used(client, sink):
    anna, ben = client("anna"), client("ben")
    anna.lease("take")
    ben.now_ns = 1
    ben.ask(Status())
    for _ in range(3 * MOST_SESSIONS):
        client("eva", now_ns=2)
    assert anna.ask(Arm()).ok
    assert ben.ask(Status()).ok


@pytest.mark.parametrize("name", ["Anna Müller", "Анна", "x" * 30, "ü" * 24, "ada@rig-1"])
def test_a_name_has_letters_of_any_language(gate, client, name):
    frame = client().requests.closed(msgspec.json.encode(Request("", 1, Hello(name, "n"))))
    assert client().send(frame).ok


@pytest.mark.parametrize(
    "name", ["", "x" * 31, "ü" * 25, " x", "x ", 'say "', "a\nb", "a\u202eb", "Mu\u0308ller", "rig: ada"]
)
def test_a_name_that_others_could_not_read_is_refused(gate, client, name):
    frame = client().requests.closed(msgspec.json.encode(Request("", 1, Hello(name, "n"))))
    assert client().send(frame).refusal == "malformed"


# ---- with CURVE keys the connection is authenticated, and there is no token ----
def test_a_connection_without_a_key_gets_nothing_done(by_key, sink):
    anna = by_key("anna")
    anna.key = ""
    assert anna.ask(EStop()).refusal == "not_authenticated"
    assert sink.commands == []


def test_a_session_belongs_to_the_key_that_opened_it(by_key, sink):
    anna, ben = by_key("anna"), by_key("ben")
    anna.lease("take")
    ben.session, ben.sequence = anna.session, 100
    assert ben.ask(Start()).refusal == "no_session"
    assert sink.commands == []


def test_the_same_name_with_another_key_is_another_client_and_is_shown_so(by_key, sink):
    anna, ben = by_key("anna"), by_key("ben")
    anna.lease("take")
    assert sink.leases[-1][0] == "anna: console"
    assert ben.lease("take").refusal == "lease_held"
    assert ben.ask(Start()).refusal == "no_lease"
