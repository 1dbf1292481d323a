"""The command socket at the end of a wire: clients with token or keys get in, and nobody else changes anything."""

from __future__ import annotations

import os
import threading

import msgspec
import numpy as np
import pytest
import zmq

from hil.ipc.command_memory import LEASE, OPERATOR_COMMANDS, STATUS, CommandMemory
from hil.ipc.operator import SharedOperator
from hil.messages.fault_bounds import CONSOLE_SILENT_NS
from hil.messages.operator_input import (
    NOTICES,
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
from hil.operator.command_messages import Lease, Request, Seal, Status
from hil.operator.command_socket import MOST_FRAME_BYTES, CommandSocket, SharedCommands
from hil.operator.curve import KeysError, new_keys, read_key_pair

TOKEN = bytes(range(32))


class Rig:
    """A command socket, served in a thread, and the resident process's end of its memory. Its clock stands."""

    def __init__(self, folder, **who):
        self.t_ns = 10**9
        self.memory = CommandMemory(folder / "memory", create=True)
        self.loop = SharedOperator(self.memory.commands)
        self.socket = CommandSocket("tcp://127.0.0.1:*", SharedCommands(self.memory), host=self, **who)
        self.endpoint = self.socket.endpoint
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def now_ns(self):
        return self.t_ns

    def _serve(self):
        while not self._ending.is_set():
            self.socket.serve(0.01)
        self.socket.close()

    def lease(self):
        row = np.zeros(1, LEASE)
        self.memory.lease.read(row)
        return row["holder"][0].decode() if row["held"][0] else None

    def commands(self):
        """Those asked for; not what the server reports."""
        found = []
        while more := self.loop.read():
            found += [one for one in more if not isinstance(one, NOTICES)]
        return found

    def close(self):
        self._ending.set()
        self._thread.join()
        self.memory.close()


@pytest.fixture
def rig(tmp_path):
    """Whose clients know the token."""
    rig = Rig(tmp_path, token=TOKEN)
    yield rig
    rig.close()


@pytest.fixture
def keys(tmp_path):
    """Makes a key pair: its secret and its public file. A public key in `clients` is allowed."""

    def make(name, allowed=False):
        public, secret = new_keys(name, tmp_path / "keys")
        if allowed:
            (tmp_path / "clients" / public.name).write_bytes(public.read_bytes())
        return secret, public

    (tmp_path / "clients").mkdir(mode=0o700)
    return make


@pytest.fixture
def keyed_rig(tmp_path, keys):
    """Whose clients need keys, and its public key."""
    secret, public = keys("rig")
    rig = Rig(tmp_path, secret=secret, clients=tmp_path / "clients")
    yield rig, public
    rig.close()


@pytest.fixture
def unanswered(monkeypatch):
    """What a client is told that gets no answer; it does not wait for long."""

    def connect(endpoint, **who):
        monkeypatch.setattr(client_module, "ANSWER_S", 0.3)
        with pytest.raises(CommandError, match="no answer") as caught:
            CommandClient(endpoint, **who)
        monkeypatch.undo()
        return str(caught.value)

    return connect


def send_raw(endpoint, frames, secure=lambda _: None):
    """Send frames as any program could; returns once they are on their way."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.setsockopt(zmq.LINGER, 5000)
        secure(socket)
        socket.connect(endpoint)
        for frame in frames:
            socket.send_multipart(frame if isinstance(frame, list) else [frame])


def refused(client, least):
    """Requests refused so far, once there are at least so many."""
    while (count := client.ask(Status()).refused) < least:
        pass
    return count


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
        kept = rig.socket.gate
        for _ in range(3):  # each far longer than a lease lasts, were the heartbeat not there
            rig.t_ns += CONSOLE_SILENT_NS // 2
            before = rig.t_ns
            while kept._kept_ns < before:
                anna.status()
        anna.arm()
    assert rig.commands() == [Arm()]


def test_the_status_is_that_of_the_resident_process(rig):
    rig.memory.status.write(np.array([(b'{"state":"idle","faults":[]}',)], STATUS))
    with CommandClient(rig.endpoint, token=TOKEN) as anna:
        assert anna.status() == {"state": "idle", "faults": []}
        assert anna.wait_until(lambda status: status["state"] == "idle") == {"state": "idle", "faults": []}
        with pytest.raises(CommandError, match="not what was waited for"):
            anna.wait_until(lambda status: status["state"] == "armed", within_s=0.0)


def test_a_client_with_a_wrong_token_is_told_so(rig):
    with pytest.raises(CommandError, match="wrong token file, or another program listens there"):
        CommandClient(rig.endpoint, token=bytes(32))
    assert rig.commands() == []


def test_a_client_does_not_believe_a_server_that_does_not_know_the_token():
    """Another program has taken the port of a rig that is gone: it learns no token and deceives nobody."""
    with zmq.Context() as context, context.socket(zmq.ROUTER) as other:
        port = other.bind_to_random_port("tcp://127.0.0.1")
        heard = []

        def answer():
            peer, frame = other.recv_multipart()
            heard.append(frame)
            reply = b'{"ok":true,"session":"s","sequence":1,"nonce":"n"}'
            other.send_multipart([peer, bytes(32) + reply])

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(CommandError, match="another program listens there"):
            CommandClient(f"tcp://127.0.0.1:{port}", token=TOKEN)
        thread.join()
    assert TOKEN not in heard[0]
    assert TOKEN.hex().encode() not in heard[0]


def test_garbage_on_the_wire_changes_nothing_and_stops_nobody(rig):
    valid = Seal(TOKEN, "request").closed(msgspec.json.encode(Request("0" * 32, 5, Stop())))
    frames = [
        b"", b"x", os.urandom(500), b"x" * 5000, b"x" * MOST_FRAME_BYTES, valid[:-1], valid, [b"", valid],
        [valid] * 5, [b""] * 100,
    ]  # fmt: skip
    send_raw(rig.endpoint, [b"x" * (MOST_FRAME_BYTES + 1)])
    send_raw(rig.endpoint, frames)
    with CommandClient(rig.endpoint, token=TOKEN) as anna, anna.lease():
        anna.arm()
        assert refused(anna, len(frames)) == len(frames)
    assert rig.commands() == [Arm()]


def test_what_was_refused_is_reported_to_the_loop(rig):
    send_raw(rig.endpoint, [b"x"] * 5)
    with CommandClient(rig.endpoint, token=TOKEN) as anna:
        refused(anna, 5)
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


# ---- keys ----
def test_a_client_with_an_allowed_key_is_obeyed_and_shown_with_the_name_of_its_key(keyed_rig, keys):
    rig, public = keyed_rig
    secret, _ = keys("anna", allowed=True)  # the folder is read for each connection
    with CommandClient(rig.endpoint, keys=(secret, public), name="console") as anna, anna.lease():
        anna.arm()
        assert rig.lease() == "anna: console"
    assert rig.commands() == [Arm()]


def test_a_client_with_another_key_gets_no_answer(keyed_rig, keys, unanswered):
    rig, public = keyed_rig
    secret, _ = keys("eva")
    assert "with these keys" in unanswered(rig.endpoint, keys=(secret, public))
    secret, _ = keys("anna", allowed=True)
    with CommandClient(rig.endpoint, keys=(secret, public)) as anna:
        assert refused(anna, 1)
    assert rig.commands() == []


def test_a_client_without_a_key_or_with_a_token_gets_no_answer(keyed_rig, unanswered):
    rig, _ = keyed_rig
    unanswered(rig.endpoint)
    unanswered(rig.endpoint, token=TOKEN)
    assert rig.commands() == []


def test_a_client_that_takes_another_computer_for_the_rig_gets_no_answer(keyed_rig, keys, unanswered):
    rig, _ = keyed_rig
    secret, public_of_another = keys("anna", allowed=True)
    unanswered(rig.endpoint, keys=(secret, public_of_another))
    assert rig.commands() == []


def test_a_key_that_was_removed_does_not_get_in_again(keyed_rig, keys, tmp_path, unanswered):
    rig, public = keyed_rig
    secret, own = keys("anna", allowed=True)
    CommandClient(rig.endpoint, keys=(secret, public)).close()
    (tmp_path / "clients" / own.name).unlink()
    unanswered(rig.endpoint, keys=(secret, public))


def test_garbage_over_an_allowed_connection_changes_nothing(keyed_rig, keys):
    rig, public = keyed_rig
    secret, _ = keys("anna", allowed=True)
    own, server = read_key_pair(secret), read_key_pair(public.with_suffix(".key_secret"))

    def secure(socket):
        client_module.prove(socket, own, server.public)

    send_raw(rig.endpoint, [b"", b"x" * 5000, os.urandom(300), [b"a", b"b"]], secure)
    with CommandClient(rig.endpoint, keys=(secret, public)) as anna:
        assert refused(anna, 4) == 4
    assert rig.commands() == []


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


def test_a_secret_key_that_others_can_read_opens_no_socket(keys, tmp_path):
    secret, _ = keys("rig")
    secret.chmod(0o640)
    memory = CommandMemory(tmp_path / "memory", create=True)
    with pytest.raises(KeysError, match=r"other users can read this secret key \(mode 640\): chmod 600"):
        CommandSocket("tcp://127.0.0.1:*", SharedCommands(memory), secret=secret, clients=tmp_path / "clients")
    memory.close()
