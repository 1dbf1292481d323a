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

from hil.recording.disk_reserve import LOW
from hil.safety.arming import DISK_NEEDED

# Room for some runs beside what arming asks for [bytes].
SIZE = DISK_NEEDED + 60_000_000
BALLAST = "ballast"
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
    """Fill the disk until it counts as full; the reserve of the recorder, which it frees then, is left to it.

    In a process of its own: a thread that writes would keep the loop in this process waiting.
    """
    disk = os.statvfs(place)
    most = disk.f_bavail * disk.f_frsize - LOW // 2
    subprocess.run(["fallocate", "--length", str(most), str(place / BALLAST)], check=False)  # the recorder writes, too


def make_room(place: Path) -> None:
    """Take away what `fill` has put there."""
    (place / BALLAST).unlink(missing_ok=True)
