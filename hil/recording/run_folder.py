"""Where the files of a run go: notes, tags and frames of a camera among them."""

from __future__ import annotations

import csv
import errno
import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from hil.config.files import read_json, read_text, replacing, write_whole
from hil.config.text_io import write_rows

VERDICT = "verdict.json"
# The summary of a trial has 5 kB.
MOST_SUMMARY_BYTES = 2**20
# Of a summary, what readers take apart; null, and what is missing, is allowed.
_KINDS: dict[str, Any] = {
    "loop": dict | None,
    "digests": dict | None,
    "reasons": list | None,
    "accepted": bool | None,
    "aborted": bool | str | None,
}
# What to do about a folder that the command line named, or chose.
_ANOTHER = "give another with --out"


class FolderError(ValueError):
    """A folder that cannot take, or does not hold, a run."""


def run_folder(out: Path | None, config_name: str, what: str) -> Path:
    """Create the folder of a new run. Without `out` it is `runs/<UTC>_<config>_<what>/` under the current folder.

    Raises FolderError: there is something in it, or it cannot be made.
    """
    if out is not None:
        return empty_folder(out, _ANOTHER)
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{now}_{config_name}_{what}"
    folder = Path("runs") / name
    again = 2
    while folder.exists() or folder.is_symlink():  # two runs within a second
        folder = Path("runs") / f"{name}_{again}"
        again += 1
    return empty_folder(folder, _ANOTHER)


def finished_run(run: Path) -> Path:
    """The folder of a run that has its record and its summary.

    Raises FolderError: one of them is not there, or is a link.
    """
    missing = [name for name in ("trial.h5", "summary.json") if not _is_file(file_in(run, name))]
    if missing:
        to_do = f", or make this one whole: hil recover {run}" if "trial.h5" not in missing else ""
        raise FolderError(f"{run} holds no {' and no '.join(missing)}: give the folder of a finished trial{to_do}")
    return run


def recorded_run(run: Path) -> Path:
    """The folder of a run that has a record, whole or not. Raises FolderError: it has none, or a link."""
    if not _is_file(file_in(run, "trial.h5")):
        raise FolderError(f"{run} holds no trial.h5: give the folder of a run (hil recover, if it was killed)")
    return run


def summary_of(run: Path) -> dict[str, Any] | None:
    """What the run's summary.json says; None if there is none, as of a run that was killed.

    Raises FolderError: it cannot be read.
    """
    place = file_in(run, "summary.json")
    if not _is_file(place):
        return None
    try:
        summary = read_json(place, MOST_SUMMARY_BYTES)
    except (OSError, ValueError) as error:
        raise FolderError(f"{place} cannot be read: {error}") from None
    if not isinstance(summary, dict):
        raise FolderError(f"{place} cannot be read: it holds no keys")
    wrong = [
        f"{key} is {str(summary[key])[:60]!r}" for key, kind in _KINDS.items() if not isinstance(summary.get(key), kind)
    ]
    if wrong:
        raise FolderError(f"{place} is no summary of a run: {', '.join(wrong)}")
    return summary


def verdict_of(run: Path) -> dict[str, str] | None:
    """What the operator said of a run: name, verdict (keep or repeat) and word; None: nothing readable."""
    try:
        said = read_json(file_in(run, VERDICT), MOST_SUMMARY_BYTES)
        return {key: str(said[key]) for key in ("name", "verdict", "word")}
    except (OSError, ValueError, LookupError, TypeError):
        return None


def file_in(folder: Path, name: str) -> Path:
    """The path of a file or folder of a run or campaign; it need not be there.

    Raises FolderError: the name leads out of the folder, or is that of a link, which may.
    """
    place = folder / name
    if place.parent != folder or name in ("", ".", "..") or "\0" in name:
        raise FolderError(f"{folder}: {name[:60]!r} is no name in this folder: allowed is a name without / and ..")
    with suppress(OSError):  # of a name too long, or behind a folder that nobody may look into, no file is found
        if place.is_symlink():
            raise FolderError(f"{place} is a link: put the file itself, or a copy of it, in its place")
    return place


def _is_file(path: Path) -> bool:
    """Also of what is no path at all, or behind a folder that nobody may look into."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def empty_folder(folder: Path, otherwise: str = "give another") -> Path:
    """A folder that is made, or is there and empty. `otherwise` says in the message what to do if it cannot be had.

    Raises FolderError: there is something in it, or it cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = next(folder.iterdir(), None)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise FolderError(f"run folder {folder} cannot be made: {reason}: {otherwise}") from None
    if held is not None:
        raise FolderError(f"run folder {folder} is not empty ({held.name}): {otherwise}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FolderError(f"run folder {folder} cannot be written to: {otherwise}")
    return folder


# Enough for the data after the fault of a full disk: 1000 ticks, the samples, summary and figure.
BYTES = 8_000_000
# With less free space than this the disk counts as full: several times the data written between two checks.
LOW = 1_000_000


class Reserve:
    """Reserves space in a file without a name, so that a killed process also frees it; none if the disk is too full."""

    def __init__(self, folder: Path) -> None:
        self._file = -1
        self._full: OSError | None = None
        with suppress(OSError):
            self._file, name = tempfile.mkstemp(dir=folder)
            os.unlink(name)
            os.posix_fallocate(self._file, 0, BYTES)
            return
        self.free()

    def free_if_full(self) -> None:
        """Release the space if the disk is full; `take_full` tells of it."""
        if self._file < 0:
            return
        disk = os.fstatvfs(self._file)
        if disk.f_bavail * disk.f_frsize < LOW:
            self._release()

    def write(self, write: Callable[[], None]) -> None:
        """Write; once more with the space released, where another program has taken the last of the disk meanwhile.

        It may be called twice for one result.

        Raises OSError: there is no room at all.
        """
        try:
            write()
        except (OSError, RuntimeError) as error:  # h5py raises RuntimeError for a write that fails in the HDF5 library
            if self._file < 0:
                raise OSError(errno.ENOSPC, str(error)) from error
            self._release()
            self.write(write)

    def take_full(self) -> OSError | None:
        """The error of a disk that has become full; None: it has not, or the error was taken before."""
        full, self._full = self._full, None
        return full

    def _release(self) -> None:
        self.free()
        self._full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def free(self) -> None:
        """Release the space; may be called twice."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1


FILE_NAME = "annotation.json"
# What a folder of a run or campaign holds at least one of.
_OF_A_RUN = ("trial.h5", "summary.json", "campaign.json", "campaign.csv")
MOST_NOTE, MOST_TAG, MOST_TAGS = 2000, 40, 32
_MOST_BYTES = 2**16


class Annotation(NamedTuple):
    """What people wrote on a run."""

    note: str = ""  # a text, which may have several lines; "": none
    tags: tuple[str, ...] = ()  # without repeats, in alphabetical order


def annotation_of(folder: Path) -> Annotation:
    """The note and tags of a run or campaign; empty ones if nobody wrote any.

    Raises FolderError: the file is a link, or holds something else.
    """
    place = file_in(folder, FILE_NAME)
    try:
        found = read_json(place, _MOST_BYTES)
        return _checked(found)
    except FileNotFoundError:
        return Annotation()
    except (OSError, ValueError) as error:
        raise FolderError(f"{place} cannot be read: {error}: correct it, or remove it") from None


def annotate(folder: Path, note: str | None = None, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Annotation:
    """Change the note and tags of a run or campaign; record and summary stay as they are.

    A note takes the place of the former one; "" removes it, None leaves it. To remove a tag that it has not is no
    error. Returns what is in the file now.

    Raises FolderError: the folder holds no run, or cannot be written to; ValueError: a note or tag is not allowed;
    nothing is changed.
    """
    if not any(file_in(folder, name).is_file() for name in _OF_A_RUN):
        raise FolderError(f"{folder} holds no run: give a folder with {' or '.join(_OF_A_RUN[:2])}, or a campaign's")
    added, removed = [_tag(one) for one in add], {_tag(one) for one in remove}
    written = None if note is None else _note(note)
    try:
        with _locked(folder):
            before = annotation_of(folder)
            tags = tuple(sorted({*before.tags, *added} - removed))
            if len(tags) > MOST_TAGS:
                raise ValueError(f"{len(tags)} tags, allowed: {MOST_TAGS}")
            after = Annotation(before.note if written is None else written, tags)
            if after != before:
                text = json.dumps({"note": after.note, "tags": after.tags}, ensure_ascii=False, indent=1)
                write_whole(folder / FILE_NAME, text + "\n")
    except OSError as error:
        raise FolderError(f"{folder / FILE_NAME} cannot be written: {error.strerror}") from None
    return after


def _checked(found: Any) -> Annotation:
    """Raises ValueError: it is none."""
    if not isinstance(found, dict) or not found.keys() <= {"note", "tags"}:
        raise ValueError("allowed: an object with note and tags")
    note, tags = found.get("note", ""), found.get("tags", [])
    if not isinstance(note, str) or not isinstance(tags, list) or len(tags) > MOST_TAGS:
        raise ValueError(f"note: allowed is a text; tags: allowed is a list of at most {MOST_TAGS}")
    return Annotation(_note(note), tuple(sorted({_tag(one) for one in tags})))


def _note(text: str) -> str:
    text = text.strip()
    if len(text) > MOST_NOTE or not all(one.isprintable() or one in "\n\t" for one in text):
        raise ValueError(f"a note of {len(text)} characters; allowed: {MOST_NOTE}, and no control characters")
    return text


def _tag(text: Any) -> str:
    tag = text.strip() if isinstance(text, str) else ""
    if not 0 < len(tag) <= MOST_TAG or not tag.isprintable() or "," in tag:
        raise ValueError(f"tag {str(text)[:60]!r}: allowed: 1 to {MOST_TAG} characters on one line, without commas")
    return tag


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One writer at a time: the page and a terminal may add a tag in the same moment."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


FOLDER, TABLE = "camera", "frames.csv"
HEAD = ("t_ns", "sequence", "file", "time_from")
_MOST_TABLE_BYTES = 2**26


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
        rows = list(csv.DictReader(read_text(place, _MOST_TABLE_BYTES).splitlines()))
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
