"""Reserved disk space that is released when the disk is full."""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import suppress
from pathlib import Path

# Enough for the data after the fault of a full disk: 1000 ticks, the samples, summary and figure.
BYTES = 8_000_000
# With less free space than this the disk counts as full: several times the data written between two checks.
LOW = 1_000_000


class Reserve:
    """Reserves space in a file without a name, so that a killed process also frees it; none if the disk is too full.

    Args:
        folder: a folder on the disk.
    """

    def __init__(self, folder: Path) -> None:
        self._file = -1
        with suppress(OSError):
            self._file, name = tempfile.mkstemp(dir=folder)
            os.unlink(name)
            os.posix_fallocate(self._file, 0, BYTES)
            return
        self.free()

    def free_if_full(self) -> OSError | None:
        """Release the space if the disk is full, and return the error: a failed write would corrupt the HDF5 file."""
        if self._file < 0:
            return None
        disk = os.fstatvfs(self._file)
        if disk.f_bavail * disk.f_frsize >= LOW:
            return None
        self.free()
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def free(self) -> None:
        """Release the space; may be called twice."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
