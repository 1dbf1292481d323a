"""The command server, as the resident process starts it and ends it."""

from __future__ import annotations

import os
from contextlib import ExitStack

from hil.app.server_process import ServerProcess
from hil.config.schema.equipment import OperatorConfig
from hil.ipc.operator import CommandMemory
from hil.operator.curve import own_path
from hil.operator.runtime_folder import Running


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
