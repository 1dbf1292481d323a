"""The command socket at the end of a wire: clients with token or keys get in, and nobody else changes anything."""

from __future__ import annotations

import os
import threading

import msgspec
import numpy as np
import pytest
import zmq

from hil.ipc.shared_types import OPERATOR_COMMANDS, STATUS, CommandMemory
from hil.messages.fault import CONSOLE_SILENT_NS
from hil.messages.operator_input import (
    Arm,
    ClearFault,
    EStop,
    LeaseChange,
    RefusedCommands,
    SetPoint,
    Start,
    Stop,
)
from hil.operator import client as client_module
from hil.operator.client import CommandClient, CommandError
from hil.operator.command_messages import Lease, Request
from hil.operator.curve import Seal
from hil.operator.sockets import MOST_FRAME_BYTES, CommandSocket, SharedCommands

TOKEN = bytes(range(32))


def test_a_client_with_the_lease_is_obeyed(rig):
    with CommandClient(rig.endpoint, token=TOKEN, name="anna") as anna:
        with anna.lease():
            anna.arm()
            anna.start()
            anna.set_point("speed_mps", 0.1)
            anna.clear(18)
            assert rig.lease() == "anna"
        assert rig.lease() is None
    assert rig.commands() == [Arm(), Start(), SetPoint("speed_mps", 0.1), ClearFault(18)]


def test_a_client_without_the_lease_can_stop_and_do_nothing_else(rig):
    with CommandClient(rig.endpoint, token=TOKEN) as ben:
        for command in (Arm(), Start(), ClearFault(18)):
            with pytest.raises(CommandError) as caught:
                ben.ask(command)
            assert caught.value.refusal == "no_lease"
        ben.stop("enough")
        ben.e_stop("smoke")
    assert rig.commands() == [Stop("enough"), EStop("smoke")]


def test_of_two_clients_one_holds_the_lease(rig):
    with (
        CommandClient(rig.endpoint, token=TOKEN, name="anna") as anna,
        CommandClient(rig.endpoint, token=TOKEN, name="ben") as ben,
    ):
        anna.take_lease()
        with pytest.raises(CommandError, match="anna holds the operator lease"):
            ben.take_lease()
        assert ben.ask(Lease("ask")).ok
        anna.release_lease()
        assert ben.take_lease().holder == "ben"
        with pytest.raises(CommandError, match="needs the operator lease, which is held by ben"):
            anna.start()
    assert rig.commands() == []


def test_a_script_with_the_name_of_the_console_leaves_it_the_lease(rig):
    with (
        CommandClient(rig.endpoint, token=TOKEN, name="anna") as console,
        CommandClient(rig.endpoint, token=TOKEN, name="anna") as script,
        console.lease(),
    ):
        with script.lease():
            script.set_point("speed_mps", 0.1)
        console.start()
    assert rig.commands() == [SetPoint("speed_mps", 0.1), Start()]


def test_a_client_that_is_gone_loses_the_lease(rig):
    with CommandClient(rig.endpoint, token=TOKEN, name="anna") as anna:
        anna.take_lease()
    assert rig.lease() == "anna"  # it has not said goodbye
    with CommandClient(rig.endpoint, token=TOKEN, name="ben") as ben:
        rig.t_ns += CONSOLE_SILENT_NS + 1
        assert ben.take_lease().holder == "ben"


def test_a_client_gets_to_know_that_its_lease_is_lost(rig):
    with CommandClient(rig.endpoint, token=TOKEN, name="anna") as anna:
        anna.take_lease()
        anna.stop_heartbeat()
        rig.t_ns += CONSOLE_SILENT_NS + 1
        anna.status()
        with pytest.raises(CommandError) as caught:
            anna.start()
    assert caught.value.refusal == "no_lease"
    assert rig.commands() == []


def test_the_heartbeat_of_a_client_runs_beside_its_own_work(rig):
    with CommandClient(rig.endpoint, token=TOKEN, name="anna") as anna, anna.lease():
        for _ in range(3):  # longer than a lease lasts, were there no heartbeat
            rig.t_ns += CONSOLE_SILENT_NS // 2
            rig.heartbeat()
        anna.arm()
    assert rig.commands() == [Arm()]


def test_the_status_is_that_of_the_resident_process(rig):
    rig.memory.status.write(np.array([(b'{"state":"idle","faults":[]}',)], STATUS))
    with CommandClient(rig.endpoint, token=TOKEN) as anna:
        assert anna.status() == {"state": "idle", "faults": []}
        assert anna.wait_until(lambda status: status["state"] == "idle") == {"state": "idle", "faults": []}
        with pytest.raises(CommandError, match="not what was waited for"):
            anna.wait_until(lambda status: status["state"] == "armed", within_s=0.0)


def test_a_client_waits_while_the_resident_process_has_not_yet_written_its_status(rig):
    with CommandClient(rig.endpoint, token=TOKEN) as anna:
        assert anna.status() == {}
        with pytest.raises(CommandError, match="not what was waited for"):
            anna.wait_until(lambda status: status["state"] == "idle", within_s=0.0)


def test_a_client_with_a_wrong_token_is_told_so(rig):
    with pytest.raises(CommandError, match="wrong token file, or another program listens there"):
        CommandClient(rig.endpoint, token=bytes(32))
    assert rig.commands() == []


def test_a_client_does_not_believe_a_server_that_does_not_know_the_token(monkeypatch):
    """Another program has taken the port of a rig that is gone: it learns no token and deceives nobody."""
    monkeypatch.setattr(client_module, "ANSWER_S", 60.0)  # that program answers, however late
    with zmq.Context() as context, context.socket(zmq.ROUTER) as other:
        port = other.bind_to_random_port("tcp://127.0.0.1")
        received = []

        def answer():
            peer, frame = other.recv_multipart()
            received.append(frame)
            reply = b'{"ok":true,"session":"s","sequence":1,"nonce":"n"}'
            other.send_multipart([peer, bytes(32) + reply])

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(CommandError, match="another program listens there"):
            CommandClient(f"tcp://127.0.0.1:{port}", token=TOKEN)
        thread.join()
    assert TOKEN not in received[0]
    assert TOKEN.hex().encode() not in received[0]


def test_garbage_on_the_wire_changes_nothing_and_stops_nobody(rig):
    valid = Seal(TOKEN, "request").closed(msgspec.json.encode(Request("0" * 32, 5, Stop())))
    frames = [
        b"", b"x", os.urandom(500), b"x" * 5000, b"x" * MOST_FRAME_BYTES, valid[:-1], valid, [b"", valid],
        [valid] * 5, [b""] * 100,
    ]  # fmt: skip
    rig.send_raw([b"x" * (MOST_FRAME_BYTES + 1)])
    rig.send_raw(frames)
    with CommandClient(rig.endpoint, token=TOKEN) as anna, anna.lease():
        anna.arm()
        assert rig.refused(len(frames)) == len(frames)
    assert rig.commands() == [Arm()]


def test_what_was_refused_is_reported_to_the_loop(rig):
    rig.send_raw([b"x"] * 5)
    with CommandClient(rig.endpoint, token=TOKEN) as anna:
        rig.refused(5)
        rig.t_ns += 10**9
        anna.status()
        anna.status()
    reports = [one for one in rig.loop.read() if isinstance(one, RefusedCommands)]
    assert sum(report.count for report in reports) == 5


def test_where_nobody_reads_neither_reports_nor_other_commands_take_the_room_of_stops(tmp_path):
    memory = CommandMemory(tmp_path / "memory", create=True)
    sink = SharedCommands(memory)
    for _ in range(OPERATOR_COMMANDS):
        sink.report(LeaseChange("anna", "taken"))
    assert memory.commands.written == OPERATOR_COMMANDS // 2
    assert [sink.put(ClearFault(18)) for _ in range(20)] == [True] * 16 + [False] * 4
    assert [sink.put(EStop()) for _ in range(20)] == [True] * 16 + [False] * 4
    memory.close()


# ---- what does not open ----
def test_off_this_computer_the_socket_does_not_open_without_keys(tmp_path):
    memory = CommandMemory(tmp_path / "memory", create=True)
    for endpoint in ("tcp://0.0.0.0:*", "tcp://*:9873", "tcp://192.0.2.1:9873"):
        with pytest.raises(ValueError, match=r"other computers reach: operator\.keys is needed"):
            CommandSocket(endpoint, SharedCommands(memory), token=TOKEN)
    memory.close()


def test_a_busy_port_is_named(rig, tmp_path):
    memory = CommandMemory(tmp_path / "other", create=True)
    with pytest.raises(ValueError, match=r"operator.endpoint is tcp://127.0.0.1:\d+: Address already in use"):
        CommandSocket(rig.endpoint, SharedCommands(memory), token=TOKEN)
    memory.close()
