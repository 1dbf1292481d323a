"""Files for the lab's computer: rules of udev, limits, a unit of systemd, and a container of the simulated rig."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from drivers.registry import driver_of
from hil.app.run_loop import rights_wanted
from hil.config import Config
from hil.messages.check import Check
from hil.realtime.rights import LIMITS_FILE


class ComputerFile(NamedTuple):
    """One of the files.

    Attributes:
        name: of the file.
        place: where the system looks for it; None: nowhere, it is built from where it is.
        use: what it is for.
    """

    name: str
    place: Path | None
    use: str


RULES = ComputerFile(
    "99-rover-hil.rules",
    Path("/etc/udev/rules.d/99-rover-hil.rules"),
    "serial adapters: rights, quick answers, no sleep",
)
LIMITS = ComputerFile("rover-hil.conf", Path(LIMITS_FILE), "real-time rights of this user")
SERVICE = ComputerFile(
    "rover-hil.service", Path("/etc/systemd/system/rover-hil.service"), "hil operate as a service (a choice)"
)
CONTAINER = ComputerFile("Containerfile", None, "a container of the simulated rig (a choice)")
FILES = (RULES, LIMITS, SERVICE, CONTAINER)


def text_of(file: ComputerFile) -> str:
    """A file for this computer: with this user, this folder and this `hil`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # no such user, as in some containers
        user = "USER"
    text = (files(__name__) / "files" / file.name).read_text(encoding="utf-8")
    here = {"@USER@": user, "@FOLDER@": str(Path.cwd()), "@HIL@": str(Path(sys.executable).parent / "hil")}
    for mark, value in here.items():
        text = text.replace(mark, value)
    return text


def computer_checks(config: Config) -> list[Check]:
    """For a real rig: which file that its config has a use for this computer does not have.

    None is needed for arming.
    """
    return [_check(file) for file in _wanted(config)] if config.rig == "real" else []


def _wanted(config: Config) -> Iterator[ComputerFile]:
    sections = config.devices.sections() if config.devices else []
    connections = [connection for section in sections for connection in driver_of(section).connections(section)]
    if any(connection.server is None and not connection.network for connection in connections):
        yield RULES
    wanted = rights_wanted(config.realtime, config.clock, config.rig)
    if wanted.fifo_priority or wanted.lock_memory:
        yield LIMITS


def _check(file: ComputerFile) -> Check:
    assert file.place is not None  # only those that the system looks for are wanted
    there = file.place.is_file()
    found = f"{file.place}" if there else f"{file.place} is missing; `hil computer --copy .` makes it"
    return Check(f"file of this computer: {file.name}", True, found, f"there, for {file.use} (optional)")
