"""Memory between the command server's process and the resident process: commands, the operator lease, the status."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from hil.ipc.shared_types import OPERATOR_COMMAND
from hil.ipc.shm import Mailbox, Ring

# Commands that the loop has not read yet.
OPERATOR_COMMANDS = 64
# Longest name of a client that holds the lease [bytes].
LONGEST_HOLDER = 80
# Longest status, as JSON [bytes].
MOST_STATUS_BYTES = 8192
LEASE = np.dtype(
    [
        ("holder", f"S{LONGEST_HOLDER}"),  # name of the client, UTF-8
        ("held", "<u1"),  # 1: the client holds the lease
        ("t_ns", "<i8"),  # its last heartbeat on CLOCK_MONOTONIC
    ]
)
STATUS = np.dtype([("content", f"S{MOST_STATUS_BYTES}")])  # JSON


class CommandMemory:
    """Files that the resident process makes once and the command server's process opens.

    The server restarts with the same files: what it has put into the ring is not lost.

    Args:
        folder: of the files; only its owner may open it (mode 0700).
        create: make the folder and the files, or open them.

    Attributes:
        commands: ring of rows `OPERATOR_COMMAND`: from the command server to the loop, which misses none. One that it
            has not read at the end of a run waits for whoever reads next.
        lease: mailbox of `LEASE`: from the command server to the resident process.
        status: mailbox of `STATUS`: from the resident process to the command server.

    Raises:
        FileExistsError: the folder exists already.
        FileNotFoundError: there are no files to open.
        ShmError: the files do not have the expected contents.
    """

    def __init__(self, folder: str | os.PathLike[str], *, create: bool) -> None:
        self.folder = Path(folder)
        if create:
            self.folder.mkdir(mode=0o700)
        self.commands = Ring(
            self.folder / "commands", OPERATOR_COMMAND, OPERATOR_COMMANDS, create=create, must_not_lose=("loop",)
        )
        self.lease = Mailbox(self.folder / "lease", LEASE, create=create)
        self.status = Mailbox(self.folder / "status", STATUS, create=create)

    def close(self) -> None:
        """Unmap the files; may be called twice."""
        for part in (self.commands, self.lease, self.status):
            part.close()
