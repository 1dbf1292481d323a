"""Messages of the command socket: JSON with a fixed schema, and a code that proves who wrote them.

A client says hello, and the server opens a session with a random name. Each further request carries that name and a
sequence number that rises. So a request that somebody has recorded is worth nothing later.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import unicodedata
from typing import Any, Final, Literal, TypeAlias, Union

import msgspec

from hil.messages.operator_input import OperatorRequest

# Longest request [bytes].
MOST_REQUEST_BYTES = 4096
# Names of keys, which are names of files.
KEY_NAME = re.compile(r"[A-Za-z0-9._@-]{1,30}")
KEY_NAME_ALLOWED = "1 to 30 of letters, digits and . _ @ -"
# Names of clients: who holds the lease, and its key, fit into the detail of an event.
MOST_NAME_LETTERS, MOST_NAME_BYTES = 30, 48
CLIENT_NAME_ALLOWED = "1 to 30 of letters and digits of any language, spaces inside and . _ @ -, 48 bytes"
# Length of the code in front of a message, where clients prove that they know the token [bytes].
CODE_BYTES = hashlib.sha256().digest_size

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


class RequestRefusedError(Exception):
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
_REPLIES: Final = msgspec.json.Decoder(Reply)


def read_request(content: bytes) -> Request:
    """Read a request. Raises ValueError: it is none."""
    try:
        return _REQUESTS.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"no request: {error}") from None


def read_reply(content: bytes) -> Reply:
    """Read a reply. Raises ValueError: it is none."""
    try:
        return _REPLIES.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"no reply: {error}") from None


class Seal:
    """Puts a code in front of messages in one direction that only somebody with the token can make.

    Args:
        token: the secret that both ends know; None: the connection itself is encrypted and authenticated.
        direction: request or reply, so that none can be returned as the other.
    """

    def __init__(self, token: bytes | None, direction: Literal["request", "reply"]) -> None:
        self._token, self._direction = token, direction.encode()

    def closed(self, content: bytes) -> bytes:
        """The message with its code in front."""
        return content if self._token is None else self._code(content) + content

    def opened(self, frame: bytes) -> bytes | None:
        """The message; None: its code is wrong."""
        if self._token is None:
            return frame
        code, content = frame[:CODE_BYTES], frame[CODE_BYTES:]
        return content if hmac.compare_digest(code, self._code(content)) else None

    def _code(self, content: bytes) -> bytes:
        assert self._token is not None
        return hmac.digest(self._token, self._direction + content, "sha256")
