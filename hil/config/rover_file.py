"""The URDF that a config names: its text takes the place of its path, so that a record has its own rover."""

from __future__ import annotations

from hil.config.files import TextFile, lines_of
from models.rover.urdf_reader import MOST_CHARACTERS

# What is in it is checked with the config.
URDF = TextFile(
    "rover.imported.urdf",
    MOST_CHARACTERS,
    "a readable URDF, as `hil rover import` writes it",
    lines_of,
    several_lines=True,
)
