"""Reads a file that a config names, in the config's folder; the config then has what is in it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from hil.config.problems import Problem
from hil.config.text_file import read_text


def named_path(raw: Any, key: str) -> str | None:
    """The text that a raw config has for a key, a dot between its parts; None: none."""
    for name in key.split("."):
        raw = raw.get(name) if isinstance(raw, dict) else None
    return raw if isinstance(raw, str) else None


def path_or_text(raw: Any, key: str) -> str | None:
    """The path that a raw config has for a key; None: none, or a text of several lines, as a file itself is."""
    path = named_path(raw, key)
    return path if path is not None and "\n" not in path else None


def read_named(
    key: str, path: str, folder: Traversable, most: int, allowed: str, take: Callable[[str], list[Problem]]
) -> list[Problem]:
    """Hand the text of a file to `take`; the problems are those of the file, or what `take` returns.

    Args:
        key: of the config.
        path: of the file.
        folder: of the config.
        most: largest size of the file [bytes].
        allowed: what the file should be, in words.
        take: what to do with its text; may raise ValueError or csv.Error.
    """
    if not path or "\0" in path:
        return [Problem(key, repr(path), allowed)]
    file = Path(str(folder / path))
    try:
        return take(read_text(file, most))
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return [Problem(key, f"{path}: {reason}", f"{allowed}; looked for {file}")]
