"""A server for operators in a separate process, and the process that starts it again."""

from __future__ import annotations

import os
import sys
import time
from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from drivers.interfaces import DeviceError
from hil.config.schema.equipment import OperatorConfig
from hil.ipc.shared_types import CommandMemory
from hil.operator.curve import KeysError, own_path
from hil.operator.runtime_folder import MEMORY, TOKEN, Running, RuntimeFolder, RuntimeFolderError, read_token
from hil.operator.sockets import CommandSocket, SharedCommands
from hil.processes.lifecycle import Process, Reporter, ServedProcess, WorkerLifecycle
from hil.realtime.rights import RealtimeRight, RightsWanted, rights

# Names in the command line, as people know them, and the processes that they stand for.
SERVERS = {"command": ("command server", "command_server"), "page": ("page server", "page_server")}
# A stop passes through both servers, so they go before other programs, such as a browser. They are not in real time, so
# a client that floods one of them stops no other program.
NICE = -10
# How long a server may take to start, and to end [s].
STARTS_S, _ENDS_S = 60.0, 3.0
# Between two looks at the server, and between two attempts to start it [s].
_LOOK_S, _AGAIN_S = 0.2, 1.0


class _ServerSupervisor:
    """Starts a server, and starts it again where it listened before.

    Args:
        arguments: of the server's process but the address: the folder, and what comes after the address.
    """

    def __init__(self, lifecycle: WorkerLifecycle, server: str, folder: str, *more: str) -> None:
        self._lifecycle, self._folder, self._more = lifecycle, folder, more
        self.what, self._server = SERVERS[server]
        self._process: Process | None = None

    def start(self, address: str) -> dict[str, Any]:
        """Start the server. `address`, where it listens; or `error`, why it does not."""
        self._process = process = Process(self._server, self._folder, address, *self._more)
        until_s = time.monotonic() + STARTS_S
        while not self._ending and time.monotonic() < until_s:
            if answer := process.receive(_LOOK_S):
                return answer
            if process.status() is not None:
                break
        return {"error": f"not ready within {STARTS_S:g} s (exit status {process.status()})"}

    def watch(self, address: str) -> None:
        """Start the server again whenever it is gone, until this process is to end."""
        assert self._process is not None
        while not self._ending:
            self._process.receive(_LOOK_S)  # it sends nothing more; this returns as soon as it is gone
            if self._process.status() is None:
                continue
            self._progress("its process is gone; it starts again")
            answer = self.start(address)
            if "error" in answer and not self._ending:
                self._progress(answer["error"])
                self.end()
                time.sleep(_AGAIN_S)

    def end(self) -> None:
        """End the server, if it is there."""
        if self._process is not None:
            self._process.end(_ENDS_S)

    @property
    def _ending(self) -> bool:
        return self._lifecycle.ending or self._lifecycle.orphaned

    def _progress(self, text: str) -> None:
        print(f"{self.what}: {text}", file=sys.stderr)  # noqa: T201


def run_server_supervisor(lifecycle: WorkerLifecycle, folder: Path, server: str, address: str, *more: str) -> None:
    """Keep a server running until asked to end.

    `address`: where it listens; with * as the port a free one, and that again after a restart.
    """
    supervisor = _ServerSupervisor(lifecycle, server, str(folder), *more)
    with rights(RightsWanted(nice=NICE)) as granted:  # the server inherits it
        try:
            answer = supervisor.start(address)
            lifecycle.report(**(answer | {"granted": [asdict(item) for item in granted]}))
            if "error" not in answer:
                supervisor.watch(answer["address"])
        finally:
            supervisor.end()


# How often the lease is looked at, and whether to end [s].
_EVERY_S = 0.05


def run_command_server(lifecycle: Reporter, folder: Path, endpoint: str, *keys: str) -> None:
    """Serve the command socket until asked to end.

    `keys`: file of the secret key and folder of the clients' keys; empty: clients know the token.
    """
    memory = CommandMemory(folder / MEMORY, create=False)
    secret, clients = map(Path, keys) if keys else (None, None)
    token = None if keys else read_token(folder / TOKEN)
    try:
        server = CommandSocket(endpoint, SharedCommands(memory), token=token, secret=secret, clients=clients)
    except (ValueError, KeysError) as error:
        lifecycle.report(error=str(error))
        return
    lifecycle.ready(address=server.endpoint)
    try:
        while not (lifecycle.ending or lifecycle.orphaned):
            server.serve(_EVERY_S)
    finally:
        server.close()
        memory.close()


# How long the process above the server may take to end [s].
_CONTROL_ENDS_S = 5.0


class ServerProcess(ServedProcess, ABC):
    """The life of one such server; a subclass starts it with `_launch`, within `_begin`.

    Attributes:
        server: which one, a key of `SERVERS`.
        granted: rights that were asked for.
    """

    server: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self._process: Process | None = None
        self.granted: tuple[RealtimeRight, ...] = ()

    def _begin(self, stack: ExitStack) -> None:
        """Start the process for the first time; `close` ends it, and what is on the stack so far.

        Raises:
            DeviceError: it cannot listen.
        """
        stack.callback(self._end)
        self._start()
        self._stack = stack.pop_all()

    @abstractmethod
    def _start(self) -> None:
        """Start the process. Raises DeviceError: it cannot listen."""

    def _make_folder(self, stack: ExitStack) -> RuntimeFolder:
        """A separate folder, removed with the stack. Raises DeviceError."""
        try:
            folder = RuntimeFolder.make()
        except RuntimeFolderError as error:
            raise DeviceError(f"{self.what}: {error}") from None
        stack.callback(folder.close)
        return folder

    def _launch(self, folder: RuntimeFolder, address: str, *more: str) -> str:
        """Start the server at that address; where it listens. Raises DeviceError, with the reason."""
        self._process = Process("server_supervisor", str(folder.path), self.server, address, *more)
        answer: dict[str, Any] = self._process.receive(STARTS_S + _CONTROL_ENDS_S)
        if "address" not in answer:
            problem = answer.get("error") or f"not started (exit status {self._process.status()})"
            raise DeviceError(f"{self.what}: {problem}")
        self.granted = tuple(RealtimeRight(**item) for item in answer["granted"])
        return str(answer["address"])

    @property
    def what(self) -> str:
        """Name of the server, for people."""
        return SERVERS[self.server][0]

    @property
    def refused_rights(self) -> list[str]:
        """A sentence for each right that was refused, with what it leads to and what helps."""
        sentence = "{} without {} {}, so a stop may wait there: {}".format
        return [sentence(self.what, it.name, it.wanted, it.detail) for it in self.granted if not it.granted]

    @property
    def alive(self) -> bool:
        """Whether the process above the server is running."""
        return self._process is not None and self._process.status() is None

    @property
    def pid(self) -> int:
        """Id of the process above the server."""
        assert self._process is not None
        return self._process.pid

    def restart(self) -> None:
        """Start it again, where it listened before and with the same token. Raises DeviceError: it cannot listen."""
        self._end()
        self._start()

    def _end(self) -> None:
        if self._process is not None:
            self._process.end(_CONTROL_ENDS_S)
            self._process = None


class CommandServer(ServerProcess):
    """Opens the command socket of a config; after a restart, clients say hello again.

    Args:
        config: its section `operator` says where, and who may connect.

    Attributes:
        memory: commands, lease and status.
        endpoint: where clients connect, with the port's number.
        token_file: of the token that clients have to know; None: they need keys.

    Raises:
        DeviceError: the socket cannot be opened, with the reason.
    """

    server = "command"

    def __init__(self, section: OperatorConfig, name: str) -> None:
        super().__init__()
        keys = section.keys
        self._name = name
        self._keys = [] if keys is None else [str(own_path(path)) for path in (keys.secret, keys.clients)]
        with ExitStack() as stack:
            self._folder = self._make_folder(stack)
            self.token_file = None if keys else self._folder.new_token()
            self.memory = CommandMemory(self._folder.memory, create=True)
            stack.callback(self.memory.close)
            self.endpoint = section.endpoint
            self._begin(stack)

    def _start(self) -> None:
        self.endpoint = self._launch(self._folder, self.endpoint, *self._keys)
        token_file = None if self.token_file is None else str(self.token_file)
        self._folder.announce(Running(os.getpid(), self._name, self.endpoint, token_file))
