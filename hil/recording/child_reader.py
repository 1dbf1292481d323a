"""Lets a child process read a file first, within limits, and checks what it declares: HDF5 trusts what a file says."""

from __future__ import annotations

import math
import os
import resource
import select
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py

from hil.config.limited_process import limit_process, mapped_bytes
from hil.recording.digests import SLACK, is_hollow

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
