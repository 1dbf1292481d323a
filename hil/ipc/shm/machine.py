"""The compiled functions of atomics.ll, in place and callable."""

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


class UnsupportedMachine(RuntimeError):  # noqa: N818 - reads as what it says
    """There is no code for this machine, or it may not be run here."""


class Functions(NamedTuple):
    """The functions of atomics.ll. All arguments are addresses or counts; nothing is checked: a wrong one crashes."""

    load: Callable[[int], int]
    store: Callable[[int, int], None]
    publish: Callable[[int, int], int]
    snapshot: Callable[[int, int], int]
    append: Callable[[int, int, int], int]
    fetch: Callable[[int, int, int, int], int]


_WORD = ctypes.c_int64
# PYFUNCTYPE keeps the GIL: giving it away for 30 ns can cost a thread switch interval to have it back.
_TYPES = {
    "load": ctypes.PYFUNCTYPE(_WORD, _WORD),
    "store": ctypes.PYFUNCTYPE(None, _WORD, _WORD),
    "publish": ctypes.PYFUNCTYPE(_WORD, _WORD, _WORD),
    "snapshot": ctypes.PYFUNCTYPE(_WORD, _WORD, _WORD),
    "append": ctypes.PYFUNCTYPE(_WORD, _WORD, _WORD, _WORD),
    "fetch": ctypes.PYFUNCTYPE(_WORD, _WORD, _WORD, _WORD, _WORD),
}
_kept: list[mmap.mmap] = []  # for as long as the process lives


def machine() -> str:
    """Key of `CODE` for this machine.

    Raises:
        UnsupportedMachine: in one sentence.
    """
    found = f"{platform.machine()} {platform.system()}, {sys.maxsize.bit_length() + 1} bits"
    if found not in {f"{name} Linux, 64 bits" for name in CODE}:
        raise UnsupportedMachine(f"shared memory runs on {' and '.join(CODE)} Linux, 64 bits, found {found}")
    return platform.machine()


@functools.cache
def functions() -> Functions:
    """Puts the code into memory of this process, once.

    By way of an unnamed file, so that no page is ever both writable and executable, and so that the kernel brings the
    instruction cache up to date where the processor does not.

    Raises:
        UnsupportedMachine: no code for this machine, or it may not be run.
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
