"""What a browser may send over the WebSocket: JSON with a fixed schema, each command as on the command socket."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias, Union

import msgspec

from hil.messages.operator_input import EStop, OperatorRequest, Stop

# Longest message [bytes].
MOST_BYTES = 8192
# Series that one viewer may subscribe to.
MOST_SERIES = 192


class _Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Frozen; read with the fields that it has, and no others."""


class PageCommand(_Message, frozen=True, tag="command"):
    """A command for the command socket.

    Attributes:
        id: above that of all earlier messages of the connection; the reply repeats it.
        command: see `hil.messages.operator_input`.
    """

    id: int
    command: OperatorRequest


class PageLease(_Message, frozen=True, tag="lease"):
    """Take, release or ask for the operator lease, or give it to the client that asks.

    Attributes:
        do: which of them.
        id: as of a command.
    """

    do: Literal["take", "release", "ask", "give"]
    id: int


class Subscribe(_Message, frozen=True, tag="subscribe"):
    """The series that the viewer wants from now on."""

    series: Annotated[tuple[Annotated[str, msgspec.Meta(max_length=100)], ...], msgspec.Meta(max_length=MOST_SERIES)]


class _RunNote(_Message, frozen=True):
    """A change of the note and tags of a run.

    Attributes:
        note: takes the place of the former one; None leaves it.
        add: tags that the run shall have.
        remove: tags that it shall not have.
    """

    note: str | None = None
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


FromBrowser: TypeAlias = Union[PageCommand, PageLease, Subscribe]  # noqa: UP007 - msgspec
_DECODER: Final = msgspec.json.Decoder(FromBrowser)
# What is sent without a WebSocket: a stop, and nothing else.
StopRequest: TypeAlias = Union[Stop, EStop]  # noqa: UP007 - msgspec
_STOP_DECODER: Final = msgspec.json.Decoder(StopRequest)
_NOTE_DECODER: Final = msgspec.json.Decoder(_RunNote)


def read_message(content: str) -> FromBrowser:
    """Read a message of a browser. Raises ValueError: it is none."""
    if len(content) > MOST_BYTES:
        raise ValueError(f"a message of {len(content)} characters, allowed: {MOST_BYTES}")
    try:
        message: FromBrowser = _DECODER.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"no message: {error}") from None
    return message


def read_stop(content: bytes) -> Stop | EStop:
    """Read a stop that is sent without a WebSocket. Raises ValueError: it is none."""
    try:
        stop: Stop | EStop = _STOP_DECODER.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"no stop: {error}") from None
    return stop


def read_note(content: bytes) -> _RunNote:
    """Read a change of note and tags. Raises ValueError: it is none."""
    try:
        note: _RunNote = _NOTE_DECODER.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"no note: {error}") from None
    return note
