"""What a browser may send over the WebSocket: JSON with a fixed schema, each command as on the command socket."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, Union

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
    """A change of the note and tags of a run."""

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


FILE_NAME, SHOWN = "page.json", "shown.json"


class PageSettings(msgspec.Struct, frozen=True):
    """Where the page is served, and what it is a client of.

    Attributes:
        address: ADDRESS:PORT; * as the port: a free one.
        token_file: of the token that opens a session.
        ticket_file: of the one that the printed address has: it opens one, and is then removed.
        certificate: file of the TLS certificate; null: no TLS.
        certificate_key: file of its key.
        command_endpoint: of the command socket.
        command_token_file: of its token; null: with keys.
        client_key: file of the page's own secret key, with keys.
        command_key: file of the command socket's key.
        telemetry_endpoint: of the telemetry; "": there is none.
        telemetry_key: file of its key; null: without keys.
        realtime: the loop's clock is that of this computer.
        rate_hz: of the loop.
        runs: folder of the runs.
    """

    address: str
    token_file: str
    ticket_file: str
    certificate: str | None
    certificate_key: str | None
    command_endpoint: str
    command_token_file: str | None
    client_key: str | None
    command_key: str | None
    telemetry_endpoint: str
    telemetry_key: str | None
    realtime: bool
    rate_hz: float
    runs: str


def write_settings(folder: Path, settings: PageSettings) -> None:
    """Leave them in the runtime folder of the page server."""
    (folder / FILE_NAME).write_bytes(msgspec.json.encode(settings))


def read_settings(folder: Path) -> PageSettings:
    """Read them from there."""
    return msgspec.json.decode((folder / FILE_NAME).read_bytes(), type=PageSettings)


class DrawingInputs(msgspec.Struct, frozen=True):
    """What the page draws with, until an operator changes a setting or the plan.

    Attributes:
        content: answer to GET /api/config.
        checks: arming checks that follow from the config alone.
    """

    content: dict[str, Any]
    checks: list[dict[str, Any]]


class DrawingInputsFile:
    """What `hil operate` has last written for the page to draw with; it is read again when it is another."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / SHOWN
        self._written_ns, self._shown = -1, DrawingInputs({}, [])

    def read(self) -> DrawingInputs:
        """The newest."""
        written_ns = self._file.stat().st_mtime_ns
        if written_ns != self._written_ns:
            self._shown = msgspec.json.decode(self._file.read_bytes(), type=DrawingInputs)
            self._written_ns = written_ns
        return self._shown


def write_shown(folder: Path, shown: DrawingInputs) -> None:
    """Leave it in the runtime folder of the page server, in one go."""
    part = folder / f"{SHOWN}.part"
    part.write_bytes(msgspec.json.encode(shown))
    part.replace(folder / SHOWN)
