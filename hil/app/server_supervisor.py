"""Keeps a server for operators running.

The server is its child. It starts it again whenever it is gone, also during a run, in which the resident process has no
time for that. This process imports next to nothing and does nothing else, so that it has few reasons to end.
"""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hil.processes.lifecycle import Process, WorkerLifecycle
from hil.realtime.rights import RightsWanted, rights

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
