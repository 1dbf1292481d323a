"""Reserved disk space that is released when the disk is full."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable
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
        self._full: OSError | None = None
        with suppress(OSError):
            self._file, name = tempfile.mkstemp(dir=folder)
            os.unlink(name)
            os.posix_fallocate(self._file, 0, BYTES)
            return
        self.free()

    def free_if_full(self) -> None:
        """Release the space if the disk is full; `take_full` tells of it."""
        if self._file < 0:
            return
        disk = os.fstatvfs(self._file)
        if disk.f_bavail * disk.f_frsize < LOW:
            self._release()

    def write(self, write: Callable[[], None]) -> None:
        """Write; once more with the space released, where another program has taken the last of the disk meanwhile.

        Args:
            write: may be called twice for one result.

        Raises:
            OSError: there is no room at all.
        """
        try:
            write()
        except (OSError, RuntimeError) as error:  # h5py raises RuntimeError for a write that fails in the HDF5 library
            if self._file < 0:
                raise OSError(errno.ENOSPC, str(error)) from error
            self._release()
            self.write(write)

    def take_full(self) -> OSError | None:
        """The error of a disk that has become full; None: it has not, or the error was taken before."""
        full, self._full = self._full, None
        return full

    def _release(self) -> None:
        self.free()
        self._full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def free(self) -> None:
        """Release the space; may be called twice."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
