"""Frames of a camera next to a record: JPEG files in `camera/`, and a table of their times on the record's clock."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from hil.config.files import read_text, replacing
from hil.config.text_io import write_rows
from hil.recording.run_folder import FolderError, file_in

FOLDER, TABLE = "camera", "frames.csv"
HEAD = ("t_ns", "sequence", "file", "time_from")
_MOST_BYTES = 2**26


class RunFrame(NamedTuple):
    """A frame of a run."""

    t_ns: int  # when it was taken, on the clock of the record: 0 is the start of the run [ns]
    sequence: int  # number that the camera gave it; where one is missing, the camera lost a frame
    file: str  # its name in the folder `camera` of the run
    time_from: str  # camera, the driver's own time; arrival, when this computer had it, which is later; or simulated


def frame_name(number: int) -> str:
    """Name of a frame's file, counted from 0."""
    return f"{number:06d}.jpg"


def frames_of(run: Path) -> list[RunFrame]:
    """The frames of a run, in order of time; none if it was not filmed.

    Raises:
        FolderError: the table is a link, or holds something else.

    Example:
        >>> frames_of(Path("a_run_that_was_not_filmed"))
        []
    """
    place = file_in(file_in(run, FOLDER), TABLE)
    try:
        rows = list(csv.DictReader(read_text(place, _MOST_BYTES).splitlines()))
        return [RunFrame(int(row["t_ns"]), int(row["sequence"]), row["file"], row["time_from"]) for row in rows]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, csv.Error) as error:
        raise FolderError(f"{place} cannot be read: {error}") from None


def write_frames(run: Path, frames: Iterable[RunFrame]) -> None:
    """Write the table of a run's frames, whose files are there. Raises OSError."""
    place = run / FOLDER / TABLE
    with replacing(place) as unfinished, unfinished.open("w", newline="", encoding="utf-8") as file:
        write_rows(file, [HEAD, *frames])
        file.flush()
        os.fsync(file.fileno())
