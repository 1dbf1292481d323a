"""A command gate without a socket, and a command socket with its resident process: what gets through, and what not."""

from __future__ import annotations

import threading
import time

import msgspec
import numpy as np
import pytest
import zmq

from hil.ipc.command_memory import LEASE, CommandMemory
from hil.ipc.operator import SharedOperator
from hil.messages.operator_input import NOTICES
from hil.operator import client as client_module
from hil.operator.client import CommandClient, CommandError
from hil.operator.command_gate import CommandGate
from hil.operator.command_messages import Hello, Lease, Request, Seal, read_reply
from hil.operator.command_socket import CommandSocket, SharedCommands
from hil.operator.curve import new_keys

TOKEN = bytes(range(32))


class Sink:
    """Keeps what the gate hands on."""

    def __init__(self):
        self.commands, self.notices, self.leases, self.room = [], [], [], True
        self.content = b'{"state": "idle"}'

    def put(self, command):
        if self.room:
            self.commands.append(command)
        return self.room

    def report(self, notice):
        self.notices.append(notice)

    def set_lease(self, holder, t_ns):
        self.leases.append((holder, t_ns))

    def status(self):
        return self.content


class GateClient:
    """A client of a gate, without a socket."""

    def __init__(self, gate, name="anna", *, token=TOKEN, key="", now_ns=0):
        self.gate, self.key, self.session, self.sequence = gate, key, "", 0
        self.requests, self.replies = Seal(token, "request"), Seal(token, "reply")
        self.now_ns = now_ns
        self.session = self.ask(Hello(name, "n")).session

    def frame(self, command, *, sequence=None):
        self.sequence += 1
        number = self.sequence if sequence is None else sequence
        return self.requests.closed(msgspec.json.encode(Request(self.session, number, command)))

    def send(self, frame):
        reply = self.gate.handle(frame, self.key, self.now_ns)
        return None if reply is None else read_reply(self.replies.opened(reply))

    def ask(self, command, *, sequence=None):
        return self.send(self.frame(command, sequence=sequence))

    def lease(self, do):
        return self.ask(Lease(do))


@pytest.fixture
def sink():
    return Sink()


@pytest.fixture
def gate(sink):
    """Whose clients know the token."""
    return CommandGate(sink, TOKEN)


@pytest.fixture
def client(gate):
    """Makes clients of it."""
    return lambda *given, **named: GateClient(gate, *given, **named)


@pytest.fixture
def by_key(sink):
    """Makes clients of a gate whose connections are authenticated by keys."""
    keyed = CommandGate(sink, None)
    return lambda key: GateClient(keyed, "console", token=None, key=key)


# ---- at the end of a wire ----
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

    def refused(self, least):
        """Requests refused so far, once there are at least so many."""
        while (count := self.socket.gate.refused.total()) < least:
            time.sleep(0.005)
        return count

    def send_raw(self, frames, secure=lambda _: None):
        """Send frames as any program could; returns once they are on their way."""
        with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
            socket.setsockopt(zmq.LINGER, 5000)
            secure(socket)
            socket.connect(self.endpoint)
            for frame in frames:
                socket.send_multipart(frame if isinstance(frame, list) else [frame])

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
