"""Files mapped into memory without keeping their descriptors."""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from functools import cache

import numpy as np
from numpy.typing import NDArray

_MAP_FAILED = ctypes.c_void_p(-1).value


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_int64)
    libc.mmap.restype = ctypes.c_void_p
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return libc


def mapped_bytes(fd: int, size: int, *, populate: bool) -> NDArray[np.uint8]:
    """Map the first bytes of a file, readable and writable, shared with every process that maps it.

    The descriptor may be closed afterwards. The file is unmapped when the array and its last view are deleted.
    `mmap.mmap` would keep a duplicate of the descriptor until then, and cannot be closed while a view exists.

    Args:
        fd: descriptor of the file, open for reading and writing.
        size: bytes to map.
        populate: load all pages now, so that the first access causes no page fault.

    Raises:
        OSError: the kernel refuses.
    """
    flags = mmap.MAP_SHARED | (mmap.MAP_POPULATE if populate else 0)
    address = _libc().mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, fd, 0)
    if address == _MAP_FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    held = (ctypes.c_uint8 * size).from_address(address)
    # not at the interpreter's exit: a thread may still be using it, and the kernel unmaps it then
    weakref.finalize(held, _libc().munmap, address, size).atexit = False
    return np.ctypeslib.as_array(held)
