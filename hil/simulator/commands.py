"""Orders to a process of the simulated rig: one JSON line in, one JSON line out."""

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
    """Takes orders from the process that started this one.

    Args:
        lifecycle: answers through it.
        handlers: by what an order's `do` says; one that raises ValueError, KeyError or TypeError answers with `error`.
    """

    def __init__(self, lifecycle: WorkerLifecycle, handlers: Mapping[str, Handler]) -> None:
        self._lifecycle, self._handlers = lifecycle, handlers
        self._input = sys.stdin.fileno()
        self._rest = b""

    def look(self, wait_s: float = 0.0) -> None:
        """Carry out what has come, after waiting for it so long at most [s]."""
        if not select.select([self._input], [], [], wait_s)[0]:
            return
        data = os.read(self._input, _READ_CHUNK)
        if not data:  # whoever gives orders is gone; the end of this process comes as a signal
            self._lifecycle.ending = True
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._lifecycle.report(**dispatch(line, self._handlers))


def _finite(text: str) -> float:
    """Raises ValueError: NaN and Infinity are no JSON, and no order takes them, nor what is too large for a float."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is no finite number")
    return value


def _in_words(error: Exception) -> str:
    """What an error says, in text that can be sent: an order may have brought in what is no Unicode."""
    try:
        return str(error).encode("utf-8", "backslashreplace").decode()
    except UnicodeError:
        return "text that is no Unicode"


def dispatch(line: bytes, handlers: Mapping[str, Handler]) -> Answer:
    """The answer to one line; whatever is wrong with it is said in `error`."""
    try:
        command = json.loads(line, parse_constant=_finite, parse_float=_finite)
        if not isinstance(command, dict) or command.get("do") not in handlers:
            raise ValueError(f"an order is an object whose `do` is one of {', '.join(sorted(handlers))}")
        return {"ok": True, **handlers[command.pop("do")](command)}
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        return {"ok": False, "error": f"{type(error).__name__}: {_in_words(error)}"}
