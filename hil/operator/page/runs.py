"""The runs of a running `hil operate`: what is in its folder, and nothing outside of it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from hil.config.files import read_bytes

# The files that can be asked for; a figure is named after its experiment.
FIGURE, SUMMARY, REPORT, RECORD, VERDICT = "figure.png", "summary.json", "report.html", "trial.h5", "verdict.json"
_CAMPAIGN = "campaign.json"
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_FRAME = re.compile(r"[0-9]{6,9}\.jpg")
# Longest time that reading a record may take [s].
_READS_S = 60.0
# A summary has 5 kB.
_MOST_BYTES = 2**20
_PLAIN = (int, float, str, bool, type(None))
Annotation = tuple[str, tuple[str, ...]]
Annotate = Callable[[Path, str | None, Collection[str], Collection[str]], Annotation]


class RunFolder:
    """The folder of the runs; those of a campaign are one folder deeper.

    Args:
        read_record: command that prints JSON from the record of a run, with its folder and what of it added.
        annotation_of: the note and tags of a run. Raises ValueError: they cannot be read.
        annotate: changes them: a new note or None, tags to add, tags to remove. Raises ValueError: not allowed.
        frames_of: frames of a run's camera: time [ns], sequence, name of the file, where the time is from. Raises
            ValueError: their table cannot be read.

    Attributes:
        read_record: the same command.
    """

    def __init__(
        self,
        folder: Path,
        read_record: Sequence[str],
        annotation_of: Callable[[Path], Annotation],
        annotate: Annotate,
        frames_of: Callable[[Path], Sequence[tuple[int, int, str, str]]],
    ) -> None:
        self._folder, self.read_record = folder.resolve(), read_record
        self._annotation_of, self._annotate, self._frames_of = annotation_of, annotate, frames_of
        self._files: dict[Path, tuple[int, dict[str, Any] | None]] = {}

    def listed(self, running: str) -> list[dict[str, Any]]:
        """All runs and campaigns, newest first.

        Args:
            running: folder of the run that is on; empty: none is.
        """
        place = Path(running).resolve() if running else None
        folders = sorted(((_time_ns(folder), folder) for folder in self._folders()), reverse=True)
        return [self._described(folder, time_ns, folder == place) for time_ns, folder in folders]

    def file(self, name: str, kind: str) -> Path:
        """A file of a run. Raises LookupError: there is none."""
        folder = self._run(name)
        path = _files(folder).get(kind)
        if path is None:
            raise LookupError(f"{name} has no {kind[:40]}")
        return path

    def frames(self, name: str) -> list[tuple[float, str]]:
        """Time [s] and name of each frame of a run's camera; none if nothing has filmed it.

        Raises:
            LookupError: there is no such run, or the table cannot be read.
        """
        try:
            return [(t_ns * 1e-9, file) for t_ns, _, file, _ in self._frames_of(self._run(name))]
        except ValueError as error:
            raise LookupError(str(error)) from None

    def frame(self, name: str, file: str) -> Path:
        """A frame of a run's camera. Raises LookupError: there is none."""
        path = self._run(name) / "camera" / file
        links = path.parent.is_symlink() or path.is_symlink()
        if not _FRAME.fullmatch(file) or links or not path.is_file():
            raise LookupError(f"{name} has no frame {file[:40]}")
        return path

    def read(self, name: str, what: str, *series: str) -> bytes:
        """Something from the record of a run; another process reads it.

        `what`: impact, timing or traces, as JSON; or tdms, mat or mcap.

        Raises:
            LookupError: the run has nothing of that, or its record cannot be read.
        """
        command = [*self.read_record, str(self._run(name)), what, *series]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_READS_S, check=False)
        except subprocess.TimeoutExpired:
            raise LookupError(f"{name}: not read within {_READS_S:g} s") from None
        if done.returncode:
            last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise LookupError(f"{name}: {last or 'the record cannot be read'}")
        return done.stdout

    def annotate(self, name: str, note: str | None, add: Collection[str], remove: Collection[str]) -> Annotation:
        """Change the note and tags of a run; they stand next to its record, which stays as it is.

        `note`: takes the place of the former one; None leaves it.

        Raises:
            LookupError: there is no such run.
            ValueError: they are not allowed, or cannot be written.
        """
        return self._annotate(self._run(name), note, add, remove)

    def _run(self, name: str) -> Path:
        """The folder of a run. Raises LookupError: there is none of that name inside the folder of the runs."""
        parts = name.split("/")
        folder = self._folder.joinpath(*parts)
        plain = len(parts) <= 2 and all(_PART.fullmatch(part) for part in parts)
        if not plain or not folder.is_dir() or folder.resolve() != folder:
            raise LookupError(f"no run {name[:100]!r}")
        return folder

    def _folders(self) -> Iterator[Path]:
        """Those that hold a run or a campaign; not one that a link leads to."""
        for folder in _inside(self._folder):
            if _files(folder) or (folder / RECORD).is_file():
                yield folder
            # besides its trials a campaign has folders of pictures
            yield from (trial for trial in _inside(folder) if any((trial / one).is_file() for one in (RECORD, SUMMARY)))

    def _described(self, folder: Path, time_ns: int, running: bool) -> dict[str, Any]:
        summary = self._read(folder / SUMMARY)
        of_campaign = not (folder / RECORD).is_file() and summary is None
        state = "running" if running else "campaign" if of_campaign else "done" if summary else "no summary"
        known = summary or {}
        note, tags = self._written_on(folder)
        return {
            "name": folder.relative_to(self._folder).as_posix(),
            "state": state,
            "experiment": known.get("experiment"),
            "angle_deg": known.get("angle_deg"),
            "accepted": known.get("accepted"),
            "operator": self._read(folder / VERDICT),
            "reasons": known.get("reasons", []),
            "numbers": {key: value for key, value in known.items() if isinstance(value, _PLAIN)},
            "note": note,
            "tags": tags,
            "files": sorted(_files(folder)),
            "time": datetime.fromtimestamp(time_ns * 1e-9, UTC).isoformat(timespec="seconds"),
        }

    def _written_on(self, folder: Path) -> Annotation:
        """Note and tags; what cannot be read is said in the place of the note, and hides no run."""
        try:
            return self._annotation_of(folder)
        except ValueError as error:
            return str(error), ()

    def _read(self, file: Path) -> dict[str, Any] | None:
        """The summary of a run, or its operator's verdict, read once for each time that it is written; None: none."""
        try:
            written_ns = file.stat().st_mtime_ns
        except OSError:
            return None
        known = self._files.get(file)
        if known is None or known[0] != written_ns:
            try:
                known = written_ns, msgspec.json.decode(read_bytes(file, _MOST_BYTES), type=dict[str, Any])
            except (OSError, ValueError, msgspec.MsgspecError):
                known = written_ns, None
            self._files[file] = known
        return known[1]


def _inside(folder: Path) -> Iterator[Path]:
    for entry in folder.iterdir():
        if _PART.fullmatch(entry.name) and entry.is_dir() and not entry.is_symlink():
            yield entry


def _time_ns(folder: Path) -> int:
    """When a run or campaign was over; a note that is written later changes the time of its folder, and not this."""
    for name in (SUMMARY, RECORD, _CAMPAIGN):
        try:
            return (folder / name).stat().st_mtime_ns
        except OSError:
            continue
    return folder.stat().st_mtime_ns


def _files(folder: Path) -> dict[str, Path]:
    """The files of a run or campaign that can be asked for."""
    files = {kind: folder / kind for kind in (SUMMARY, REPORT)}
    if figures := sorted(figure for figure in folder.glob("*.png") if ".unfinished" not in figure.name):
        files[FIGURE] = figures[0]
    return {kind: file for kind, file in files.items() if file.is_file() and not file.is_symlink()}
