"""Reads a rover from a file, a URDF or an MJCF."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from hil.config.text_file import read_text
from models.rover.from_links import ImportedRover, rover_of
from models.rover.urdf_reader import MOST_CHARACTERS, read_urdf


class RoverFileError(ValueError):
    """A file that is no rover, or cannot be read or written; the message names what is wrong and what is allowed."""


def read_rover(
    path: Path,
    wheels: Sequence[str] | None = None,
    wheel_radius_m: float | None = None,
    wheel_width_m: float | None = None,
) -> ImportedRover:
    """The rover of a file.

    Args:
        path: of a URDF, or of an MJCF, whose first element is <mujoco>.
        wheels: names of the wheels' links or joints; None: those that are recognised.
        wheel_radius_m: of every wheel; None: that of its shape.
        wheel_width_m: of every wheel; None: that of its shape.

    Raises:
        RoverFileError: it cannot be read, or is no rover.
    """
    try:
        text = read_text(path, MOST_CHARACTERS)
        if _first_element(text) == "mujoco":
            from hil.analysis.own_rover.mjcf import read_mjcf  # imports MuJoCo

            linked = read_mjcf(text, path)
        else:
            linked = read_urdf(text)
        return rover_of(linked, wheels, wheel_radius_m, wheel_width_m)
    except (OSError, ValueError) as error:
        raise RoverFileError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _first_element(text: str) -> str:
    """Its name; "" of what is no XML, which the reader of URDF names. A URDF may have <mujoco> inside."""
    try:
        return str(next(element.tag for _, element in ElementTree.iterparse(io.StringIO(text), ("start",))))
    except (ElementTree.ParseError, StopIteration):
        return ""
