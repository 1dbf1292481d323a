"""The command server."""

from __future__ import annotations

from pathlib import Path

from hil.ipc.operator import CommandMemory
from hil.operator.curve import KeysError
from hil.operator.runtime_folder import MEMORY, TOKEN, read_token
from hil.operator.sockets import CommandSocket, SharedCommands
from hil.processes.lifecycle import Reporter

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
