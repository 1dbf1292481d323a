"""Room on a disk that is given back when the disk is full."""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import suppress
from pathlib import Path

# Enough for what follows the fault of a full disk: 1000 ticks, the samples, summary and figure.
BYTES = 8_000_000
# With less than this left beside it, the disk is full: several times what is written between two looks.
LOW = 1_000_000


class Reserve:
    """Takes room under no name, so that not even a killed process leaves it taken; none if the disk is too full for it.

    Args:
        folder: on the disk.
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
        """Give it back if hardly anything else is left, and say so: a write that failed would cost HDF5 its file."""
        if self._file < 0:
            return None
        disk = os.fstatvfs(self._file)
        if disk.f_bavail * disk.f_frsize >= LOW:
            return None
        self.free()
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def free(self) -> None:
        """Give it back; twice is fine."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
