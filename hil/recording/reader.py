"""Reads `trial.h5` back, whole or from a writer that was killed."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
from hil.recording.stored_rows import Recorded, in_blocks, stored
from hil.recording.structure import StructureError, check_structure

FILE_NAME = "trial.h5"
# Of the records that this version writes; it reads all before it: 1, which does not say so, is not compressed.
NEWEST_FORMAT = 2
_AT_THE_END = 16384  # rows, of which a killed writer may have left the last without content
T = TypeVar("T")


class SampleSet(NamedTuple):
    """Samples of one data acquisition.

    Attributes:
        blocks: rows of block_dtype, shape (blocks,).
        raw: readings [V], shape (samples, channels).
        t_ns: their times [ns], shape (samples,).
    """

    blocks: Recorded
    raw: Recorded
    t_ns: Recorded


def no_samples(layout: Layout, group: str) -> SampleSet:
    """None of a group's channels."""
    raw = np.zeros((0, len(layout.of_group(group))))
    return SampleSet(np.zeros(0, block_dtype(layout, group)), raw, np.zeros(0, np.int64))


_NO_LOADS = no_samples(Layout((), (), ()), "loads")


@dataclass(frozen=True, slots=True, eq=False)
class OpenRecord:
    """What `trial.h5` holds; what is long stays in the file (`open_trial`)."""

    tick: Recorded  # rows of tick_dtype, shape (ticks,)
    events: NDArray[np.void]  # rows of EVENT, shape (events,)
    timing: Recorded  # rows of TIMING, shape (ticks,)
    blocks: Recorded  # rows of block_dtype, shape (blocks,); this and the next two empty without force sensors
    raw: Recorded  # sensor readings [V], shape (samples, channels)
    daq_t_ns: Recorded  # their times [ns], shape (samples,)
    meta: dict[str, str | float | int]
    loads: SampleSet = _NO_LOADS  # of leg sensors and load cell; empty without them

    def samples(self, group: str) -> SampleSet:
        """Samples of a group of `hil.messages.layout.SAMPLED`."""
        return self.loads if group == "loads" else SampleSet(self.blocks, self.raw, self.daq_t_ns)


@dataclass(frozen=True, slots=True, eq=False)
class TrialRecord(OpenRecord):
    """All of what `trial.h5` holds, in arrays."""

    tick: NDArray[np.void]
    timing: NDArray[np.void]
    blocks: NDArray[np.void]
    raw: NDArray[np.float64]
    daq_t_ns: NDArray[np.int64]


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
    """Reads a record as a whole, also one whose writer was killed or is still writing.

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
    return _read(file_of(path), lambda file: _in_memory(_content(file)), trusted)


@contextmanager
def open_trial(path: Path, *, trusted: bool = False) -> Iterator[OpenRecord]:
    """The same with all but events left in the file, to be read by blocks until the context ends.

    Arguments and errors as of `read_trial`; what becomes of the file meanwhile raises OSError where it is read.
    """
    with _open(file_of(path), lambda file: _read_through(_content(file)), trusted) as file:
        yield _described(file_of(path), lambda: _content(file))


@contextmanager
def open_trial_and_digests(path: Path) -> Iterator[tuple[OpenRecord, Digests]]:
    """The same with the digests of a record that is not trusted."""
    place = file_of(path)

    def read_all(file: h5py.File) -> tuple[str, str, bool]:
        for _ in in_blocks(_content(file).timing):  # the only rows that a digest does not take
            pass
        return _digests(file)

    with _open(place, read_all) as file:
        yield _described(place, lambda: (_content(file), _with_file(place, _digests(file))))


def read_digests(path: Path, *, trusted: bool = False) -> Digests:
    """The digests of a record as it stands. Arguments and errors as of `read_trial`.

    The content of a trusted record is not read again: its digest is the one that its writer has computed.
    """
    place = file_of(path)
    return _with_file(place, _read(place, _stored_digests if trusted else _digests, trusted))


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
    with _open(place, take, trusted) as file:
        return _described(place, lambda: take(file))


@contextmanager
def _open(place: Path, take: Callable[[h5py.File], object], trusted: bool = False) -> Iterator[h5py.File]:
    """A file that can be read: of one that is not trusted, a child process has taken all that will be.

    Raises RecordError. An error of the context itself goes through as it is.
    """
    with _described(place, lambda: _opened(place, take, trusted)) as file:
        yield file


def _opened(place: Path, take: Callable[[h5py.File], object], trusted: bool) -> h5py.File:
    if not stat.S_ISREG(os.stat(place).st_mode):
        raise StructureError("no regular file, but a folder, device, pipe or socket")
    if trusted:
        with suppress(OSError):
            return h5py.File(place, "r")
    os.close(os.open(place, os.O_RDONLY))  # says better than HDF5 why it cannot be opened

    def read(place: Path, allow: Callable[[int], None]) -> None:
        with _checked(place, allow) as file:
            take(file)

    if not child_can_read(place, read):
        raise OSError("it is damaged")
    return _checked(place)


def _checked(place: Path, allow: Callable[[int], None] = lambda _: None) -> h5py.File:
    """An open file whose structure is that of a record; `allow` is told the size of its content."""
    try:
        file = h5py.File(place, "r")
    except OSError:  # never closed: somebody is writing it, or was killed
        if not h5py.is_hdf5(place):
            raise
        file = h5py.File(place, "r", libver="latest", swmr=True)
    try:
        allow(check_structure(file))
    except BaseException:
        file.close()
        raise
    return file


def _described(place: Path, read: Callable[[], T]) -> T:
    """What a reading gives; its errors name the file and say what is wrong with it."""
    try:
        return read()
    except OSError as error:  # of damage h5py says it in many lines
        reason = (error.strerror or str(error)).partition("\n")[0]
        raise RecordError(f"{place} cannot be read: {reason}") from None
    except StructureError as error:
        raise RecordError(f"{place} is no record of a run: {error}") from None
    except RecordError:
        raise
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


def _content(file: h5py.File) -> OpenRecord:
    if FORMAT in file and (number := int(file[FORMAT][()])) > NEWEST_FORMAT:
        raise StructureError(f"it has format {number}, this version reads up to {NEWEST_FORMAT}; a newer one reads it")
    tick, timing, events = _rows(file["tick"], "tick"), _rows(file["timing"], "tick"), file["events"][()]
    daq, loads = (_samples(file, group) for group in SAMPLED)
    meta = {key: _plain(item[()]) for key, item in file["meta"].items() if f"/meta/{key}" not in (FORMAT, CONTENT)}
    return OpenRecord(
        tick=tick,
        events=events[events["name"] != b""],
        timing=timing,
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
    blocks, raw, t_ns = (file[f"{group}/{name}"] for name in SampleSet._fields)
    if (raw.ndim, raw.dtype.kind, t_ns.ndim, t_ns.dtype.kind) != (2, "f", 1, "i"):
        found = f"{raw.ndim} axes of {raw.dtype} and {t_ns.ndim} of {t_ns.dtype}"
        raise ValueError(f"/{group}/raw and /{group}/t_ns have {found}, a record 2 of float64 and 1 of int64")
    count = min(_whole(t_ns), len(raw))
    return SampleSet(_rows(blocks, "sequence"), stored(raw, count), stored(t_ns, count))


def _rows(dataset: h5py.Dataset, rising: str) -> Recorded:
    return stored(dataset, _whole(dataset, rising))


def _read_through(record: OpenRecord) -> None:
    for rows in (record.tick, record.timing, record.blocks, record.raw, record.daq_t_ns, *record.loads):
        for _ in in_blocks(rows):
            pass


def _in_memory(record: OpenRecord) -> TrialRecord:
    return TrialRecord(
        tick=np.asarray(record.tick),
        events=record.events,
        timing=np.asarray(record.timing),
        blocks=np.asarray(record.blocks),
        raw=np.asarray(record.raw),
        daq_t_ns=np.asarray(record.daq_t_ns),
        meta=record.meta,
        loads=SampleSet(*(np.asarray(rows) for rows in record.loads)),
    )


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


def _whole(dataset: h5py.Dataset, rising: str | tuple[()] = ()) -> int:
    """Returns how many rows are there: rows at the end that were given a place but no content read as 0."""
    rows = len(dataset)
    for first in range((rows - 1) // _AT_THE_END * _AT_THE_END, -1, -_AT_THE_END):
        numbers = dataset[first : min(first + _AT_THE_END + 1, rows)][rising]
        if (rises := np.flatnonzero(np.diff(numbers) > 0)).size:
            return first + int(rises[-1]) + 2
    return min(1, rows)
