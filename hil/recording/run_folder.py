"""Where a run's files go, and the disk space that is kept for their end."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hil.config.files import read_json

VERDICT = "verdict.json"
# The summary of a trial has 5 kB.
MOST_SUMMARY_BYTES = 2**20
# Of a summary, what readers take apart; null, and what is missing, is allowed.
_KINDS: dict[str, Any] = {
    "loop": dict | None,
    "digests": dict | None,
    "reasons": list | None,
    "accepted": bool | None,
    "aborted": bool | str | None,
}
# What to do about a folder that the command line named, or chose.
_ANOTHER = "give another with --out"


class FolderError(ValueError):
    """A folder that cannot take, or does not hold, a run."""


def run_folder(out: Path | None, config_name: str, what: str) -> Path:
    """Create the folder of a new run. Without `out` it is `runs/<UTC>_<config>_<what>/` under the current folder.

    Raises FolderError: there is something in it, or it cannot be made.
    """
    if out is not None:
        return empty_folder(out, _ANOTHER)
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{now}_{config_name}_{what}"
    folder = Path("runs") / name
    again = 2
    while folder.exists() or folder.is_symlink():  # two runs within a second
        folder = Path("runs") / f"{name}_{again}"
        again += 1
    return empty_folder(folder, _ANOTHER)


def finished_run(run: Path) -> Path:
    """The folder of a run that has its record and its summary.

    Raises FolderError: one of them is not there, or is a link.
    """
    missing = [name for name in ("trial.h5", "summary.json") if not _is_file(file_in(run, name))]
    if missing:
        raise FolderError(f"{run} holds no {' and no '.join(missing)}: give the folder of a finished trial")
    return run


def recorded_run(run: Path) -> Path:
    """The folder of a run that has a record, whole or not. Raises FolderError: it has none, or a link."""
    if not _is_file(file_in(run, "trial.h5")):
        raise FolderError(f"{run} holds no trial.h5: give the folder of a run (hil recover, if it was killed)")
    return run


def summary_of(run: Path) -> dict[str, Any] | None:
    """What the run's summary.json says; None if there is none, as of a run that was killed.

    Raises FolderError: it cannot be read.
    """
    place = file_in(run, "summary.json")
    if not _is_file(place):
        return None
    try:
        summary = read_json(place, MOST_SUMMARY_BYTES)
    except (OSError, ValueError) as error:
        raise FolderError(f"{place} cannot be read: {error}") from None
    if not isinstance(summary, dict):
        raise FolderError(f"{place} cannot be read: it holds no keys")
    wrong = [
        f"{key} is {str(summary[key])[:60]!r}" for key, kind in _KINDS.items() if not isinstance(summary.get(key), kind)
    ]
    if wrong:
        raise FolderError(f"{place} is no summary of a run: {', '.join(wrong)}")
    return summary


def verdict_of(run: Path) -> dict[str, str] | None:
    """What the operator said of a run: name, verdict (keep or repeat) and word; None: nothing readable."""
    try:
        said = read_json(file_in(run, VERDICT), MOST_SUMMARY_BYTES)
        return {key: str(said[key]) for key in ("name", "verdict", "word")}
    except (OSError, ValueError, LookupError, TypeError):
        return None


def file_in(folder: Path, name: str) -> Path:
    """The path of a file or folder of a run or campaign; it need not be there.

    Raises FolderError: the name leads out of the folder, or is that of a link, which may.
    """
    place = folder / name
    if place.parent != folder or name in ("", ".", "..") or "\0" in name:
        raise FolderError(f"{folder}: {name[:60]!r} is no name in this folder: allowed is a name without / and ..")
    with suppress(OSError):  # of a name too long, or behind a folder that nobody may look into, no file is found
        if place.is_symlink():
            raise FolderError(f"{place} is a link: put the file itself, or a copy of it, in its place")
    return place


def _is_file(path: Path) -> bool:
    """Also of what is no path at all, or behind a folder that nobody may look into."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def empty_folder(folder: Path, otherwise: str = "give another") -> Path:
    """A folder that is made, or is there and empty. `otherwise` says in the message what to do if it cannot be had.

    Raises FolderError: there is something in it, or it cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = next(folder.iterdir(), None)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise FolderError(f"run folder {folder} cannot be made: {reason}: {otherwise}") from None
    if held is not None:
        raise FolderError(f"run folder {folder} is not empty ({held.name}): {otherwise}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FolderError(f"run folder {folder} cannot be written to: {otherwise}")
    return folder


# Enough for the data after the fault of a full disk: 1000 ticks, the samples, summary and figure.
BYTES = 8_000_000
# With less free space than this the disk counts as full: several times the data written between two checks.
LOW = 1_000_000


class Reserve:
    """Reserves space in a file without a name, so that a killed process also frees it; none if the disk is too full."""

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

        It may be called twice for one result.

        Raises OSError: there is no room at all.
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
