"""The compiled functions of atomics.ll, loaded and callable."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import platform
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hil.ipc.shm.machine_code import CODE


class UnsupportedMachine(RuntimeError):  # noqa: N818 - the name describes the error
    """There is no code for this machine, or it must not run here."""


class Functions(NamedTuple):
    """The functions of atomics.ll. All arguments are addresses or counts and are not checked: a wrong one crashes."""

    load: Callable[[int], int]
    store: Callable[[int, int], None]
    publish: Callable[[int, int], int]
    snapshot: Callable[[int, int], int]
    append: Callable[[int, int, int], int]
    fetch: Callable[[int, int, int, int], int]


_WORD = ctypes.c_int64
# PYFUNCTYPE keeps the GIL: after releasing it for 30 ns, getting it back can take a thread switch interval.
_TYPES = {
    "load": ctypes.PYFUNCTYPE(_WORD, _WORD),
    "store": ctypes.PYFUNCTYPE(None, _WORD, _WORD),
    "publish": ctypes.PYFUNCTYPE(_WORD, _WORD, _WORD),
    "snapshot": ctypes.PYFUNCTYPE(_WORD, _WORD, _WORD),
    "append": ctypes.PYFUNCTYPE(_WORD, _WORD, _WORD, _WORD),
    "fetch": ctypes.PYFUNCTYPE(_WORD, _WORD, _WORD, _WORD, _WORD),
}
_kept: list[mmap.mmap] = []  # until the process ends


def machine() -> str:
    """Key of `CODE` for this machine. Raises UnsupportedMachine: there is no code for it."""
    description = f"{platform.machine()} {platform.system()}, {sys.maxsize.bit_length() + 1} bits"
    if description not in {f"{name} Linux, 64 bits" for name in CODE}:
        raise UnsupportedMachine(f"shared memory runs on {' and '.join(CODE)} Linux, 64 bits, found {description}")
    return platform.machine()


@functools.cache
def functions() -> Functions:
    """Load the code into the memory of this process, once.

    The code goes through an unnamed file, so that no page is both writable and executable, and so that the kernel
    updates the instruction cache where the processor does not.

    Raises:
        UnsupportedMachine: there is no code for this machine, or it must not run.
    """
    starts, text = {}, b""
    for name, digits in CODE[machine()].items():
        text += b"\0" * (-len(text) % 64)
        starts[name] = len(text)
        text += bytes.fromhex(digits)
    fd = os.memfd_create("rover-hil-atomics", os.MFD_CLOEXEC)
    try:
        os.write(fd, text)
        code = mmap.mmap(fd, len(text), mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
    except PermissionError as error:
        raise UnsupportedMachine(f"shared memory: this system runs no code from memory ({error})") from None
    finally:
        os.close(fd)
    _kept.append(code)
    base = int(np.frombuffer(code, np.uint8).ctypes.data)
    return Functions(**{name: kind(base + starts[name]) for name, kind in _TYPES.items()})
