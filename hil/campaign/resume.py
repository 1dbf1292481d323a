"""What may be resumed: a folder that was begun with what is wanted now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hil.config import ConfigError, Problem


def refuse_other_head(
    found: Mapping[str, Any], wanted: Mapping[str, Any], same: Mapping[str, str], folder: Path, what: str
) -> None:
    """Check that a folder was begun with what is wanted now.

    Args:
        found: keys and values in the folder.
        wanted: the same now.
        same: of the keys that must be the same, the names in messages.
        folder: of them.
        what: is tried, for the message.

    Raises:
        ConfigError: one of them differs.
    """
    problems = [
        Problem(name, str(wanted[key]), f"{found.get(key)}, as {folder} was begun with; start another with --out")
        for key, name in same.items()
        if found.get(key) != wanted[key]
    ]
    if problems:
        raise ConfigError(str(folder), problems, what)
