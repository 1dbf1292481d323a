"""Entry point: `python -m hil.app.notification_process TIMEOUT_S FOLDER PROGRAM [ARGUMENTS...]`.

Starts the program without a shell, kills it and what it has started after the time limit, and says on stderr and in the
run's folder if it failed. It runs beside the next run, so it takes the lowest priority.
"""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

FAILED = "notification.txt"
# Of what the program prints [bytes]: kept at all, and told.
_MOST_BYTES, _SHOWN_BYTES = 1_000_000, 300


def program_problem(program: Path) -> str:
    """Why a program may not be started, in words; empty: it may. Nobody but this user and root may write it."""
    try:
        status = program.stat()
    except OSError as error:
        return f"{program}: {error.strerror}; allowed: a program of that name in this folder"
    if not stat.S_ISREG(status.st_mode) or not os.access(program, os.X_OK):
        return f"{program}: not a program; allowed: a file with the right to execute it (chmod u+x)"
    if status.st_uid not in (0, os.getuid()) or status.st_mode & 0o022:
        return f"{program}: other users can change it; allowed: a file of this user that nobody else may write"
    return ""


def run_program(timeout_s: float, program: Path, arguments: Sequence[str]) -> str:
    """Run the program; in words why it failed, empty if it did not.

    Args:
        timeout_s: after which it is killed.
        program: its file.
        arguments: of it.
    """
    if problem := program_problem(program):
        return problem
    with tempfile.TemporaryFile() as printed:
        try:
            running = subprocess.Popen(
                [program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=printed,
                start_new_session=True,
            )
        except OSError as error:
            return f"{program}: {error.strerror}"
        try:
            ended = running.wait(timeout_s)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            return f"{program}: not done after {timeout_s:g} s, killed (notify.timeout_s)"
        if not ended:
            return ""
        printed.seek(0)
        words = " ".join(printed.read(_SHOWN_BYTES).decode(errors="replace").split())
        plain = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in words)
        return f"{program}: ended with status {ended}{f', it says: {plain}' if plain else ''}"


def main(arguments: Sequence[str]) -> int:
    """Run it, and say if it failed."""
    timeout_s, folder, program, *rest = arguments
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, 19)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_BYTES, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    if why := run_program(float(timeout_s), Path(program), rest):
        line = f"notify.command failed: {why}"
        with suppress(OSError):
            print(f"hil: {line}", file=sys.stderr)  # noqa: T201
        with suppress(OSError), (Path(folder) / FAILED).open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {line}\n")
    return bool(why)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
