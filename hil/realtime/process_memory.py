"""What a process has in RAM: measured, and rid of what only its start needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hil.realtime import libc

# Libraries that work before a run only, by a part of their path: the compiler, once kernels are loaded; linear algebra.
SET_UP_ONLY = ("llvmlite", "scipy", "openblas")
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (....) \S+ \S+ \S+ +(/.*)")
_MB = 1024  # kB


class Memory(NamedTuple):
    """RAM of a process; what it shares with others counts in proportion [MB].

    Attributes:
        share_MB: all of it.
        own_MB: that of no file.
        locked_MB: kept in RAM by right.
    """

    share_MB: float
    own_MB: float
    locked_MB: float


def memory_of(process: int | None = None) -> Memory:
    """Memory of a process, by its id, or of this one. Raises OSError: it is gone, or not ours to look at."""
    text = Path(f"/proc/{process or 'self'}/smaps_rollup").read_text(encoding="ascii")
    found = {
        name: int(value.split()[0]) / _MB for name, _, value in (line.partition(":") for line in text.splitlines()[1:])
    }
    return Memory(found["Pss"], found["Pss_Anon"], found["Locked"])


def let_go_of_set_up() -> None:
    """Before memory is locked: drop the code of SET_UP_ONLY from this process.

    Only mappings that hold nothing but what is in their file, so that what is touched again comes back as it was. What
    the kernel refuses stays.
    """
    with suppress(OSError):  # a kernel that does not tell what a mapping holds
        smaps = Path("/proc/self/smaps").read_text(encoding="utf-8", errors="replace")
        for address, size in _droppable(smaps):
            with suppress(OSError):
                libc.forget_pages(address, size)


def _droppable(smaps: str) -> Iterator[tuple[int, int]]:
    """Address and size of each mapping that may be dropped."""
    place: tuple[int, int] | None = None
    for line in smaps.splitlines():
        if found := _MAPPING.fullmatch(line):
            start, end, rights, path = int(found[1], 16), int(found[2], 16), found[3], found[4]
            wanted = any(part in path for part in SET_UP_ONLY) and "w" not in rights and rights.endswith("p")
            place = (start, end - start) if wanted else None
        elif line[:1].islower() or line[:1].isdigit():  # a mapping of another kind
            place = None
        elif place and line.startswith("Anonymous:"):  # relocated when it was loaded: not as in the file
            if not int(line.split()[1]):
                yield place
            place = None
