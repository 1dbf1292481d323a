"""Lets a child process read a file first, within limits of work and memory: HDF5 trusts what a file says."""

from __future__ import annotations

import os
import resource
import select
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hil.config.limited_process import limit_process, mapped_bytes

# HDF5 reads a piece whose checksum is wrong up to 100 times, and sleeps twice as long before each attempt, from 1 ns.
# Who writes puts it right within microseconds. A reader that sleeps for so long at a stretch is at about its 29th [s].
_DAMAGED_AFTER_S = 0.5
_LOOK_S = 0.01
# Processor time [s] and memory that reading takes at most, and for each byte of its content.
_WORK_S, _WORK_A_BYTE_S = 1, 100e-9
_MEMORY, _MEMORY_A_BYTE = 2**28, 8


def child_can_read(place: Path, read: Callable[[Path, Callable[[int], None]], Any]) -> bool:
    """Whether a child process comes to an end of reading a file, whatever it says of the content.

    How long the child takes says nothing: the file may be large, the machine busy. How long it sleeps does: HDF5 takes
    a damaged piece of an open record for one that is being written, and tries again for ever. Of a file that was closed
    it believes what is damaged: it may crash, go round in circles, or ask for more memory than there is.

    Args:
        place: the file.
        read: reads it; to its second argument it says the size of the content, once that is known: of a compressed
            file it is several times the size of the file.
    """
    child = os.fork()
    if not child:
        status = 1
        try:
            _limit(place.stat().st_size)
            read(place, _limit)
            status = 0
        except (OSError, MemoryError):
            pass
        except Exception:  # no record of ours, but it can be read
            status = 0
        finally:
            os._exit(status)
    ends = os.pidfd_open(child)
    try:
        asleep, looks = "", 0
        while not select.select([ends], [], [], _LOOK_S)[0]:
            before, asleep = asleep, _sleep_of(child)
            looks = looks + 1 if asleep and asleep == before else 0
            if looks * _LOOK_S > _DAMAGED_AFTER_S:
                os.kill(child, signal.SIGKILL)
                break
    finally:
        os.close(ends)
    return os.waitpid(child, 0)[1] == 0


def _sleep_of(process: int) -> str:
    """Which of its sleeps a process is in, as the kernel counts; empty: it runs, or waits for a processor or a disk."""
    text = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    status = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    return status["voluntary_ctxt_switches"] if status["State"].startswith("S") else ""


def _limit(size: int) -> None:
    """Work and memory of this process, to what reading so many bytes takes; a crash leaves no image of it."""
    memory, work_s = mapped_bytes() + _MEMORY + _MEMORY_A_BYTE * size, _WORK_S + int(_WORK_A_BYTE_S * size)
    limit_process({resource.RLIMIT_AS: memory, resource.RLIMIT_CPU: work_s})
