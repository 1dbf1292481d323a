"""Entry point of the command server: `python -m hil.app.command_process FOLDER PARENT ENDPOINT [SECRET CLIENTS]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from hil.ipc.operator import CommandMemory
from hil.operator.curve import KeysError
from hil.operator.runtime_folder import MEMORY, TOKEN, read_token
from hil.operator.sockets import CommandSocket, SharedCommands
from hil.processes.lifecycle import WorkerLifecycle

# How often the lease is looked at, and whether to end [s].
_EVERY_S = 0.05


def main(folder: Path, parent: int, endpoint: str, keys: Sequence[Path]) -> None:
    """Serve the command socket until asked to end.

    Args:
        folder: the runtime folder, with memory and token.
        parent: process id of the resident process.
        endpoint: where clients connect.
        keys: file of the secret key and folder of the clients' keys; empty: clients know the token.
    """
    lifecycle = WorkerLifecycle(parent)
    memory = CommandMemory(folder / MEMORY, create=False)
    secret, clients = keys if keys else (None, None)
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


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], [Path(argument) for argument in sys.argv[4:]])
