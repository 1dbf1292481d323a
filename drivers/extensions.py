"""What installed packages bring by entry points; each is imported when its name is asked for, and not before.

So a run that names none of them pays nothing for them, and a package that is broken keeps nobody from the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any

DRIVERS = "rover_hil.drivers"
EXPERIMENTS = "rover_hil.experiments"
_WHAT = {DRIVERS: "driver", EXPERIMENTS: "experiment"}


class ExtensionError(ValueError):
    """An installed package does not bring what it says; the message names the package."""


def installed_names(group: str) -> list[str]:
    """All names of a group of entry points, none of them imported."""
    return sorted(point.name for point in entry_points(group=group))


def load_installed(group: str, name: str) -> Iterator[tuple[Any, str]]:
    """What the installed packages bring by that name, and the package of each, for messages. Raises ExtensionError."""
    for point in entry_points(group=group, name=name):
        yield _loaded(point), package_of(point)


def package_of(point: EntryPoint) -> str:
    """What an entry point is and which package says so, for messages."""
    package = f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"
    return f"{_WHAT[point.group]} {point.name}: the installed package {package}"


def _loaded(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:  # whatever a stranger's module raises when it is imported
        reason = f"{type(error).__name__}: {error}"
        raise ExtensionError(
            f"{package_of(point)} cannot be imported ({reason}): mend it, update it or remove it"
        ) from error
