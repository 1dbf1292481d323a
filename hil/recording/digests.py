"""Digests of a record: of its content, which the same seed gives again, and of the file as a whole."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path
from typing import Any

import h5py
import numpy as np

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
