"""Extensions of installed packages by entry points; each is imported only when its name is looked up.

So a run that uses none of them has no cost, and a broken package does not affect the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any

DRIVERS = "rover_hil.drivers"
EXPERIMENTS = "rover_hil.experiments"
ROVERS = "rover_hil.rovers"
_WHAT = {DRIVERS: "driver", EXPERIMENTS: "experiment", ROVERS: "rover"}


class ExtensionError(ValueError):
    """An installed package does not provide what its entry point declares; the message names the package."""


def installed_names(group: str) -> list[str]:
    """All names of a group of entry points, none of them imported."""
    return sorted(point.name for point in entry_points(group=group))


def load_installed(group: str, name: str) -> Iterator[tuple[Any, str]]:
    """Objects that installed packages provide under that name, and each one's package. Raises ExtensionError."""
    for point in entry_points(group=group, name=name):
        yield _loaded(point), package_of(point)


def package_of(point: EntryPoint) -> str:
    """An entry point and the package that declares it, for messages."""
    package = f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"
    return f"{_WHAT[point.group]} {point.name}: the installed package {package}"


def _loaded(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:  # a foreign module may raise anything at import
        reason = f"{type(error).__name__}: {error}"
        raise ExtensionError(
            f"{package_of(point)} cannot be imported ({reason}): repair, update or remove it"
        ) from error
