"""The record of a run once more, compressed: it grows next to the record and takes its place when the run is over.

The record itself stays uncompressed while it grows: in SWMR mode HDF5 writes a compressed chunk that grows again and
again, each time to a new place, and a killed writer is to leave all but the last 40 ms (decision 0045).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import h5py

from hil.messages.layout import Layout
from hil.recording.digests import CONTENT
from hil.recording.file_layout import PACKED, Meta, append, create_datasets, growing


def copy_of(record: Path) -> Path:
    """Where the copy of a record grows. One that a killed writer has left is of no use."""
    return record.with_stem(f"{record.stem}.compressing")


class CompressedCopy:
    """A compressed copy of a record. A disk without room for it costs the copy, not the record."""

    def __init__(self, record: h5py.File, meta: Meta, layout: Layout, rates_hz: Mapping[str, float]) -> None:
        self._record, self._path = record, Path(record.filename)
        self._unfinished = copy_of(self._path)
        self._file: h5py.File | None = None
        try:
            self._unfinished.unlink(missing_ok=True)
            self._file = h5py.File(self._unfinished, "x", **PACKED)
            create_datasets(self._file, meta, layout, rates_hz, compressed=True)
            self._pairs = [(record[name], self._file[name]) for name in growing(record)]
        except (OSError, RuntimeError):
            self.drop()

    def follow(self) -> None:
        """Copy the chunks that have become whole."""
        self._attempt(self._copy_chunks)

    def finish(self) -> None:
        """Copy the rest, once the record holds all that it shall."""
        self._attempt(self._finish)

    def replace(self) -> None:
        """Have the finished copy take the place of the record, which is closed now."""
        if self._file is not None:
            self._file = None
            with suppress(OSError):
                self._unfinished.replace(self._path)

    def drop(self) -> None:
        """Do without a copy."""
        file, self._file = self._file, None
        self._pairs = []
        with suppress(OSError, RuntimeError):
            self._unfinished.unlink(missing_ok=True)  # first: then the disk has room for what closing may write
            if file is not None:
                file.close()

    def _attempt(self, write: Callable[[h5py.File], None]) -> None:
        if self._file is None:
            return
        try:
            write(self._file)
        except (OSError, RuntimeError):  # h5py raises RuntimeError for a write that fails in the HDF5 library
            self.drop()

    def _copy_chunks(self, _: h5py.File) -> None:
        for dataset, packed in self._pairs:
            rows = packed.chunks[0]
            while (done := packed.id.shape[0]) + rows <= dataset.id.shape[0]:
                append(packed, dataset[done : done + rows])  # a chunk at a time: it is compressed once

    def _finish(self, file: h5py.File) -> None:
        self._copy_chunks(file)
        for dataset, packed in self._pairs:
            append(packed, dataset[packed.id.shape[0] :])
        file["timing"].attrs.modify("histogram", self._record["timing"].attrs["histogram"])
        file[CONTENT][()] = self._record[CONTENT][()]
        file.close()
        with open(self._unfinished, "rb") as written:  # the record is as safe as its copy from now on
            os.fsync(written.fileno())
