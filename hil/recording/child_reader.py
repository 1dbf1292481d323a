"""Digests of a record, and the child process that reads a file first, within limits of work and memory."""

from __future__ import annotations

import errno
import hashlib
import math
import os
import resource
import select
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from hil.config.limited_process import limit_process, mapped_bytes

# Where the file itself keeps the digest of its content.
CONTENT = "/meta/content_sha256"
# How the content is stored: the number of the record's format.
FORMAT = "/meta/format"
# What differs from run to run though the run is the same, how it is stored, and the digest itself.
NOT_CONTENT = frozenset({"/timing", "/meta/wall_time", FORMAT, CONTENT})
_BYTES = 2**20  # read at a time
# A file takes at least this part of its size on the disk.
_LEAST_STORED = 1 / 32
SLACK = 2**20  # bytes: rows of a killed writer that have a place but no content
_DEEPEST = 8  # a record has groups in groups of two; a damaged one may go round in circles


def content_sha256(file: h5py.File) -> str:
    """SHA-256 of all groups and datasets but `NOT_CONTENT`: names, types, shapes, bytes and attributes.

    Objects are taken in the order of their names, attributes too; rows are read piece by piece, so that a long record
    does not fill the memory. The file may be one that this process still writes.

    Raises OSError: it is damaged; ValueError: it holds what no record does.
    """
    digest = hashlib.sha256()
    _take_group(digest, file, "", 0)
    return digest.hexdigest()


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes. Raises OSError: also of a pipe, which has no end, and of a file of holes."""
    with open(path, "rb", opener=lambda place, flags: os.open(place, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG((status := os.fstat(file.fileno())).st_mode) or is_hollow(status):
            raise OSError(errno.EINVAL, "no regular file, or nearly all of it is holes")
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_hollow(status: os.stat_result) -> bool:
    """Whether nearly all of a file is holes, which take no room on the disk, and for ever to read."""
    return status.st_blocks * 512 < (status.st_size - SLACK) * _LEAST_STORED


def _take_group(found: Any, group: h5py.Group, path: str, depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError(f"groups are nested deeper than {_DEEPEST} at {path}")
    _progress(found, f"group {path or '/'}")
    _take_attributes(found, group)
    for name in sorted(group):
        place = f"{path}/{name}"
        if place in NOT_CONTENT:
            continue
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            _progress(found, f"link {place} {type(link).__name__}")
            continue
        item = group[name]
        if isinstance(item, h5py.Group):
            _take_group(found, item, place, depth + 1)
        elif isinstance(item, h5py.Dataset):
            _take_dataset(found, item, place)
        else:
            _progress(found, f"type {place}")


def _take_dataset(found: Any, dataset: h5py.Dataset, path: str) -> None:
    _progress(found, f"dataset {path} {_in_words(dataset.dtype)} {dataset.shape}")
    _take_attributes(found, dataset)
    if not dataset.shape:
        found.update(np.asarray(dataset[()], dataset.dtype).tobytes())
        return
    a_row = max(dataset.dtype.itemsize * int(np.prod(dataset.shape[1:], dtype=np.int64)), 1)
    rows = max(_BYTES // a_row, 1)
    for first in range(0, dataset.shape[0], rows):
        found.update(dataset[first : first + rows].tobytes())


def _take_attributes(found: Any, item: h5py.Group | h5py.Dataset) -> None:
    for name in sorted(item.attrs):
        value = np.asarray(item.attrs[name])
        _progress(found, f"attribute {name} {_in_words(value.dtype)} {value.shape}")
        found.update(value.tobytes())


def _in_words(dtype: np.dtype[Any]) -> str:
    """A type as text that no version of numpy writes otherwise."""
    if dtype.hasobject:
        raise ValueError(f"a type of no fixed size: {dtype}")
    if dtype.subdtype:
        base, shape = dtype.subdtype
        return f"{_in_words(base)}{list(shape)}"
    if dtype.fields is None:
        return dtype.str
    fields = ", ".join(f"{name}: {_in_words(dtype.fields[name][0])}" for name in dtype.names or ())
    return f"{{{fields}; {dtype.itemsize}}}"


def _progress(found: Any, text: str) -> None:
    """A separate line, so that no two contents give the same bytes."""
    found.update(f"\n{text}\n".encode())


# HDF5 reads a piece whose checksum is wrong up to 100 times, and sleeps twice as long before each attempt, from 1 ns.
# Who writes puts it right within microseconds. A reader that sleeps for so long at a stretch is at about its 29th [s].
_DAMAGED_AFTER_S = 0.5
_LOOK_S = 0.01
# Processor time [s] and memory that reading takes at most, and for each byte of its content.
_WORK_S, _WORK_A_BYTE_S = 1, 100e-9
_MEMORY, _MEMORY_A_BYTE = 2**28, 8


def child_can_read(place: Path, read: Callable[[Path, Callable[[int], None]], Any]) -> bool:
    """Whether a child process comes to an end of reading a file, whatever it says of the content.

    How long the child takes says nothing: the file may be large, the machine busy. How long it sleeps does: HDF5 takes
    a damaged piece of an open record for one that is being written, and tries again for ever. Of a file that was closed
    it believes what is damaged: it may crash, go round in circles, or ask for more memory than there is. `read` says to
    its second argument the size of the content, once that is known: of a compressed file it is several times the size
    of the file.
    """
    child = os.fork()
    if not child:
        status = 1
        try:
            _limit(place.stat().st_size)
            read(place, _limit)
            status = 0
        except (OSError, MemoryError):
            pass
        except Exception:  # no record of ours, but it can be read
            status = 0
        finally:
            os._exit(status)
    ends = os.pidfd_open(child)
    try:
        asleep, looks = "", 0
        while not select.select([ends], [], [], _LOOK_S)[0]:
            before, asleep = asleep, _sleep_of(child)
            looks = looks + 1 if asleep and asleep == before else 0
            if looks * _LOOK_S > _DAMAGED_AFTER_S:
                os.kill(child, signal.SIGKILL)
                break
    finally:
        os.close(ends)
    return os.waitpid(child, 0)[1] == 0


def _sleep_of(process: int) -> str:
    """Which of its sleeps a process is in, as the kernel counts; empty: it runs, or waits for a processor or a disk."""
    text = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    status = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    return status["voluntary_ctxt_switches"] if status["State"].startswith("S") else ""


def _limit(size: int) -> None:
    """Work and memory of this process, to what reading so many bytes takes; a crash leaves no image of it."""
    memory, work_s = mapped_bytes() + _MEMORY + _MEMORY_A_BYTE * size, _WORK_S + int(_WORK_A_BYTE_S * size)
    limit_process({resource.RLIMIT_AS: memory, resource.RLIMIT_CPU: work_s})


# A record has about 60 objects, two levels of groups, and 6 attributes at an object.
MOST_OBJECTS = 1000
DEEPEST = 8
MOST_ATTRIBUTES = 64
# The filters of a compressed record: bytes shuffled, then gzip.
SHUFFLE_GZIP = (h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE)
# Compressed data is at most so many times the size of its file: 6 in a trial, 23 in the emptiest one tried, a rover at
# rest with 100,000 samples a second without noise.
MOST_EXPANDED = 64


class StructureError(ValueError):
    """A file declares what no record has: the object is named, with what was found."""


def check_structure(file: h5py.File) -> int:
    """Check that everything in a file is stored in it, once, as a record has it, and is no larger than it can be.

    Only names, types and sizes are read.

    Raises StructureError: links to other places, data in other files, filters that a record has not, types of no fixed
    size, an object found twice, more objects than a record has, or sizes beyond that of the file, or beyond
    `MOST_EXPANDED` times that where it is compressed; OSError, RuntimeError: it is damaged.

    Returns:
        size of all its data, read and not compressed [bytes].
    """
    status = os.stat(file.filename)
    if is_hollow(status):
        raise StructureError(f"{status.st_size} bytes long, but nearly all of it is holes")
    walk = _Walk(status.st_size)
    walk.group(file, "", 0)
    return walk.content


class _Walk:
    """One walk through a file.

    Attributes:
        content: what all declare so far [bytes].
    """

    def __init__(self, size: int) -> None:
        self._most = {False: size + SLACK, True: MOST_EXPANDED * size}  # by whether it is compressed
        self._declared = {False: 0, True: 0}
        self._seen: set[int] = set()

    @property
    def content(self) -> int:
        return sum(self._declared.values())

    def group(self, group: h5py.Group, path: str, depth: int) -> None:
        if depth > DEEPEST:
            raise StructureError(f"groups are nested deeper than {DEEPEST} at {path}")
        self._enter(group, path)
        if len(group) > MOST_OBJECTS:
            raise StructureError(f"{path or '/'} holds {len(group)} objects, a record at most {MOST_OBJECTS}")
        for name in sorted(group):
            place = f"{path}/{name}"
            link = group.get(name, getlink=True)
            if not isinstance(link, h5py.HardLink):
                raise StructureError(f"{place} is a link to another place ({type(link).__name__}), a record has none")
            item = group[name]
            if isinstance(item, h5py.Group):
                self.group(item, place, depth + 1)
            elif isinstance(item, h5py.Dataset):
                self._dataset(item, place)

    def _enter(self, item: h5py.Group | h5py.Dataset, path: str) -> None:
        address = h5py.h5o.get_info(item.id).addr
        if address in self._seen:
            raise StructureError(f"{path} is an object that has another name, too")
        self._seen.add(address)
        if len(self._seen) > MOST_OBJECTS:
            raise StructureError(f"more than {MOST_OBJECTS} objects")
        if len(item.attrs) > MOST_ATTRIBUTES:
            raise StructureError(f"{path or '/'} has {len(item.attrs)} attributes, allowed are {MOST_ATTRIBUTES}")
        for name in item.attrs:
            attribute = item.attrs.get_id(name)
            self._take(attribute.dtype, attribute.shape, f"attribute {name} of {path or '/'}")

    def _dataset(self, dataset: h5py.Dataset, path: str) -> None:
        made = dataset.id.get_create_plist()
        # the first two before anything else is asked of it: its shape may depend on other files
        if made.get_layout() == h5py.h5d.VIRTUAL or made.get_external_count():
            raise StructureError(f"{path} has its data in other files")
        filters = tuple(made.get_filter(place)[0] for place in range(made.get_nfilters()))
        if filters not in ((), SHUFFLE_GZIP):
            allowed = f"{SHUFFLE_GZIP}, shuffle and gzip, or none"
            raise StructureError(f"{path} has filters {filters}, allowed: {allowed} (h5repack -f NONE undoes it)")
        self._enter(dataset, path)
        self._take(dataset.dtype, dataset.shape, path, packed=bool(filters))

    def _take(self, dtype: Any, shape: tuple[int, ...] | None, path: str, *, packed: bool = False) -> None:
        if dtype.hasobject:
            raise StructureError(f"{path} has a type of no fixed size ({dtype})")
        if shape is None:
            raise StructureError(f"{path} has no place for data")
        self._declared[packed] += dtype.itemsize * math.prod(shape)
        if self._declared[packed] > self._most[packed]:
            holds = f"{self._most[packed]} bytes that the file can hold"
            raise StructureError(f"{path} has shape {shape}: more than the {holds}")
