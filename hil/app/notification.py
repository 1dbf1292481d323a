"""A program of the user is told how a run has ended, by a process of its own: no run waits for it, or fails with it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hil.config.schema.notify import PLACEHOLDERS, NotifyConfig

Progress = Callable[[str], None]
# Of the words that are told; a command line is limited.
_MOST_WORDS = 2000
_started: list[subprocess.Popen[bytes]] = []


def programs_folder() -> Path:
    """The user's own folder of programs that may be told; nothing else is ever started for a config."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(given) if given else Path("~/.config").expanduser()) / "rover-hil" / "notify"


def notify_end(
    settings: NotifyConfig, rig: str, folder: Path, exit_code: int, summary: Mapping[str, Any], progress: Progress
) -> None:
    """Tell how a run has ended: `done` (accepted or not), `fault` or `refused`, and its reasons.

    Args:
        settings: of the program; none by default.
        rig: name of the config.
        folder: of the run; its files are written.
        exit_code: of the run.
        summary: of the run.
        progress: called if the program cannot be started.
    """
    state = {0: "done", 3: "refused"}.get(exit_code, "fault")
    judged = "accepted" if summary.get("accepted") else "not accepted"
    notify(settings, rig, folder, state, "; ".join([judged, *map(str, summary.get("reasons", ()))]), progress)


def notify(settings: NotifyConfig, rig: str, folder: Path, state: str, words: str, progress: Progress) -> None:
    """Start the program of a config, if it names one, and do not wait for it.

    Args:
        settings: of the program; none by default.
        rig: name of the config.
        folder: of the run.
        state: done, fault, refused or failed.
        words: for people.
        progress: called if it cannot be started.
    """
    if not settings.command:
        return
    values = dict(zip(PLACEHOLDERS, (str(folder.resolve()), rig, state, words[:_MOST_WORDS]), strict=True))
    name, *arguments = settings.command
    command = [sys.executable, "-m", "hil.app.notification_process", str(settings.timeout_s), str(folder)]
    command += [str(programs_folder() / name), *(_filled(argument, values) for argument in arguments)]
    _started[:] = [process for process in _started if process.poll() is None]  # the others are gone from the system
    try:
        # of a session of its own, so that Ctrl-C in this terminal does not end it
        _started.append(
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
        )
    except (OSError, ValueError) as error:
        progress(f"notify.command cannot be started: {error}")


def _filled(argument: str, values: Mapping[str, str]) -> str:
    """Placeholders replaced, in one go: what a run says is not looked through for more of them."""
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], argument)
