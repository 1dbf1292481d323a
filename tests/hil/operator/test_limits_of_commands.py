"""Sizes and numbers that the command gate allows: the largest passes, one more is refused."""

from __future__ import annotations

import msgspec
import pytest
import zmq

from hil.ipc.shared_types import OPERATOR_COMMANDS, CommandMemory
from hil.messages.fault import CONSOLE_SILENT_NS
from hil.messages.operator_input import Arm, ClearFault, EStop, LeaseChange, RefusedCommands, SetPoint, Stop
from hil.operator.command_messages import (
    ASKED_NS,
    MOST_COMMANDS_PER_S,
    MOST_REQUEST_BYTES,
    MOST_SESSIONS,
    MOST_STRANGERS_PER_S,
    REPORT_EVERY_NS,
    Hello,
    Request,
    Status,
)
from hil.operator.curve import CODE_BYTES
from hil.operator.sockets import MOST_FRAME_BYTES, CommandSocket, SharedCommands

SECOND_NS = 1_000_000_000


def padded(client, length):
    """A valid request of so many bytes, with spaces at its end, sealed."""
    client.sequence += 1
    content = msgspec.json.encode(Request(client.session, client.sequence, Status()))
    return client.requests.closed(content.ljust(length))


def test_the_documented_sizes_and_numbers():
    assert (MOST_REQUEST_BYTES, MOST_FRAME_BYTES, CODE_BYTES) == (4096, 65536, 32)
    assert (MOST_SESSIONS, MOST_COMMANDS_PER_S, MOST_STRANGERS_PER_S) == (64, 100, 20)
    assert (CONSOLE_SILENT_NS, ASKED_NS, REPORT_EVERY_NS) == (500_000_000, 5_000_000_000, 1_000_000_000)


def test_a_request_may_have_4096_bytes_beside_its_code_and_no_more(client, by_key):
    for anna in (client("anna"), by_key("anna")):
        assert anna.send(padded(anna, MOST_REQUEST_BYTES)).ok
        refused = anna.send(padded(anna, MOST_REQUEST_BYTES + 1))
        assert (refused.ok, refused.refusal) == (False, "too_long")


def test_a_name_has_one_to_thirty_characters(client, gate):
    anna = client("anna")
    for length, good in ((0, False), (1, True), (30, True), (31, False)):
        anna.session, anna.sequence = "", 0
        assert anna.ask(Hello("a" * length, "n")).ok == good


def test_a_hello_inside_a_session_is_refused(client):
    assert client("anna").ask(Hello("anna", "n")).refusal == "malformed"


def test_a_sequence_number_is_above_the_last_one_by_any_number_and_never_equal_to_it(client):
    anna = client("anna")
    last = anna.sequence
    assert anna.ask(Status(), sequence=last + 1).ok
    assert anna.ask(Status(), sequence=last + 1).refusal == "replayed"
    assert anna.ask(Status(), sequence=last + 2).ok
    assert anna.ask(Status(), sequence=last).refusal == "replayed"


@pytest.mark.parametrize("command", [SetPoint("speed_mps", 0.1), Stop()])
def test_a_hundred_commands_and_a_hundred_stops_a_second_pass_and_no_more(client, command):
    anna = client("anna")
    anna.lease("take")
    anna.now_ns = SECOND_NS
    anna.lease("take")
    taken = 1 if isinstance(command, SetPoint) else 0  # taking the lease is a command of that second
    for _ in range(MOST_COMMANDS_PER_S - taken):
        assert anna.ask(command).ok
    assert anna.ask(command).refusal == "too_many"
    anna.now_ns = 2 * SECOND_NS - 1
    assert anna.ask(command).refusal == "too_many"


def test_sixty_four_sessions_are_open_and_the_next_one_ends_the_oldest(client):
    opened = [client("anna", now_ns=number) for number in range(MOST_SESSIONS)]
    for number, one in enumerate(opened):
        one.now_ns = MOST_SESSIONS + number
        assert one.ask(Status()).ok
    client("ben", now_ns=1000)
    assert opened[0].ask(Status()).refusal == "no_session"
    assert all(one.ask(Status()).ok for one in opened[1:])


def test_strangers_get_twenty_answers_in_each_second(gate):
    for second in range(2):
        for now_ns in (second * SECOND_NS, (second + 1) * SECOND_NS - 1):
            answers = [gate.handle(b"x" * 100, "", now_ns) is not None for _ in range(MOST_STRANGERS_PER_S + 5)]
            wanted = MOST_STRANGERS_PER_S if now_ns == second * SECOND_NS else 0
            assert answers == [True] * wanted + [False] * (len(answers) - wanted)


def test_what_is_refused_is_reported_a_second_after_the_last_report_and_not_before(client, sink, gate):
    def reports():
        return [notice for notice in sink.notices if isinstance(notice, RefusedCommands)]

    ben = client("ben")
    ben.ask(Arm())
    gate.pass_time(0)
    assert len(reports()) == 1
    ben.ask(Arm())
    gate.pass_time(REPORT_EVERY_NS - 1)
    assert len(reports()) == 1
    gate.pass_time(REPORT_EVERY_NS)
    assert [report.count for report in reports()] == [1, 1]


def test_half_of_the_ring_takes_notices_three_quarters_commands_and_all_of_it_stops(tmp_path):
    memory = CommandMemory(tmp_path / "memory", create=True)
    sink = SharedCommands(memory)
    for number in range(1, OPERATOR_COMMANDS + 2):
        sink.report(LeaseChange("anna", "taken"))
        assert memory.commands.written == min(number, OPERATOR_COMMANDS // 2)
    room = OPERATOR_COMMANDS * 3 // 4 - OPERATOR_COMMANDS // 2
    assert [sink.put(ClearFault(18)) for _ in range(room + 1)] == [True] * room + [False]
    room = OPERATOR_COMMANDS - OPERATOR_COMMANDS * 3 // 4
    assert [sink.put(EStop()) for _ in range(room + 1)] == [True] * room + [False]
    memory.close()


@pytest.mark.parametrize("both", [True, False])
def test_a_socket_has_either_a_token_or_keys(tmp_path, both):
    memory = CommandMemory(tmp_path / "memory", create=True)
    secret = tmp_path / "secret" if both else None
    with pytest.raises(ValueError, match="either a token or keys"):
        CommandSocket("tcp://127.0.0.1:*", SharedCommands(memory), token=bytes(32) if both else None, secret=secret)
    memory.close()


def test_a_request_in_several_frames_is_malformed_though_its_first_is_valid(rig, client):
    hello = client("anna").requests.closed(msgspec.json.encode(Request("", 1, Hello("anna", "n"))))
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.linger = 0
        dealer.connect(rig.endpoint)
        dealer.send_multipart([hello, b"more"])
        dealer.send(hello)
        dealer.recv()  # an answer to the second, at least: all before it are through
    assert rig.socket.gate.refused["malformed"] == 1
