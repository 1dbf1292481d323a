"""What `hil operate` hands to the process of the page server: a file that only its owner can read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

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


class Shown(msgspec.Struct, frozen=True):
    """What the page draws with, until an operator changes a setting or the plan.

    Attributes:
        content: answer to GET /api/config.
        checks: arming checks that follow from the config alone.
    """

    content: dict[str, Any]
    checks: list[dict[str, Any]]


class ShownFile:
    """What `hil operate` has last written for the page to draw with; it is read again when it is another.

    Args:
        folder: the runtime folder of the page server.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / SHOWN
        self._written_ns, self._shown = -1, Shown({}, [])

    def read(self) -> Shown:
        """The newest."""
        written_ns = self._file.stat().st_mtime_ns
        if written_ns != self._written_ns:
            self._shown = msgspec.json.decode(self._file.read_bytes(), type=Shown)
            self._written_ns = written_ns
        return self._shown


def write_shown(folder: Path, shown: Shown) -> None:
    """Leave it in the runtime folder of the page server, in one go."""
    part = folder / f"{SHOWN}.part"
    part.write_bytes(msgspec.json.encode(shown))
    part.replace(folder / SHOWN)
