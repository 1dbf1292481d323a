"""Reads `trial.h5` back, whole or from a writer that was killed."""

from __future__ import annotations

import fcntl
import math
import os
import resource
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import h5py
import numpy as np
from numpy.typing import NDArray

from hil.messages.layout import SAMPLED, Layout
from hil.messages.schema import block_dtype
from hil.recording.digests import CONTENT, content_sha256, file_sha256

FILE_NAME = "trial.h5"
# HDF5 reads a piece whose checksum is wrong up to 100 times, and sleeps twice as long before each attempt, from 1 ns.
# Who writes puts it right within microseconds. A reader that sleeps for so long at a stretch is at about its 29th [s].
_DAMAGED_AFTER_S = 0.5
_LOOK_S = 0.01
# Processor time and memory that reading takes at most, and for each byte of the file [s].
_WORK_S, _WORK_A_BYTE_S = 10, 30e-9
_MEMORY, _MEMORY_A_BYTE = 2**30, 8
T = TypeVar("T")


class SampleSet(NamedTuple):
    """Samples of one data acquisition.

    Attributes:
        blocks: rows of block_dtype, shape (blocks,).
        raw: readings [V], shape (samples, channels).
        t_ns: their times [ns], shape (samples,).
    """

    blocks: NDArray[np.void]
    raw: NDArray[np.float64]
    t_ns: NDArray[np.int64]


def no_samples(layout: Layout, group: str) -> SampleSet:
    """None of a group's channels."""
    raw = np.zeros((0, len(layout.of_group(group))))
    return SampleSet(np.zeros(0, block_dtype(layout, group)), raw, np.zeros(0, np.int64))


_NO_LOADS = no_samples(Layout((), (), ()), "loads")


@dataclass(frozen=True, slots=True, eq=False)
class TrialRecord:
    """What `trial.h5` holds."""

    tick: NDArray[np.void]  # rows of tick_dtype, shape (ticks,)
    events: NDArray[np.void]  # rows of EVENT, shape (events,)
    timing: NDArray[np.void]  # rows of TIMING, shape (ticks,)
    blocks: NDArray[np.void]  # rows of block_dtype, shape (blocks,); this and the next two empty without force sensors
    raw: NDArray[np.float64]  # sensor readings [V], shape (samples, channels)
    daq_t_ns: NDArray[np.int64]  # their times [ns], shape (samples,)
    meta: dict[str, str | float | int]
    loads: SampleSet = _NO_LOADS  # of leg sensors and load cell; empty without them

    def samples(self, group: str) -> SampleSet:
        """Samples of a group of `hil.messages.layout.SAMPLED`."""
        return self.loads if group == "loads" else SampleSet(self.blocks, self.raw, self.daq_t_ns)


class Digests(NamedTuple):
    """SHA-256 of a record as it stands.

    Attributes:
        content: see `hil.recording.digests.content_sha256`.
        stored: the same as the file itself says it; empty: its writer was killed, or is older than digests.
        closed: by its writer.
        file: of its bytes.
    """

    content: str
    stored: str
    closed: bool
    file: str


class RecordError(ValueError):
    """A file that is no record of ours, or a damaged one: named, with what was found."""


def read_trial(path: Path, *, doubted: bool = False) -> TrialRecord:
    """Reads a record, also one whose writer was killed or is still writing.

    A row whose place, but not whose content had reached the disk when the writer was killed is left out.

    Args:
        path: The file, or the run folder it is in.
        doubted: It may be damaged: a child process reads it first.

    Raises:
        RecordError: There is none, it is no HDF5 file, it is damaged, or it is not a record of ours.
    """
    return _read(file_of(path), _content, doubted)


def read_digests(path: Path, *, doubted: bool = False) -> Digests:
    """The digests of a record as it stands. Arguments and errors as of `read_trial`."""
    place = file_of(path)
    content, stored, closed = _read(place, _digests, doubted)
    try:
        return Digests(content, stored, closed, file_sha256(place))
    except OSError as error:
        raise RecordError(f"{place} cannot be read: {error.strerror}") from None


def _read(place: Path, take: Callable[[h5py.File], T], doubted: bool) -> T:
    try:
        if doubted and not _can_be_read(place, take):
            raise OSError("it is damaged")
        try:
            file = h5py.File(place, "r")
        except OSError:  # never closed: somebody is writing it, or was killed
            if not os.access(place, os.R_OK) or not h5py.is_hdf5(place):
                raise
            if not doubted and not _can_be_read(place, take):
                raise OSError("it is damaged") from None
            file = _unclosed(place)
        with file:
            return take(file)
    except OSError as error:  # of damage h5py says it in many lines
        reason = (error.strerror or str(error)).partition("\n")[0]
        raise RecordError(f"{place} cannot be read: {reason}") from None
    except (LookupError, TypeError, AttributeError, ValueError, MemoryError, RuntimeError) as error:
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise RecordError(f"{place} is no record of a run ({reason})") from None


def _unclosed(place: Path) -> h5py.File:
    return h5py.File(place, "r", libver="latest", swmr=True)


def _can_be_read(place: Path, take: Callable[[h5py.File], Any]) -> bool:
    """Let a child try: HDF5 takes a damaged piece for one that is being written, and tries again for ever.

    How long the child takes says nothing: the file may be large, the machine busy. How long it sleeps does. Of a file
    that was closed HDF5 believes what is damaged: it may crash, go round in circles, or ask for more memory than there
    is.
    """
    child = os.fork()
    if not child:
        status = 1
        try:
            _limit(place)
            try:
                file = h5py.File(place, "r")
            except OSError:
                file = _unclosed(place)
            take(file)
            status = 0
        except (OSError, MemoryError):
            pass
        except Exception:  # no record of ours, but it can be read
            status = 0
        finally:
            os._exit(status)
    asleep, looks = "", 0
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        before, asleep = asleep, _sleep_of(child)
        looks = looks + 1 if asleep and asleep == before else 0
        if looks * _LOOK_S > _DAMAGED_AFTER_S:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return False
        time.sleep(_LOOK_S)
    return ended[1] == 0


def _sleep_of(process: int) -> str:
    """Which of its sleeps a process is in, as the kernel counts; empty: it runs, or waits for a processor or a disk."""
    text = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    status = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    return status["voluntary_ctxt_switches"] if status["State"].startswith("S") else ""


def _limit(place: Path) -> None:
    """Work and memory of this process, to what reading a file of that size takes; a crash leaves no image of it."""
    size = place.stat().st_size
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    memory, work_s = mapped + _MEMORY + _MEMORY_A_BYTE * size, _WORK_S + math.ceil(_WORK_A_BYTE_S * size)
    for what, limit in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, work_s), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(what, (limit, limit))


def _digests(file: h5py.File) -> tuple[str, str, bool]:
    """Of the content, computed and as the file says it; whether it was closed."""
    stored = file[CONTENT][()] if CONTENT in file else b""
    return content_sha256(file), stored.decode(errors="replace"), not file.swmr_mode


def _content(file: h5py.File) -> TrialRecord:
    tick, timing, events = file["tick"][()], file["timing"][()], file["events"][()]
    daq, loads = (_samples(file, group) for group in SAMPLED)
    meta = {key: _plain(item[()]) for key, item in file["meta"].items() if f"/meta/{key}" != CONTENT}
    return TrialRecord(
        tick=tick[: _whole(tick["tick"])],
        events=events[events["name"] != b""],
        timing=timing[: _whole(timing["tick"])],
        blocks=daq.blocks,
        raw=daq.raw,
        daq_t_ns=daq.t_ns,
        meta=meta,
        loads=loads,
    )


def _samples(file: h5py.File, group: str) -> SampleSet:
    """What a group holds; nothing where the rig, by its layout, has no such channels."""
    if group not in file:
        text = file["meta/layout"][()].decode() if "layout" in file["meta"] else ""
        layout = Layout.from_json(text) if text else None
        if group == "loads" and layout is None:  # recorded by a version without them
            return _NO_LOADS
        if layout is not None and not layout.of_group(group):
            return no_samples(layout, group)
    blocks, raw, t_ns = (file[f"{group}/{name}"][()] for name in SampleSet._fields)
    if raw.ndim != 2 or t_ns.ndim != 1:
        raise ValueError(f"/{group}/raw and /{group}/t_ns have {raw.ndim} and {t_ns.ndim} axes, a record 2 and 1")
    count = min(_whole(t_ns), len(raw))
    return SampleSet(blocks[: _whole(blocks["sequence"])], raw[:count], t_ns[:count])


def hold(place: Path) -> int:
    """Have others see, as long as what is returned is open or this process lives, that a record is being written."""
    held = os.open(place, os.O_RDONLY)
    with suppress(OSError):  # a file system without locks
        fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared, as those of HDF5's own readers
    return held


def is_held(place: Path) -> bool:
    """Whether a process has a record open."""
    with open(place, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            pass
    return False


def file_of(path: Path) -> Path:
    """The record of a run folder, or the file itself."""
    return path / FILE_NAME if path.is_dir() else path


def _plain(value: Any) -> str | float | int:
    plain: str | float | int = value.decode() if isinstance(value, bytes) else value.item()
    return plain


def _whole(rising: NDArray[np.int64]) -> int:
    """Returns how many rows are there: rows at the end that were given a place but no content read as 0."""
    rises = np.flatnonzero(np.diff(rising) > 0)
    return int(rises[-1]) + 2 if rises.size else min(1, rising.size)
