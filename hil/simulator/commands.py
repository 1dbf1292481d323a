"""Commands to a process of the simulated rig: one JSON line in, one JSON line out."""

from __future__ import annotations

import json
import math
import os
import select
import sys
from collections.abc import Callable, Mapping
from typing import Any

from hil.processes.lifecycle import WorkerLifecycle

Answer = Mapping[str, Any]
Handler = Callable[[dict[str, Any]], Answer]
_READ_CHUNK = 65536


class CommandReader:
    """Reads commands from the process that started this one.

    Args:
        lifecycle: sends the answers.
        handlers: by the `do` of a command; if one raises ValueError, KeyError or TypeError, the answer has `error`.
    """

    def __init__(self, lifecycle: WorkerLifecycle, handlers: Mapping[str, Handler]) -> None:
        self._lifecycle, self._handlers = lifecycle, handlers
        self._input = sys.stdin.fileno()
        self._rest = b""

    def look(self, wait_s: float = 0.0) -> None:
        """Execute the commands that have arrived; wait at most `wait_s` [s] for the first."""
        if not select.select([self._input], [], [], wait_s)[0]:
            return
        data = os.read(self._input, _READ_CHUNK)
        if not data:  # the sender of commands is gone; SIGTERM then ends this process
            self._lifecycle.ending = True
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._lifecycle.report(**dispatch(line, self._handlers))


def _finite(text: str) -> float:
    """Raises ValueError: NaN and Infinity are not JSON, and no command accepts them or a number too large for float."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is not a finite number")
    return value


def _in_words(error: Exception) -> str:
    """The message of an error as text that can be sent: a command may have contained invalid Unicode."""
    try:
        return str(error).encode("utf-8", "backslashreplace").decode()
    except UnicodeError:
        return "text that is not valid Unicode"


def dispatch(line: bytes, handlers: Mapping[str, Handler]) -> Answer:
    """The answer to one line; `error` describes what is wrong with it."""
    try:
        command = json.loads(line, parse_constant=_finite, parse_float=_finite)
        if not isinstance(command, dict) or command.get("do") not in handlers:
            raise ValueError(f"a command is an object whose `do` is one of {', '.join(sorted(handlers))}")
        return {"ok": True, **handlers[command.pop("do")](command)}
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        return {"ok": False, "error": f"{type(error).__name__}: {_in_words(error)}"}
