"""Extensions of installed packages by entry points, each imported only when its name is looked up; and their extras.

So a run that uses none of them has no cost, and a broken package does not affect the others.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points
from pathlib import Path
from shlex import quote
from typing import Any
from urllib.parse import unquote, urlparse

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


_NAME = "rover-hil"


def install_command(extra: str) -> str:
    """The command that installs an extra of rover-hil, to be given in the current folder.

    A clone is installed editable: `pip install 'rover-hil[...]'` would look for the program in a package index, and pip
    alone would be that of another Python.

    Args:
        extra: its name in pyproject.toml.

    Example:
        >>> install_command("export").endswith("[export]'")
        True
    """
    clone = _clone()
    if clone is None:
        return f"pip install '{_NAME}[{extra}]'"
    python, here = Path(sys.executable), Path.cwd() == clone
    if here and python.is_relative_to(clone):
        python = python.relative_to(clone)
    return f"{quote(str(python))} -m pip install -e '{'.' if here else clone}[{extra}]'"


def _clone() -> Path | None:
    """The folder that this program is installed from, where it is an editable installation."""
    try:
        origin = json.loads(distribution(_NAME).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return None
    if not origin.get("dir_info", {}).get("editable"):
        return None
    return Path(unquote(urlparse(origin["url"]).path))
