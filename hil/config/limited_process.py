"""Reads what strangers wrote in a separate process: little time and memory, no file, no network, no other process."""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

MOST_WORK_S, MOST_MEMORY = 10, 2**30
# Work that only waits does not use up its processor time; a busy machine gives a process a part of a processor.
_MOST_S = 20 * MOST_WORK_S
# The work gets no new descriptor, so it opens neither files nor sockets, whatever library it trusts.
_NOTHING_ELSE = {resource.RLIMIT_NOFILE: 0, resource.RLIMIT_NPROC: 0, resource.RLIMIT_FSIZE: 0}


class LimitError(ValueError):
    """Work that ended at its limits, or by a crash: what was found, and what is allowed."""


def in_limited_process(prepare: Callable[[], Any], work: Callable[[], Any]) -> Any:
    """What a piece of work returns, done in a child process that can do nothing besides.

    Raises:
        LimitError: it needs more than `MOST_WORK_S` of processor time or `MOST_MEMORY` bytes, or it crashed.
        ValueError: the work or its preparation raised an error; its text is that of the error.
    """
    answers, into = os.pipe()
    child = os.fork()
    if not child:
        try:
            _answer(into, prepare, work)
        finally:
            os._exit(0)
    os.close(into)
    try:
        answer = _all_of(answers, time.monotonic() + _MOST_S)
    finally:
        os.close(answers)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if not answer:
        memory = f"{MOST_MEMORY / 2**30:g} GiB of memory"
        raise LimitError(
            f"reading it needs more than {MOST_WORK_S} s of processor time or {memory}, or crashed, and was ended; "
            "a file that is whole, smaller, and written by a program that follows the format"
        )
    found = json.loads(answer)
    if "error" in found:
        raise ValueError(found["error"])
    return found["result"]


def limit_process(limits: Mapping[int, int]) -> None:
    """Limit this process by `resource.RLIMIT_*`; one that is lower already stays, and a crash leaves no image."""
    for what, limit in {**limits, resource.RLIMIT_CORE: 0}.items():
        _, most = resource.getrlimit(what)
        resource.setrlimit(what, (limit if most == resource.RLIM_INFINITY else min(limit, most), most))


def mapped_bytes() -> int:
    """How much memory this process has mapped already."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()


def _answer(into: int, prepare: Callable[[], Any], work: Callable[[], Any]) -> None:
    """In the child: do the work, and send its result; at a limit nothing is sent."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # libraries tell of damage there
        os.dup2(nowhere, stream)
    gc.freeze()
    try:
        prepare()
        limit_process(
            {resource.RLIMIT_AS: mapped_bytes() + MOST_MEMORY, resource.RLIMIT_CPU: MOST_WORK_S} | _NOTHING_ELSE
        )
        answer = {"result": work()}
    except MemoryError:
        return
    except BaseException as error:  # of Rust a panic is no Exception
        answer = {"error": str(error) or type(error).__name__}
    content = json.dumps(answer).encode()
    while content:
        content = content[os.write(into, content) :]


def _all_of(answers: int, until: float) -> bytes:
    parts = list[bytes]()
    while select.select([answers], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(answers, 2**20)
        if not part:
            return b"".join(parts)
        parts.append(part)
    return b""
