"""The page server's process, as the resident process starts it, looks after it and ends it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from drivers.interfaces import DeviceError
from hil.app.page.content import fixed_checks, page_content
from hil.config import Config
from hil.config.schema.operator import KeysConfig
from hil.operator.curve import own_path
from hil.operator.page.settings import PageSettings, write_settings
from hil.operator.runtime_folder import RuntimeFolder, RuntimeFolderError, read_token
from hil.processes.process import Process

# How long the process may take to start, and to end [s].
_STARTS_S, _ENDS_S = 60.0, 5.0
_NEEDED = ("starlette", "uvicorn", "websockets")


def missing_parts() -> str:
    """What to do, if the packages that serve the page are not installed; "": they are."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    return f"--page needs {', '.join(missing)}: pip install 'rover-hil[page]'" if missing else ""


class PageServer:
    """Serves the operator's page in a process of its own.

    Args:
        config: its section `operator.page` says where.
        command_endpoint: of the command socket, with the port's number.
        command_token_file: of its token; None: clients need keys.
        runs: folder of the runs.
        plan: of a campaign that operators may start (`page_content`).

    Attributes:
        address: where browsers connect, with the port's number.
        token_file: of the token that opens a session.

    Raises:
        DeviceError: the page cannot be served, with the reason.
    """

    def __init__(
        self,
        config: Config,
        command_endpoint: str,
        command_token_file: Path | None,
        runs: Path,
        plan: Mapping[str, Any] | None = None,
    ) -> None:
        if problem := missing_parts():
            raise DeviceError(problem)
        self._encrypted = config.operator.page.certificate is not None
        self._process: Process | None = None
        with ExitStack() as stack:
            try:
                self._folder = RuntimeFolder.make()
            except RuntimeFolderError as error:
                raise DeviceError(f"page server: {error}") from None
            stack.callback(self._folder.close)
            self.token_file = self._folder.new_token()
            settings = _settings(config, self.token_file, command_endpoint, command_token_file, runs, plan)
            write_settings(self._folder.path, settings)
            stack.callback(self._end)
            self.address = settings.address
            self._start()
            self._stack = stack.pop_all()

    @property
    def url(self) -> str:
        """Opens the page with its token; a browser does not send what is behind the #."""
        scheme = "https" if self._encrypted else "http"
        return f"{scheme}://{self.address}/#token={read_token(self.token_file).hex()}"

    def _start(self) -> None:
        self._process = Process("hil.app.page.process", str(self._folder.path), self.address)
        answer = self._process.receive(_STARTS_S)
        if "address" not in answer:
            problem = answer.get("error") or f"not ready within {_STARTS_S:g} s (exit status {self._process.status()})"
            raise DeviceError(f"page server: {problem}")
        self.address = str(answer["address"])

    @property
    def alive(self) -> bool:
        """Whether its process is running."""
        return self._process is not None and self._process.status() is None

    @property
    def pid(self) -> int:
        """Id of its process."""
        assert self._process is not None
        return self._process.pid

    def restart(self) -> None:
        """Start the process again, at the same address and with the same token; sessions stay open.

        Raises:
            DeviceError: the page cannot be served.
        """
        self._end()
        self._start()

    def _end(self) -> None:
        if self._process is not None:
            self._process.end(_ENDS_S)
            self._process = None

    def close(self) -> None:
        """End the process, and remove the token; may be called twice."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _settings(
    config: Config,
    token_file: Path,
    command_endpoint: str,
    command_token_file: Path | None,
    runs: Path,
    plan: Mapping[str, Any] | None,
) -> PageSettings:
    """What its process needs. Raises DeviceError: a key is missing."""
    page, telemetry = config.operator.page, config.telemetry
    if page.client_key is None and (config.operator.keys or telemetry.keys):
        raise DeviceError(
            "page server: operator.page.client_key is null, allowed: the page's own secret key, because clients need "
            "keys here (hil keys new page; copy page.key into the folder of the clients)"
        )
    return PageSettings(
        address=page.address,
        token_file=str(token_file),
        certificate=_path(page.certificate),
        certificate_key=_path(page.certificate_key),
        command_endpoint=command_endpoint,
        command_token_file=None if command_token_file is None else str(command_token_file),
        client_key=_path(page.client_key),
        command_key=_server_key(config.operator.keys),
        telemetry_endpoint=telemetry.endpoint.replace("//*:", "//127.0.0.1:"),  # all addresses: also this one
        telemetry_key=_server_key(telemetry.keys),
        realtime=config.clock == "realtime",
        runs=str(runs),
        content=page_content(config, plan),
        checks=fixed_checks(config),
    )


def _path(path: str | None) -> str | None:
    return None if path is None else str(own_path(path))


def _server_key(keys: KeysConfig | None) -> str | None:
    """The file of a server's key pair: its public part is what a client needs."""
    return None if keys is None else _path(keys.secret)
