"""Reads `trial.h5` back, whole or from a writer that was killed."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import h5py
import numpy as np
from numpy.typing import NDArray

from hil.messages.layout import SAMPLED, Layout
from hil.messages.signals import block_dtype
from hil.recording.child_reader import child_can_read
from hil.recording.digests import CONTENT, FORMAT, content_sha256, file_sha256
from hil.recording.run_folder import FolderError, file_in
from hil.recording.structure import StructureError, check_structure

FILE_NAME = "trial.h5"
# Of the records that this version writes; it reads all before it: 1, which does not say so, is not compressed.
NEWEST_FORMAT = 2
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


def read_trial(path: Path, *, trusted: bool = False) -> TrialRecord:
    """Reads a record, also one whose writer was killed or is still writing.

    A row whose place, but not whose content had reached the disk when the writer was killed is left out.

    Args:
        path: The file, or the run folder it is in.
        trusted: It was written by this program a moment ago. Any other, and one that was not closed, is first read by
            a child process with limits.

    Raises:
        RecordError: There is none, it is no HDF5 file, it is damaged, or it is not a record of ours.

    Example:
        In the working folder is the folder of a run, `runs/jog`:

        >>> record = read_trial(Path("runs/jog"))
        >>> record.meta["experiment"], len(record.tick) == len(record.timing)
        ('jog', True)
        >>> read_trial(Path("runs/no_such_run"))
        Traceback (most recent call last):
            ...
        hil.recording.reader.RecordError: runs/no_such_run cannot be read: No such file or directory
    """
    return _read(file_of(path), _content, trusted)


def read_digests(path: Path, *, trusted: bool = False) -> Digests:
    """The digests of a record as it stands. Arguments and errors as of `read_trial`.

    The content of a trusted record is not read again: its digest is the one that its writer has computed.
    """
    place = file_of(path)
    return _with_file(place, _read(place, _stored_digests if trusted else _digests, trusted))


def read_trial_and_digests(path: Path) -> tuple[TrialRecord, Digests]:
    """Both of a record that is not trusted, of one reading by a child. Argument and errors as of `read_trial`."""
    place = file_of(path)
    record, digests = _read(place, lambda file: (_content(file), _digests(file)))
    return record, _with_file(place, digests)


def _with_file(place: Path, found: tuple[str, str, bool]) -> Digests:
    try:
        return Digests(*found, file_sha256(place))
    except OSError as error:
        raise RecordError(f"{place} cannot be read: {error.strerror}") from None


def is_closed(path: Path) -> bool:
    """Whether the writer of a record has closed it; not, if it cannot be read at all."""
    try:
        return _read(file_of(path), lambda file: not file.swmr_mode)
    except RecordError:
        return False


def _read(place: Path, take: Callable[[h5py.File], T], trusted: bool = False) -> T:
    def read(place: Path, allow: Callable[[int], None] = lambda _: None) -> T:
        try:
            file = h5py.File(place, "r")
        except OSError:  # never closed: somebody is writing it, or was killed
            if not h5py.is_hdf5(place):
                raise
            file = h5py.File(place, "r", libver="latest", swmr=True)
        with file:
            allow(check_structure(file))
            return take(file)

    try:
        if not stat.S_ISREG(os.stat(place).st_mode):
            raise StructureError("no regular file, but a folder, device, pipe or socket")
        if trusted:
            with suppress(OSError), h5py.File(place, "r") as closed:
                return take(closed)
        os.close(os.open(place, os.O_RDONLY))  # says better than HDF5 why it cannot be opened
        if not child_can_read(place, read):
            raise OSError("it is damaged")
        return read(place)
    except OSError as error:  # of damage h5py says it in many lines
        reason = (error.strerror or str(error)).partition("\n")[0]
        raise RecordError(f"{place} cannot be read: {reason}") from None
    except StructureError as error:
        raise RecordError(f"{place} is no record of a run: {error}") from None
    except (LookupError, TypeError, AttributeError, ValueError, MemoryError, RuntimeError) as error:
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise RecordError(f"{place} is no record of a run ({reason})") from None


def _digests(file: h5py.File) -> tuple[str, str, bool]:
    """Of the content, computed and as the file says it; whether it was closed."""
    return content_sha256(file), _stored(file), not file.swmr_mode


def _stored_digests(file: h5py.File) -> tuple[str, str, bool]:
    """The same; computed only where the file does not say it."""
    stored = _stored(file)
    return stored or content_sha256(file), stored, not file.swmr_mode


def _stored(file: h5py.File) -> str:
    stored: bytes = file[CONTENT][()] if CONTENT in file else b""
    return stored.decode(errors="replace")


def _content(file: h5py.File) -> TrialRecord:
    if FORMAT in file and (number := int(file[FORMAT][()])) > NEWEST_FORMAT:
        raise StructureError(f"it has format {number}, this version reads up to {NEWEST_FORMAT}; a newer one reads it")
    tick, timing, events = file["tick"][()], file["timing"][()], file["events"][()]
    daq, loads = (_samples(file, group) for group in SAMPLED)
    meta = {key: _plain(item[()]) for key, item in file["meta"].items() if f"/meta/{key}" not in (FORMAT, CONTENT)}
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
    if (raw.ndim, raw.dtype.kind, t_ns.ndim, t_ns.dtype.kind) != (2, "f", 1, "i"):
        found = f"{raw.ndim} axes of {raw.dtype} and {t_ns.ndim} of {t_ns.dtype}"
        raise ValueError(f"/{group}/raw and /{group}/t_ns have {found}, a record 2 of float64 and 1 of int64")
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
    """The record of a run folder, or the file itself. Raises RecordError: the folder holds a link in its place."""
    try:
        return file_in(path, FILE_NAME) if path.is_dir() else path
    except FolderError as error:
        raise RecordError(str(error)) from None


def _plain(value: Any) -> str | float | int:
    plain: str | float | int = value.decode() if isinstance(value, bytes) else value.item()
    return plain


def _whole(rising: NDArray[np.int64]) -> int:
    """Returns how many rows are there: rows at the end that were given a place but no content read as 0."""
    rises = np.flatnonzero(np.diff(rising) > 0)
    return int(rises[-1]) + 2 if rises.size else min(1, rising.size)
