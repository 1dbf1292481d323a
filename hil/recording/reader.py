"""Reads `trial.h5` back, whole or from a writer that was killed."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import h5py

from hil.recording.child_reader import (
    CONTENT,
    StructureError,
    check_structure,
    child_can_read,
    content_sha256,
    file_sha256,
)
from hil.recording.content import OpenRecord, TrialRecord, content_of, in_blocks, in_memory, read_through
from hil.recording.run_folder import FolderError, file_in

FILE_NAME = "trial.h5"
T = TypeVar("T")


class Digests(NamedTuple):
    """SHA-256 of a record as it stands."""

    content: str  # see `hil.recording.child_reader.content_sha256`
    stored: str  # the same as the file itself says it; empty: its writer was killed, or is older than digests
    closed: bool  # by its writer
    file: str  # of its bytes


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
    return _read(file_of(path), lambda file: in_memory(content_of(file)), trusted)


@contextmanager
def open_trial(path: Path, *, trusted: bool = False) -> Iterator[OpenRecord]:
    """The same with all but events left in the file, to be read by blocks until the context ends.

    Arguments and errors as of `read_trial`; what becomes of the file meanwhile raises OSError where it is read.
    """
    with _open(file_of(path), lambda file: read_through(content_of(file)), trusted) as file:
        yield _described(file_of(path), lambda: content_of(file))


@contextmanager
def open_trial_and_digests(path: Path) -> Iterator[tuple[OpenRecord, Digests]]:
    """The same with the digests of a record that is not trusted."""
    place = file_of(path)

    def read_all(file: h5py.File) -> tuple[str, str, bool]:
        for _ in in_blocks(content_of(file).timing):  # the only rows that a digest does not take
            pass
        return _digests(file)

    with _open(place, read_all) as file:
        yield _described(place, lambda: (content_of(file), _with_file(place, _digests(file))))


def read_digests(path: Path, *, trusted: bool = False) -> Digests:
    """The digests of a record as it stands. Arguments and errors as of `read_trial`.

    The content of a trusted record is not read again: its digest is the one that its writer has computed.
    """
    place = file_of(path)
    return _with_file(place, _read(place, partial(_digests, trusted=trusted), trusted))


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


def _digests(file: h5py.File, *, trusted: bool = False) -> tuple[str, str, bool]:
    """Of the content, and as the file says it; whether it was closed. A trusted one is computed if it does not say."""
    stored = file[CONTENT][()].decode(errors="replace") if CONTENT in file else ""
    return stored if trusted and stored else content_sha256(file), stored, not file.swmr_mode


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
