"""Servers for operators in separate processes, as the resident process starts them and ends them.

Between the two stands a process that starts the server again when it is gone (`hil.app.server_supervisor`).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import ExitStack
from typing import Any, ClassVar

from drivers.interfaces import DeviceError
from hil.app.server_supervisor import SERVERS, STARTS_S
from hil.config.schema.equipment import OperatorConfig
from hil.ipc.operator import CommandMemory
from hil.operator.curve import own_path
from hil.operator.runtime_folder import Running, RuntimeFolder, RuntimeFolderError
from hil.processes.lifecycle import Process, ServedProcess
from hil.realtime.rights import RealtimeRight

# How long the process above the server may take to end [s].
_ENDS_S = 5.0


class ServerProcess(ServedProcess, ABC):
    """The life of one such server; a subclass starts it with `_launch`, within `_begin`.

    Attributes:
        server: which one, a key of `hil.app.server_supervisor.SERVERS`.
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
        answer: dict[str, Any] = self._process.receive(STARTS_S + _ENDS_S)
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
            self._process.end(_ENDS_S)
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
