"""Functions of the C library that Python's library lacks: absolute sleep, locked memory, timer slack."""

from __future__ import annotations

import ctypes
import errno
import os
import time
from collections.abc import Callable
from functools import cache

_TIMER_ABSTIME = 1
_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
_MADV_DONTNEED = 4
_PR_SET_PDEATHSIG, _PR_SET_TIMERSLACK, _PR_GET_TIMERSLACK = 1, 29, 30


class _Timespec(ctypes.Structure):
    _fields_ = (("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long))


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.clock_nanosleep.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.POINTER(_Timespec), ctypes.c_void_p)
    libc.prctl.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return libc


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def monotonic_sleeper() -> Callable[[int], None]:
    """A function that sleeps until a time of CLOCK_MONOTONIC [ns], despite signals and changes of the wall clock.

    Signal handlers run when signals arrive; if one raises, the sleep ends with that exception.
    """
    spec = _Timespec()
    place = ctypes.byref(spec)
    nanosleep, monotonic = _libc().clock_nanosleep, time.CLOCK_MONOTONIC

    def sleep_until(deadline_ns: int) -> None:
        spec.tv_sec, spec.tv_nsec = divmod(deadline_ns, 1_000_000_000)
        while (error := nanosleep(monotonic, _TIMER_ABSTIME, place, None)) == errno.EINTR:
            pass  # here the interpreter runs the signal's handler
        if error:
            raise OSError(error, f"clock_nanosleep until {deadline_ns} ns: {os.strerror(error)}")

    return sleep_until


def lock_memory() -> None:
    """Keep in RAM all memory that this process has used or will use. Raises OSError.

    Memory that is mapped but never used, such as most of a library or of a thread's stack, is not loaded.
    """
    _check(_libc().mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT))


def unlock_memory() -> None:
    """Undo lock_memory. Raises OSError."""
    _check(_libc().munlockall())


def forget_pages(address: int, size: int) -> None:
    """Remove pages from this process' memory; on the next access they are read from their file. Raises OSError."""
    _check(_libc().madvise(address, size, _MADV_DONTNEED))


def timer_slack_ns() -> int:
    """How late the kernel may wake this thread, in order to wake others at the same time [ns]. Raises OSError."""
    return _check(_libc().prctl(_PR_GET_TIMERSLACK, 0, 0, 0, 0))


def set_timer_slack_ns(slack_ns: int) -> None:
    """Set the timer slack [ns]; 0 is the default of the thread. Raises OSError."""
    _check(_libc().prctl(_PR_SET_TIMERSLACK, slack_ns, 0, 0, 0))


def signal_when_parent_dies(number: int) -> None:
    """Have the kernel send this process a signal when the thread that started it ends. Raises OSError."""
    _check(_libc().prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0))
