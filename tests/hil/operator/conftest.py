"""A command gate without a socket, and a command socket with its resident process: what gets through, and what not."""

from __future__ import annotations

import msgspec
import pytest

from hil.operator import client as client_module
from hil.operator.client import CommandClient, CommandError, read_reply
from hil.operator.command_messages import CommandGate, Hello, Lease, Request
from hil.operator.curve import Seal, new_keys

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
@pytest.fixture
def rig(command_rig, tmp_path):
    """A command socket whose clients know the token; its clock stands."""
    rig = command_rig(tmp_path, token=TOKEN)
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
def keyed_rig(command_rig, tmp_path, keys):
    """Whose clients need keys, and its public key."""
    secret, public = keys("rig")
    rig = command_rig(tmp_path, secret=secret, clients=tmp_path / "clients")
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
