"""Messages of the command socket, and the gate that checks them."""

from __future__ import annotations

import secrets
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias, Union

import msgspec

from hil.messages.fault import CONSOLE_SILENT_NS
from hil.messages.operator_input import EStop, LeaseChange, OperatorRequest, RefusedCommands, Stop, command_to_bytes
from hil.operator.curve import CODE_BYTES, Seal

# Longest request [bytes].
MOST_REQUEST_BYTES = 4096
# Names of clients: who holds the lease, and its key, fit into the detail of an event.
MOST_NAME_LETTERS, MOST_NAME_BYTES = 30, 48
CLIENT_NAME_ALLOWED = "1 to 30 of letters and digits of any language, spaces inside and . _ @ -, 48 bytes"

Refusal: TypeAlias = Literal[
    "not_authenticated", "too_long", "malformed", "no_session", "replayed", "too_many", "no_lease", "lease_held",
    "lease_lost", "not_asked", "not_read",
]  # fmt: skip


def fits_names(text: str) -> str:
    """What of a text names of clients can have: letters with their marks, digits, spaces and . _ @ -."""
    known = unicodedata.normalize("NFC", text)
    return "".join(one for one in known if one in " ._@-" or unicodedata.category(one)[0] in "LMN").strip()


def is_client_name(name: str) -> bool:
    """Whether that is a name of a client."""
    return name == fits_names(name) and 0 < len(name) <= MOST_NAME_LETTERS and len(name.encode()) <= MOST_NAME_BYTES


class _RequestRefusedError(Exception):
    """A request is refused.

    Attributes:
        refusal: why.
    """

    def __init__(self, refusal: Refusal, error: str) -> None:
        super().__init__(error)
        self.refusal: Refusal = refusal


class Hello(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="hello"):
    """Open a session.

    Attributes:
        name: of the client, as others see it.
        nonce: any random text; the reply repeats it.
    """

    name: str
    nonce: str


class Status(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="status"):
    """Ask for the state of the rig."""


class Lease(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="lease"):
    """Take the operator lease, keep it (the heartbeat), release it, ask its holder for it, or give it to who asks."""

    do: Literal["take", "keep", "release", "ask", "give"]


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a client sends.

    Attributes:
        session: as the server named it; "" in a hello.
        sequence: above that of all earlier requests of the session.
        command: what is asked for.
    """

    session: str
    sequence: int
    command: Union[Hello, Status, Lease, OperatorRequest]  # noqa: UP007 - msgspec


class LeaseState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The operator lease.

    Attributes:
        holder: name of the client that holds it; "": nobody.
        yours: the client that is answered holds it.
        held_before: that client held it already before this request.
        asked_by: name of the client that asked for it last, for 5 s; "": nobody does.
    """

    holder: str
    yours: bool
    held_before: bool
    asked_by: str


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the server answers.

    Attributes:
        ok: the request was accepted: a command is in the hands of the loop, which may still refuse it.
        session: of the request; in the answer to a hello the new one.
        sequence: of the request; 0 if it could not be read.
        refusal: why it was refused.
        error: the same in a sentence.
        nonce: of a hello.
        lease: as it is now; None for a request that could not be read.
        refused: requests refused so far, of all clients.
        status: of the rig, in the answer to `Status`; None: the resident process has not written one yet.
    """

    ok: bool
    session: str = ""
    sequence: int = 0
    refusal: Refusal | None = None
    error: str = ""
    nonce: str = ""
    lease: LeaseState | None = None
    refused: int = 0
    status: dict[str, Any] | None = None


_REQUESTS: Final = msgspec.json.Decoder(Request)


def read_request(content: bytes) -> Request:
    """Read a request. Raises ValueError: it is none."""
    try:
        return _REQUESTS.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"no request: {error}") from None


# A client that asks for the lease is shown to its holder for so long; it asks again while somebody waits there [ns].
ASKED_NS = 5_000_000_000
# A client: its key and its name.
Client: TypeAlias = tuple[str, str]


class _LeaseSink(Protocol):
    """Where the lease is published, and its changes are recorded."""

    def report(self, notice: LeaseChange) -> None:
        """Hand a notice to the loop, unless that would take the room of commands."""

    def set_lease(self, holder: str, t_ns: int) -> None:
        """Publish who holds the lease ("": nobody), and its last heartbeat [ns of CLOCK_MONOTONIC]."""


class _OperatorLease:
    """Belongs to one client at a time, or to nobody.

    Attributes:
        asked_by: the client that asked the holder for it last; None: nobody, or ASKED_NS ago.
    """

    def __init__(self, sink: _LeaseSink, name: Callable[[Client | None], str]) -> None:
        self._sink, self._name = sink, name
        self.holder: Client | None = None
        self.asked_by: Client | None = None
        self._kept_ns = self._asked_ns = 0
        sink.set_lease("", 0)

    def pass_time(self, now_ns: int) -> None:
        """End it without a heartbeat; forget who asked for it long ago."""
        if self.holder is not None and now_ns - self._kept_ns > CONSOLE_SILENT_NS:
            self._end("expired")
        if now_ns - self._asked_ns > ASKED_NS:
            self.asked_by = None

    def change(self, request: Lease, client: Client, now_ns: int) -> None:
        """Do what a client asks for.

        `now_ns`: CLOCK_MONOTONIC [ns].

        Raises:
            RefusedError: it is not this client's to do that.
        """
        mine = self.holder == client
        if request.do == "ask":
            self.asked_by, self._asked_ns = None if mine or self.holder is None else client, now_ns
        elif request.do == "take":
            if self.holder is not None and not mine:
                error = f"{self._name(self.holder)} holds the operator lease: ask for it, or wait until it is released"
                raise _RequestRefusedError("lease_held", error)
            if not mine:
                self._pass_to(client, "taken")
            self._keep(now_ns)
        elif not mine:
            error = "this client does not hold the operator lease (any more): take it again"
            raise _RequestRefusedError("lease_lost", error)
        elif request.do == "keep":
            self._keep(now_ns)
        elif request.do == "release":
            self._end("released")
        elif self.asked_by is None:
            raise _RequestRefusedError("not_asked", "nobody asks for the operator lease (any more): release it instead")
        else:
            self._pass_to(self.asked_by, "given")
            self._keep(now_ns)  # the new holder has as long for its first heartbeat as for any other

    def _keep(self, now_ns: int) -> None:
        self._kept_ns = now_ns
        self._sink.set_lease(self._name(self.holder), now_ns)

    def _pass_to(self, client: Client, why: Literal["taken", "given"]) -> None:
        self.holder, self.asked_by = client, None
        self._sink.report(LeaseChange(self._name(client), why))

    def _end(self, why: Literal["released", "expired"]) -> None:
        self.holder = self.asked_by = None
        self._sink.set_lease("", self._kept_ns)
        self._sink.report(LeaseChange("", why))


# Sessions that are open at the same time; another one ends the one that was used longest ago.
MOST_SESSIONS = 64
# Commands a second of one session. Stops are counted by themselves; status and heartbeats are not.
MOST_COMMANDS_PER_S = 100
# Answers a second to clients without a valid key.
MOST_STRANGERS_PER_S = 20
# Refused requests are reported to the loop this often at most [ns].
REPORT_EVERY_NS = 1_000_000_000
_SECOND_NS = 1_000_000_000


class CommandSink(_LeaseSink, Protocol):
    """Where accepted commands, the lease and the status are (`hil.operator.sockets.SharedCommands`)."""

    def put(self, command: OperatorRequest) -> bool:
        """Hand a command to the loop; False: it does not read."""

    def report(self, notice: LeaseChange | RefusedCommands) -> None:
        """Hand a notice to the loop, unless that would take the room of commands."""

    def status(self) -> bytes:
        """The newest status as JSON; empty: none yet."""


@dataclass
class _Session:
    """Of one client: its last sequence number, when it was used, and its commands and stops in that second."""

    key: str
    name: str
    sequence: int
    used_ns: int
    second: int = 0
    counts: Counter[str] = field(default_factory=Counter)


class CommandGate:
    """Answers requests one by one, and hands on what is allowed.

    A client is a key and a name: the lease belongs to it, in whichever session.

    Args:
        sink: see `CommandSink`.
        token: that clients have to know; None: each connection is authenticated by a CURVE key.

    Attributes:
        refused: requests refused so far, by reason.
    """

    def __init__(self, sink: CommandSink, token: bytes | None) -> None:
        self._sink, self._token = sink, token
        self._requests, self._replies = Seal(token, "request"), Seal(token, "reply")
        self._most_bytes = MOST_REQUEST_BYTES + (0 if token is None else CODE_BYTES)
        self._sessions: dict[str, _Session] = {}
        self._operator_lease = _OperatorLease(sink, self._name)
        self.refused: Counter[Refusal] = Counter()
        self._unreported, self._why, self._reported_ns = 0, "", -REPORT_EVERY_NS
        self._strangers: tuple[int, int] = (0, 0)  # second, answers in it

    def handle(self, frame: bytes, key: str, now_ns: int) -> bytes | None:
        """Answer a request.

        Args:
            frame: as received.
            key: name of the CURVE key that the connection has proved; "": none.
            now_ns: CLOCK_MONOTONIC [ns].

        Returns:
            The reply; None: a client without a valid key gets none, because many have just been answered.
        """
        self.pass_time(now_ns)
        session, request = "", None
        try:
            content = self._content(frame, key)
            try:
                request = read_request(content)
            except ValueError as error:
                raise _RequestRefusedError("malformed", str(error)) from None
            session = request.session
            reply = self._answer(request, key or "token", now_ns)
        except _RequestRefusedError as error:
            self.count(error.refusal)
            if error.refusal == "not_authenticated" and not self._answers_stranger(now_ns):
                return None
            lease = self._lease(self._client(session)) if request else None
            sequence = request.sequence if request else 0
            reply = Reply(False, session, sequence, error.refusal, str(error), lease=lease)
        return self._replies.closed(msgspec.json.encode(reply))

    def pass_time(self, now_ns: int) -> None:
        """End a lease without a heartbeat, and report what was refused; to be called at least every 0.1 s."""
        self._operator_lease.pass_time(now_ns)
        if self._unreported and now_ns - self._reported_ns >= REPORT_EVERY_NS:
            self._sink.report(RefusedCommands(self._unreported, self._why))
            self._unreported, self._reported_ns = 0, now_ns

    def count(self, refusal: Refusal) -> None:
        """Count a request that was refused, here or by the socket itself."""
        self.refused[refusal] += 1
        self._unreported, self._why = self._unreported + 1, refusal.replace("_", " ")

    def _content(self, frame: bytes, key: str) -> bytes:
        if len(frame) > self._most_bytes:
            raise _RequestRefusedError("too_long", f"a request of {len(frame)} bytes, allowed: {self._most_bytes}")
        content = self._requests.opened(frame)
        if content is None or (self._token is None and not key):
            raise _RequestRefusedError(
                "not_authenticated", "the key is not valid here: wrong token, or changed on the way"
            )
        return content

    def _answer(self, request: Request, key: str, now_ns: int) -> Reply:
        command = request.command
        if isinstance(command, Hello):
            return self._open(request, command, key, now_ns)
        session = self._session(request, key, now_ns)
        client, status = (session.key, session.name), None
        holder = self._operator_lease.holder
        held_before = holder == client
        if isinstance(command, Lease):
            self._operator_lease.change(command, client, now_ns)
        elif isinstance(command, Status):
            status = self._status()
        elif isinstance(command, Stop | EStop):
            self._hand_over(_recordable(command))
        elif not held_before:
            who = f"held by {self._name(holder)}" if holder else "held by nobody"
            raise _RequestRefusedError("no_lease", f"this command needs the operator lease, which is {who}")
        else:
            self._hand_over(command)
        lease = self._lease(client, held_before=held_before)
        total = sum(self.refused.values())
        return Reply(True, request.session, request.sequence, lease=lease, refused=total, status=status)

    def _status(self) -> dict[str, Any] | None:
        """The newest status; None: there is none yet, or it is damaged."""
        try:
            return msgspec.json.decode(self._sink.status(), type=dict[str, Any])
        except msgspec.MsgspecError:
            return None

    # ---- sessions ----
    def _open(self, request: Request, hello: Hello, key: str, now_ns: int) -> Reply:
        if request.session or not is_client_name(hello.name):
            raise _RequestRefusedError("malformed", f"hello: a name, {CLIENT_NAME_ALLOWED}, and no session")
        while len(self._sessions) >= MOST_SESSIONS:
            del self._sessions[min(self._sessions, key=self._worth)]
        name = secrets.token_hex(16)
        self._sessions[name] = _Session(key, hello.name, 0, now_ns)
        lease = self._lease((key, hello.name))
        return Reply(True, name, request.sequence, nonce=hello.nonce, lease=lease)

    def _worth(self, name: str) -> tuple[bool, bool, int]:
        """Sessions end in this order: never used before used, without the lease before with it, oldest first."""
        session = self._sessions[name]
        return self._operator_lease.holder == (session.key, session.name), session.sequence > 0, session.used_ns

    def _session(self, request: Request, key: str, now_ns: int) -> _Session:
        session = self._sessions.get(request.session)
        if session is None or session.key != key:
            raise _RequestRefusedError("no_session", "no such session of this client: say hello first")
        if request.sequence <= session.sequence:
            error = f"sequence number {request.sequence}, allowed: above {session.sequence}; nothing is done twice"
            raise _RequestRefusedError("replayed", error)
        session.sequence, session.used_ns = request.sequence, now_ns
        self._limit_rate(session, request, now_ns)
        return session

    def _limit_rate(self, session: _Session, request: Request, now_ns: int) -> None:
        if now_ns // _SECOND_NS != session.second:
            session.second, session.counts = now_ns // _SECOND_NS, Counter()
        command = request.command
        if isinstance(command, Status) or (isinstance(command, Lease) and command.do == "keep"):
            return
        kind = "stops" if isinstance(command, Stop | EStop) else "commands"
        session.counts[kind] += 1
        if session.counts[kind] > MOST_COMMANDS_PER_S:
            raise _RequestRefusedError("too_many", f"over {MOST_COMMANDS_PER_S} {kind} in a second")

    def _answers_stranger(self, now_ns: int) -> bool:
        second, answers = self._strangers
        answers = answers + 1 if second == now_ns // _SECOND_NS else 1
        self._strangers = now_ns // _SECOND_NS, answers
        return answers <= MOST_STRANGERS_PER_S

    def _lease(self, client: Client | None, *, held_before: bool = False) -> LeaseState:
        lease = self._operator_lease
        yours = client is not None and lease.holder == client
        return LeaseState(self._name(lease.holder), yours, held_before, self._name(lease.asked_by))

    def _client(self, session: str) -> Client | None:
        entry = self._sessions.get(session)
        return (entry.key, entry.name) if entry else None

    def _name(self, client: Client | None) -> str:
        """As people see it: with the name of its key, where each client has its own."""
        if client is None:
            return ""
        return client[1] if self._token is not None else f"{client[0]}: {client[1]}"

    def _hand_over(self, command: OperatorRequest) -> None:
        try:
            command_to_bytes(command)
        except ValueError as error:
            raise _RequestRefusedError("too_long", str(error)) from None
        if not self._sink.put(command):
            raise _RequestRefusedError(
                "not_read", "the loop does not read commands now: wait for the end of the last one"
            )


def _recordable(command: Stop | EStop) -> Stop | EStop:
    """The stop, without a reason that cannot be recorded or shown: a stop is never refused for its text."""
    try:
        command_to_bytes(command)
    except ValueError:
        return type(command)()
    return command if command.reason.isprintable() else type(command)()
