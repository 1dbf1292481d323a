"""Standard output and error of the program `hil`, where the reader may leave or the disk may be full."""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO

from hil.cli.waiting import LINE


class OutputError(Exception):
    """Standard output cannot be written."""


class _Stream:
    """A text stream whose file may fail.

    A closed pipe is no error: its reader wants no more, and the command goes on to its own exit status. What cannot be
    written for another reason is raised as OutputError; on standard error it is lost, for nobody is left to read it.
    """

    def __init__(self, stream: TextIO, *, raises: bool) -> None:
        self._stream, self._raises = stream, raises

    def write(self, text: str) -> int:
        """See TextIO."""
        LINE.written()
        try:
            return self._stream.write(text)
        except OSError as error:
            self._fail(error)
            return len(text)

    def flush(self) -> None:
        """See TextIO."""
        try:
            self._stream.flush()
        except OSError as error:
            self._fail(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _fail(self, error: OSError) -> None:
        # what is still in the buffer goes nowhere, or the interpreter would fail on it once more when it ends
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        if self._raises and not isinstance(error, BrokenPipeError):
            raise OutputError(f"standard output cannot be written: {error.strerror}") from None


def guard_streams() -> None:
    """Make standard output and error such streams; one that is closed takes anything."""
    for name, raises in (("stdout", True), ("stderr", False)):
        stream = getattr(sys, name) or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  until the process ends
        setattr(sys, name, _Stream(stream, raises=raises))
