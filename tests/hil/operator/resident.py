"""Stands in for the resident process of `hil operate`, at a command socket."""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from hil.ipc.shared_types import STATUS


class Resident(ABC):
    """Answers each command with a status, from its own thread.

    Args:
        rig: whose commands it takes (`command_rig`).

    Attributes:
        asked: the commands so far.
    """

    def __init__(self, rig: Any) -> None:
        self.asked: list[Any] = []
        self._rig, self._over = rig, threading.Event()
        self._thread = threading.Thread(target=self._serve)

    @abstractmethod
    def answer(self, command: Any) -> None:
        """Do what a command asks for."""

    def show(self, **status: Any) -> None:
        """Be in that state."""
        self._rig.memory.status.write(np.array([(json.dumps(status).encode(),)], STATUS))

    def _serve(self) -> None:
        while not self._over.is_set():
            for command in self._rig.commands():
                self.asked.append(command)
                self.answer(command)
            time.sleep(0.01)

    def __enter__(self) -> Any:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
