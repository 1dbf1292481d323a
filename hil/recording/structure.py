"""Checks what an HDF5 file declares before any of it is read: a file from elsewhere may declare anything."""

from __future__ import annotations

import math
import os
from typing import Any

import h5py

# A record has about 60 objects, two levels of groups, and 6 attributes at an object.
MOST_OBJECTS = 1000
DEEPEST = 8
MOST_ATTRIBUTES = 64
# A file takes at least this part of its size on the disk; less is a file of holes.
_LEAST_STORED = 1 / 32
_SLACK = 2**20  # bytes: rows of a killed writer that have a place but no content


class StructureError(ValueError):
    """A file declares what no record has: the object is named, with what was found."""


def check_structure(file: h5py.File) -> None:
    """Check that everything in a file is stored in it, once, in a plain form, and is no larger than the file.

    Only names, types and sizes are read.

    Args:
        file: open.

    Raises:
        StructureError: links to other places, data in other files, compressed data, types of no fixed size, an object
            found twice, more objects than a record has, or sizes beyond that of the file.
        OSError, RuntimeError: it is damaged.
    """
    status = os.stat(file.filename)
    if status.st_blocks * 512 < (status.st_size - _SLACK) * _LEAST_STORED:
        raise StructureError(f"{status.st_size} bytes long, but nearly all of it is holes")
    _Walk(status.st_size + _SLACK).group(file, "", 0)


class _Walk:
    """One walk through a file.

    Args:
        most_bytes: that all datasets and attributes together may declare.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = self._left = most_bytes
        self._seen: set[int] = set()

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
        if made.get_nfilters():
            raise StructureError(f"{path} is compressed or filtered, a record is not (h5repack -f NONE undoes it)")
        self._enter(dataset, path)
        self._take(dataset.dtype, dataset.shape, path)

    def _take(self, dtype: Any, shape: tuple[int, ...] | None, path: str) -> None:
        if dtype.hasobject:
            raise StructureError(f"{path} has a type of no fixed size ({dtype})")
        if shape is None:
            raise StructureError(f"{path} has no place for data")
        self._left -= dtype.itemsize * math.prod(shape)
        if self._left < 0:
            raise StructureError(f"{path} has shape {shape}: more than the {self._most_bytes} bytes of the file")
