"""Memory of a process in RAM: measured, and reduced by the parts that only its start needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hil.realtime import libc

# Libraries used only before a run, by a part of their path: the compiler, once kernels are loaded; linear algebra.
SET_UP_ONLY = ("llvmlite", "scipy", "openblas")
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (....) \S+ \S+ \S+ +(/.*)")
_MB = 1024  # kB


class Memory(NamedTuple):
    """RAM of a process [MB]; memory shared with other processes counts in proportion.

    Attributes:
        share_MB: all memory.
        own_MB: memory not mapped from a file.
        locked_MB: locked memory.
    """

    share_MB: float
    own_MB: float
    locked_MB: float


def memory_of(process: int | None = None) -> Memory:
    """Memory of a process, by its id, or of this one; not for a process with deadlines.

    The kernel goes through all its pages, and lets it map no memory meanwhile, whatever the priorities of the two: on
    a busy machine a process under SCHED_FIFO waited for 0.2 s, and was taken for hung.

    Raises:
        OSError: the process is gone, or access is denied.
    """
    text = Path(f"/proc/{process or 'self'}/smaps_rollup").read_text(encoding="ascii")
    parts_MB = {
        name: int(value.split()[0]) / _MB for name, _, value in (line.partition(":") for line in text.splitlines()[1:])
    }
    return Memory(parts_MB["Pss"], parts_MB["Pss_Anon"], parts_MB["Locked"])


def let_go_of_set_up() -> None:
    """Drop the code of SET_UP_ONLY from this process, before its memory is locked.

    Only mappings identical to their file are dropped, so that the same contents return on the next access. Mappings
    for which the kernel refuses this stay.
    """
    with suppress(OSError):  # a kernel without smaps
        smaps = Path("/proc/self/smaps").read_text(encoding="utf-8", errors="replace")
        for address, size in _droppable(smaps):
            with suppress(OSError):
                libc.forget_pages(address, size)


def _droppable(smaps: str) -> Iterator[tuple[int, int]]:
    """Address and size of each mapping that may be dropped."""
    place: tuple[int, int] | None = None
    for line in smaps.splitlines():
        if mapping := _MAPPING.fullmatch(line):
            start, end, rights, path = int(mapping[1], 16), int(mapping[2], 16), mapping[3], mapping[4]
            wanted = any(part in path for part in SET_UP_ONLY) and "w" not in rights and rights.endswith("p")
            place = (start, end - start) if wanted else None
        elif line[:1].islower() or line[:1].isdigit():  # a mapping of another kind
            place = None
        elif place and line.startswith("Anonymous:"):  # relocated when loaded: differs from the file
            if not int(line.split()[1]):
                yield place
            place = None
