"""The URDF that a config names: its text takes the place of its path, so that a record has its own rover."""

from __future__ import annotations

from importlib.resources.abc import Traversable
from typing import Any

from hil.config.named_file import path_or_text, read_named
from hil.config.problems import Problem
from models.rover.urdf_reader import MOST_CHARACTERS

URDF_KEY = "rover.imported.urdf"


def rover_path(raw: Any) -> str | None:
    """The path of the URDF in a raw config; None: it names none. A text of several lines is a URDF."""
    return path_or_text(raw, URDF_KEY)


def put_rover(raw: dict[str, Any], folder: Traversable) -> list[Problem]:
    """Replace the path of a URDF, if the raw config has one, by the text of the file.

    Args:
        raw: the config as read; changed in place.
        folder: of the config.

    Returns:
        The problems of the file; a section whose file has any has no URDF. What is in it is checked with the config.
    """
    path = rover_path(raw)
    if path is None:
        return []
    del raw["rover"]["imported"]["urdf"]

    def take(text: str) -> list[Problem]:
        raw["rover"]["imported"]["urdf"] = "\n".join([*text.removeprefix("\ufeff").splitlines(), ""])
        return []

    return read_named(URDF_KEY, path, folder, MOST_CHARACTERS, "a readable URDF, as `hil rover import` writes it", take)
