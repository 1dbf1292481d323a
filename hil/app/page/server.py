"""The server of the operator's page, and its process."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from drivers.extensions import install_command
from drivers.interfaces import DeviceError
from hil.app.page.content import fixed_checks, page_content
from hil.app.server_process import ServerProcess
from hil.config.operator_settings import ChangeableKeys
from hil.config.rig import Rig
from hil.config.schema.equipment import KeysConfig
from hil.operator.client import CommandClient
from hil.operator.curve import KeysError, own_path, read_key_pair, read_public_key
from hil.operator.page.app import Page, bind, make_server, serve
from hil.operator.page.messages import (
    DrawingInputs,
    DrawingInputsFile,
    PageSettings,
    read_settings,
    write_settings,
    write_shown,
)
from hil.operator.page.operated_rig import PageRig, Series, TelemetryReceiver
from hil.operator.page.runs import RunFolder
from hil.operator.page.viewer import PageAccess
from hil.operator.runtime_folder import TICKET, RuntimeFolderError, read_token
from hil.processes.lifecycle import Reporter
from hil.recording.run_folder import annotate, annotation_of, frames_of

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


_NEEDED = ("starlette", "uvicorn", "websockets")


def missing_parts() -> str:
    """What to do, if the packages that serve the page are not installed; "": they are."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    return f"--page needs {', '.join(missing)}: {install_command('page')}" if missing else ""


class PageServer(ServerProcess):
    """Serves the operator's page; sessions stay open over a restart.

    Args:
        config: its section `operator.page` says where.
        command_token_file: of its token; None: clients need keys.
        plan: of a campaign that operators may start (`page_content`).

    Attributes:
        address: where browsers connect, with the port's number.
        token_file: of the token that opens a session.

    Raises:
        DeviceError: the page cannot be served, with the reason.
    """

    server = "page"

    def __init__(
        self,
        rig: Rig,
        command_endpoint: str,
        command_token_file: Path | None,
        runs: Path,
        plan: Mapping[str, Any] | None = None,
        plans: Sequence[str] = (),
    ) -> None:
        if problem := missing_parts():
            raise DeviceError(problem)
        super().__init__()
        self._started, self._plans = ChangeableKeys(rig.config).values(), plans
        self._encrypted = rig.config.operator.page.certificate is not None
        with ExitStack() as stack:
            self._folder = self._make_folder(stack)
            self.token_file, ticket_file = self._folder.new_token(), self._folder.new_token(TICKET)
            self._ticket = read_token(ticket_file).hex()
            tokens = self.token_file, ticket_file
            written = _settings(rig, tokens, command_endpoint, command_token_file, runs)
            write_settings(self._folder.path, written)
            self.show(rig, plan)
            self.address = written.address
            self._begin(stack)

    def show(self, rig: Rig, plan: Mapping[str, Any] | None) -> None:
        """Have the page draw with these from now on."""
        content = page_content(rig, plan, self._started, self._plans)
        write_shown(self._folder.path, DrawingInputs(content, fixed_checks(rig)))

    @property
    def url(self) -> str:
        """Opens the page, once: the token behind the # is then used, wherever browsers keep the address."""
        scheme = "https" if self._encrypted else "http"
        return f"{scheme}://{self.address}/#token={self._ticket}"

    def _start(self) -> None:
        self.address = self._launch(self._folder, self.address)


def _settings(
    rig: Rig,
    token_files: tuple[Path, Path],
    command_endpoint: str,
    command_token_file: Path | None,
    runs: Path,
) -> PageSettings:
    """What its process needs. Raises DeviceError: a key is missing."""
    config, page, telemetry = rig.config, rig.config.operator.page, rig.config.telemetry
    if page.client_key is None and (config.operator.keys or telemetry.keys):
        raise DeviceError(
            "page server: operator.page.client_key is null, allowed: the page's own secret key, because clients need "
            "keys here (hil keys new page; copy page.key into the folder of the clients)"
        )
    return PageSettings(
        address=page.address,
        token_file=str(token_files[0]),
        ticket_file=str(token_files[1]),
        certificate=_path(page.certificate),
        certificate_key=_path(page.certificate_key),
        command_endpoint=command_endpoint,
        command_token_file=None if command_token_file is None else str(command_token_file),
        client_key=_path(page.client_key),
        command_key=_server_key(config.operator.keys),
        telemetry_endpoint=telemetry.endpoint.replace("//*:", "//127.0.0.1:"),  # all addresses: also this one
        telemetry_key=_server_key(telemetry.keys),
        realtime=config.clock == "realtime",
        rate_hz=rig.rate_hz,
        runs=str(runs),
    )


def _path(path: str | None) -> str | None:
    return None if path is None else str(own_path(path))


def _server_key(keys: KeysConfig | None) -> str | None:
    """The file of a server's key pair: its public part is what a client needs."""
    return None if keys is None else _path(keys.secret)
