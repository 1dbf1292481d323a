"""Real-time rights: requested, never assumed; the result is reported, and all rights are released at the end."""

from __future__ import annotations

import ctypes
import errno
import gc
import getpass
import os
import re
import resource
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

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
                forget_pages(address, size)


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


LIMITS_FILE = "/etc/security/limits.d/rover-hil.conf"
MEMORY = "memory"
# Holds the inhibitor as long as its standard input is open, that is as long as the process that started it.
INHIBIT = (
    "systemd-inhibit", "--what=sleep", "--mode=block", "--who=rover-hil", "--why=a rig is running", "sh", "-c",
    "echo held; exec cat",
)  # fmt: skip
INHIBIT_S = 3.0
AWAKE_HINT = "see to it that this computer does not sleep: `systemctl mask sleep.target suspend.target`"
_DMA_LATENCY = Path("/dev/cpu_dma_latency")
_CAP_IPC_LOCK = 14
Undo = Callable[[], object]


@dataclass(frozen=True)
class RightsWanted:
    """The rights to request; the defaults request nothing.

    Attributes:
        fifo_priority: SCHED_FIFO with this priority, 1 to 98; 0 keeps the ordinary scheduler.
        nice: niceness, -20 to 19: below 0 goes before other ordinary programs; 0 leaves it unchanged.
        lock_memory: keep in RAM all memory in use (mlockall), except the code of libraries used only before a run
            (`let_go_of_set_up`).
        cpus: processors to run on; empty: any.
        timer_slack_ns: how late the kernel may wake an ordinary thread; 0 leaves it unchanged. SCHED_FIFO has none.
        awake: keep idle processors out of deep sleep states (/dev/cpu_dma_latency), as cyclictest does.
        freeze_gc: no garbage collection.
        threads: threads that a library starts, as gRPC does, get the same scheduling.
        no_suspend: systemd-logind keeps the computer from being suspended, as far as it is there and may.
    """

    fifo_priority: int = 0
    nice: int = 0
    lock_memory: bool = False
    cpus: tuple[int, ...] = ()
    timer_slack_ns: int = 0
    awake: bool = False
    freeze_gc: bool = False
    threads: bool = False
    no_suspend: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.fifo_priority <= 98:
            raise ValueError(f"fifo_priority: found {self.fifo_priority}, allowed: 0 to 98 (99 is the kernel's own)")


@dataclass(frozen=True)
class RealtimeRight:
    """One right: the request, whether it was granted, and if not, the reason and a remedy."""

    name: str
    wanted: str
    granted: bool
    detail: str


class _Request(NamedTuple):
    name: str
    wanted: str  # empty: not requested
    ask: Callable[[], Undo]
    hint: str  # remedy if refused


@contextmanager
def rights(wanted: RightsWanted) -> Iterator[tuple[RealtimeRight, ...]]:
    """Request rights for the calling thread, and release them at the end. A refusal is reported and raises nothing."""
    with ExitStack() as stack:
        yield tuple([_ask(stack, request) for request in _requests(wanted) if request.wanted])


def _requests(wanted: RightsWanted) -> tuple[_Request, ...]:
    """In order of the requests: the scheduler last, since the rest takes time, and SCHED_FIFO has no timer slack."""
    cpus, slack, priority = wanted.cpus, wanted.timer_slack_ns, wanted.fifo_priority
    lock_hint = _limits_line("memlock unlimited", "CAP_IPC_LOCK")
    return (
        _Request("suspension", "prevented" if wanted.no_suspend else "", _prevent_suspension, AWAKE_HINT),
        _Request("garbage collector", "frozen" if wanted.freeze_gc else "", _freeze_gc, ""),
        _Request(MEMORY, "locked" if wanted.lock_memory else "", _lock_memory, lock_hint),
        _Request("processors", ",".join(map(str, cpus)), lambda: _set_cpus(cpus), "`taskset -p $$` shows what may be"),
        _Request("timer slack", f"{slack} ns" if slack else "", lambda: _set_slack(slack), ""),
        _Request("idle processors", "awake" if wanted.awake else "", _keep_awake, f"root may open {_DMA_LATENCY}"),
        _Request(
            "niceness",
            f"{wanted.nice}" if wanted.nice else "",
            lambda: _set_nice(wanted.nice),
            _limits_line(f"nice {wanted.nice}", "CAP_SYS_NICE"),
        ),
        _Request(
            "scheduler",
            f"SCHED_FIFO {priority}" if priority else "",
            lambda: _set_fifo(priority, 0 if wanted.threads else os.SCHED_RESET_ON_FORK),
            _limits_line(f"rtprio {priority}", "CAP_SYS_NICE"),
        ),
    )


def _ask(stack: ExitStack, request: _Request) -> RealtimeRight:
    try:
        undo = request.ask()
    except (OSError, ValueError, OverflowError) as error:  # the last two: an invalid processor number
        why = getattr(error, "strerror", None) or str(error)
        detail = "; ".join(part for part in (f"refused: {why}", request.hint) if part)
        return RealtimeRight(request.name, request.wanted, False, detail)
    stack.callback(_quietly, undo)
    detail = "granted"
    if request.name == MEMORY:
        with suppress(OSError):  # a kernel without this information
            detail = f"granted: {memory_of().locked_MB:.0f} MB"
    return RealtimeRight(request.name, request.wanted, True, detail)


def _quietly(undo: Undo) -> None:
    with suppress(OSError):
        undo()


def _limits_line(limit: str, capability: str) -> str:
    """What the administrator has to do."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # no such user, as in some containers
        user = "*"
    return f"add the line `{user} - {limit}` to {LIMITS_FILE} and log in again (a container needs {capability})"


def _prevent_suspension() -> Undo:
    pipe = subprocess.PIPE
    holder = subprocess.Popen(INHIBIT, stdin=pipe, stdout=pipe, stderr=pipe, process_group=0)
    assert holder.stdout is not None
    if select.select([holder.stdout], [], [], INHIBIT_S)[0] and holder.stdout.readline():
        return holder.communicate  # closes its input, and waits for its end
    holder.kill()
    said = holder.communicate()[1].decode(errors="replace").strip()
    raise PermissionError(1, f"{INHIBIT[0]}: {said or f'no answer within {INHIBIT_S:g} s'}")


def _freeze_gc() -> Undo:
    """No collection from now on. What a caller has frozen stays frozen, and nothing is searched for garbage then."""
    enabled, frozen = gc.isenabled(), gc.get_freeze_count() > 0
    if not frozen:
        gc.collect()
        gc.freeze()
    gc.disable()

    def undo() -> None:
        if not frozen:  # one cannot give back a part
            gc.unfreeze()
        if enabled:
            gc.enable()

    return undo


def _lock_memory() -> Undo:
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if limit != resource.RLIM_INFINITY and not _may_lock_all():
        # with such a limit, a later allocation would fail in the middle of a trial
        raise PermissionError(1, f"the limit of locked memory is {limit // 1024} KiB")
    let_go_of_set_up()
    lock_memory()
    return unlock_memory


def _may_lock_all() -> bool:
    """This process has CAP_IPC_LOCK: limits do not apply."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("CapEff:"):
                return bool(int(line.split()[1], 16) >> _CAP_IPC_LOCK & 1)
    return False


def _set_cpus(cpus: tuple[int, ...]) -> Undo:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    return lambda: os.sched_setaffinity(0, before)


def _set_slack(slack_ns: int) -> Undo:
    before = timer_slack_ns()
    set_timer_slack_ns(slack_ns)
    return lambda: set_timer_slack_ns(before)


def _keep_awake() -> Undo:
    device = os.open(_DMA_LATENCY, os.O_WRONLY)  # effective while it is open
    try:
        os.write(device, bytes(4))
    except OSError:
        os.close(device)
        raise
    return lambda: os.close(device)


def _set_nice(nice: int) -> Undo:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, nice)
    return lambda: os.setpriority(os.PRIO_PROCESS, 0, before)


def _set_fifo(priority: int, ordinary_on_fork: int) -> Undo:
    before, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_FIFO | ordinary_on_fork, os.sched_param(priority))

    def undo() -> None:
        try:
            os.sched_setscheduler(0, before, parameters)
        except PermissionError:  # without privileges "reset on fork" cannot be removed
            os.sched_setscheduler(0, before | os.SCHED_RESET_ON_FORK, parameters)

    return undo
