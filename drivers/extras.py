"""How to install the packages of an extra, in words that fit how this program itself was installed."""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shlex import quote
from urllib.parse import unquote, urlparse

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
