"""The disk of the records in `tests/soak/endurance.py`: a small one of its own, which they fill, and which can be full.

It is mounted in a mount namespace, so that nothing else on this computer sees it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hil.recording.run_folder import LOW
from hil.safety.arming import DISK_NEEDED

# Room for some runs beside what arming asks for [bytes].
SIZE = DISK_NEEDED + 60_000_000
BALLAST = "ballast"
# The last of the disk is taken in so small a piece that the recorder hardly writes meanwhile [bytes].
LAST_PIECE = 4_000_000
# Root keeps its rights there, SCHED_FIFO among them; another user has those that its limits grant.
NAMESPACE = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--mount", "--map-root-user")


def cannot_mount() -> str:
    """Why no disk can be mounted here; empty: one can."""
    command = [*NAMESPACE, "mount", "-t", "tmpfs", "-o", "size=1m", "none", tempfile.gettempdir()]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return f"{NAMESPACE[0]}: {error.strerror}"
    return done.stderr.strip() if done.returncode else ""


def in_a_namespace(arguments: Sequence[str]) -> int:
    """Run the script again where it may mount its disk. Returns its exit status."""
    command = [*NAMESPACE, sys.executable, sys.argv[0], *arguments, "--small-disk"]
    return subprocess.run(command, check=False).returncode


def mount(place: Path) -> None:
    """Mount the disk; only in a namespace."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(place)], check=True)


def unmount(place: Path) -> None:
    """Take the disk away."""
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path) -> None:
    """Fill the disk until it counts as full; the reserve of the recorder, which it frees then, is left to it."""
    with (place / BALLAST).open("wb", buffering=0) as file:
        most = _free(place) - LAST_PIECE
        os.posix_fallocate(file.fileno(), 0, most)
        free = _free(place)
        while (piece := free - LOW // 2) > 0:
            try:
                os.posix_fallocate(file.fileno(), most, piece)
                return
            except OSError:  # the recorder has written meanwhile: nothing was allocated
                before, free = free, _free(place)
                if free > before:  # it has seen the full disk, and freed its reserve
                    return


def _free(place: Path) -> int:
    """Free space [bytes]."""
    disk = os.statvfs(place)
    return disk.f_bavail * disk.f_frsize


def make_room(place: Path) -> None:
    """Take away what `fill` has put there."""
    (place / BALLAST).unlink(missing_ok=True)
