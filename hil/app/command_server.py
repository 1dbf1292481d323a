"""The command server's process, as the resident process starts it, looks after it and ends it."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Self

from drivers.interfaces import DeviceError
from hil.config import Config
from hil.ipc.command_memory import CommandMemory
from hil.operator.curve import own_path
from hil.operator.runtime_folder import Running, RuntimeFolder, RuntimeFolderError
from hil.processes.process import Process

# How long the process may take to start, and to end [s].
_STARTS_S, _ENDS_S = 60.0, 5.0


class CommandServer:
    """Opens the command socket of a config in a process of its own.

    Args:
        config: its section `operator` says where, and who may connect.

    Attributes:
        memory: commands, lease and status.
        endpoint: where clients connect, with the port's number.
        token_file: of the token that clients have to know; None: they need keys.

    Raises:
        DeviceError: the socket cannot be opened, with the reason.
    """

    def __init__(self, config: Config) -> None:
        keys = config.operator.keys
        self._name = config.name
        self._process: Process | None = None
        self._keys = [] if keys is None else [str(own_path(path)) for path in (keys.secret, keys.clients)]
        with ExitStack() as stack:
            try:
                self._folder = RuntimeFolder.make()
            except RuntimeFolderError as error:
                raise DeviceError(f"command server: {error}") from None
            stack.callback(self._folder.close)
            self.token_file = None if keys else self._folder.new_token()
            self.memory = CommandMemory(self._folder.memory, create=True)
            stack.callback(self.memory.close)
            stack.callback(self._end)
            self.endpoint = config.operator.endpoint
            self._start()
            self._stack = stack.pop_all()

    def _start(self) -> None:
        self._process = Process("hil.app.command_process", str(self._folder.path), self.endpoint, *self._keys)
        answer = self._process.receive(_STARTS_S)
        if "endpoint" not in answer:
            problem = answer.get("error") or f"not ready within {_STARTS_S:g} s (exit status {self._process.status()})"
            raise DeviceError(f"command server: {problem}")
        self.endpoint = str(answer["endpoint"])
        token_file = None if self.token_file is None else str(self.token_file)
        self._folder.announce(Running(os.getpid(), self._name, self.endpoint, token_file))

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
        """Start the process again, at the same endpoint and with the same token; clients say hello again.

        Raises:
            DeviceError: the socket cannot be opened.
        """
        self._end()
        self._start()

    def _end(self) -> None:
        if self._process is not None:
            self._process.end(_ENDS_S)
            self._process = None

    def close(self) -> None:
        """End the process, and remove memory and token; may be called twice."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
