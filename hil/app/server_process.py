"""A server for operators in a process of its own, as the resident process starts it, looks after it and ends it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from typing import Any, ClassVar, Self

from drivers.interfaces import DeviceError
from hil.operator.runtime_folder import RuntimeFolder, RuntimeFolderError
from hil.processes.process import Process

# How long the process may take to start, and to end [s].
_STARTS_S, _ENDS_S = 60.0, 5.0


class ServerProcess(ABC):
    """The life of one such process; a subclass starts it with `_launch`, within `_begin`.

    Attributes:
        what: name of the server, for messages.
        module: that the process runs.
        listens: name of the place where it listens, in its answer once it is ready.
    """

    what: ClassVar[str]
    module: ClassVar[str]
    listens: ClassVar[str]

    def __init__(self) -> None:
        self._process: Process | None = None
        self._stack = ExitStack()

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
        """A folder of its own, removed with the stack. Raises DeviceError."""
        try:
            folder = RuntimeFolder.make()
        except RuntimeFolderError as error:
            raise DeviceError(f"{self.what}: {error}") from None
        stack.callback(folder.close)
        return folder

    def _launch(self, *arguments: str) -> str:
        """Start the process with these arguments; where it listens. Raises DeviceError, with the reason."""
        self._process = Process(self.module, *arguments)
        answer: dict[str, Any] = self._process.receive(_STARTS_S)
        if self.listens not in answer:
            problem = answer.get("error") or f"not ready within {_STARTS_S:g} s (exit status {self._process.status()})"
            raise DeviceError(f"{self.what}: {problem}")
        return str(answer[self.listens])

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
        """Start the process again, where it listened before and with the same token.

        Raises:
            DeviceError: it cannot listen.
        """
        self._end()
        self._start()

    def _end(self) -> None:
        if self._process is not None:
            self._process.end(_ENDS_S)
            self._process = None

    def close(self) -> None:
        """End the process, and remove what it needed; may be called twice."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
