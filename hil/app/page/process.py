"""The page server."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from hil.operator.client import CommandClient
from hil.operator.curve import KeysError, read_key_pair, read_public_key
from hil.operator.page.app import Page, bind, make_server, serve
from hil.operator.page.messages import DrawingInputsFile, PageSettings, read_settings
from hil.operator.page.operated_rig import PageRig, Series, TelemetryReceiver
from hil.operator.page.runs import RunFolder
from hil.operator.page.viewer import PageAccess
from hil.operator.runtime_folder import RuntimeFolderError, read_token
from hil.processes.lifecycle import Reporter
from hil.recording.annotation import annotate, annotation_of
from hil.recording.camera_frames import frames_of

READ_RECORD = (sys.executable, "-P", "-m", "hil.processes", "page_record")


def make_page(settings: PageSettings, shown: DrawingInputsFile, access: PageAccess) -> Page:
    """The page with its clients.

    Raises:
        KeysError: the keys are not in order.
        RuntimeFolderError: the token of the command socket cannot be read.
    """
    return Page(
        access, PageRig(_connect(settings), _feed(settings), realtime=settings.realtime),
        RunFolder(Path(settings.runs), READ_RECORD, annotation_of, annotate, frames_of), shown.read,
        [Series(row["name"], tuple(row["path"])) for row in shown.read().content["series"]],
    )  # fmt: skip


def _connect(settings: PageSettings) -> partial[CommandClient]:
    """Makes clients of the command socket."""
    if settings.command_token_file is not None:
        token = read_token(Path(settings.command_token_file))
        return partial(_named, settings.command_endpoint, token, None)
    assert settings.client_key is not None
    assert settings.command_key is not None
    return partial(_named, settings.command_endpoint, None, (Path(settings.client_key), Path(settings.command_key)))


def _named(endpoint: str, token: bytes | None, keys: tuple[Path, Path] | None, name: str) -> CommandClient:
    return CommandClient(endpoint, token=token, keys=keys, name=name)


def _feed(settings: PageSettings) -> TelemetryReceiver:
    virtual_hz = None if settings.realtime else settings.rate_hz
    if settings.telemetry_key is None:
        return TelemetryReceiver(settings.telemetry_endpoint, None, virtual_hz)
    assert settings.client_key is not None
    keys = read_key_pair(Path(settings.client_key)), read_public_key(Path(settings.telemetry_key))
    return TelemetryReceiver(settings.telemetry_endpoint, keys, virtual_hz)


def run_page_server(lifecycle: Reporter, folder: Path, address: str) -> None:
    """Serve the page until asked to end."""
    settings = read_settings(folder)
    files = [None if file is None else Path(file) for file in (settings.certificate, settings.certificate_key)]
    try:
        token = read_token(Path(settings.token_file))
        listening = bind(address)
        host, port = listening.getsockname()
        bound = f"{address.rpartition(':')[0] or host}:{port}"
        encrypted, ticket = settings.certificate is not None, Path(settings.ticket_file)
        access = PageAccess(token, bound, encrypted=encrypted, ticket=ticket)
        server = make_server(make_page(settings, DrawingInputsFile(folder), access).app(), *files)
    except (ValueError, KeysError, RuntimeFolderError) as error:
        lifecycle.report(error=str(error))
        return
    lifecycle.ready(address=bound)
    if not (lifecycle.ending or lifecycle.orphaned):
        serve(server, listening)
