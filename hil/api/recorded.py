"""`hil.open` and `hil.runs`: runs that were recorded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hil.analysis.campaign import numbers_of
from hil.analysis.dataset import verified_summary
from hil.api.frames import frame_of
from hil.api.result import Result
from hil.api.shown import html_table
from hil.experiments.summary import FILE_NAME as SUMMARY
from hil.recording.run_folder import FolderError, summary_of

if TYPE_CHECKING:
    from pandas import DataFrame

# Runs that a notebook shows, the newest.
_SHOWN = 20


def open(run: str | Path, *, unverified: bool = False) -> Result:
    """A recorded run.

    Args:
        run: its folder.
        unverified: also one that does not match its digests.

    Raises:
        FolderError: no such folder, or its summary cannot be read.
        RecordError: there is no record, or it is damaged.
        UnverifiedRunError: record and summary do not match their digests.

    Example:
        In the working folder is the folder of a run, `runs/jog`:

        >>> import hil
        >>> hil.open("runs/jog").summary["experiment"]
        'jog'
    """
    folder = Path(run)
    summary, _ = verified_summary(folder, unverified=unverified)
    return Result(folder, summary, _exit_code(summary), unverified=unverified)


def _exit_code(summary: dict[str, Any]) -> int:
    """The exit status that the command of a run had; 1 of a run without a summary, as one that was killed."""
    if summary.get("aborted") is False:
        return 0
    return 3 if any(str(reason).startswith("not armed: ") for reason in summary.get("reasons") or ()) else 1


class Runs:
    """Recorded runs, by their summaries; `query` chooses among them.

    Args:
        folder: that they are in.
        rows: of each run, `run` its folder relative to that.

    Attributes:
        rows: of each run, oldest first: folder, experiment, whether it is accepted and why not, and the numbers of its
            summary by flat key.
    """

    def __init__(self, folder: Path, rows: list[dict[str, Any]]) -> None:
        self._folder, self.rows = folder, rows

    def to_dataframe(self) -> DataFrame:
        """A row for each run, index its folder. Raises MissingPackageError: pandas is not installed."""
        return frame_of(self.rows, "run")

    def query(self, condition: str) -> Runs:
        """Those runs that a condition holds of: "accepted and angle_deg > 60".

        Args:
            condition: on the columns of `to_dataframe`, as `pandas.DataFrame.query` takes it.

        Raises:
            ValueError: it is no condition, or names a column that no run has.
            MissingPackageError: pandas is not installed.
        """
        if not self.rows:
            return self
        frame = self.to_dataframe()
        try:
            kept = set(frame.query(condition).index)
        except Exception as error:  # whatever the expression makes of the columns
            columns = ", ".join(map(str, frame.columns[:12]))
            raise ValueError(f"{condition!r}: {error}; allowed: a condition on columns as {columns}, ...") from None
        return Runs(self._folder, [row for row in self.rows if row["run"] in kept])

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> Result:
        """The run of a place, opened (`hil.open`)."""
        return open(self._folder / self.rows[place]["run"])

    def __iter__(self) -> Iterator[Result]:
        return (self[place] for place in range(len(self)))

    def __repr__(self) -> str:
        return f"<Runs of {self._folder}: {self._in_words()}>"

    def _repr_html_(self) -> str:
        shown = self.rows[-_SHOWN:]
        rows = [(row["run"], "accepted" if row["accepted"] else f"not accepted {row['reasons']}") for row in shown]
        return html_table(f"{self._folder}: {self._in_words()}", rows)

    def _in_words(self) -> str:
        return f"{len(self)} runs, {sum(row['accepted'] for row in self.rows)} accepted"


def runs(folder: str | Path = "runs") -> Runs:
    """The runs in a folder and in the folders in it, by their summaries; no record is read.

    Args:
        folder: of the runs.

    Raises:
        FolderError: there is no such folder.
    """
    place = Path(folder)
    if not place.is_dir():
        raise FolderError(f"{place} is no folder: give the one that your runs are in")
    return Runs(place, sorted(_rows(place), key=lambda row: str(row["run"])))


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    """A row of each run whose summary can be read."""
    for root, _, files in os.walk(folder):
        if SUMMARY in files:
            run = Path(root)
            with suppress(FolderError):
                if summary := summary_of(run):
                    yield _row(run.relative_to(folder).as_posix(), summary)


def _row(run: str, summary: dict[str, Any]) -> dict[str, Any]:
    return {
        "run": run,
        "experiment": summary.get("experiment"),
        "accepted": bool(summary.get("accepted")),
        "aborted": bool(summary.get("aborted", True)),
        "reasons": "; ".join(map(str, summary.get("reasons") or ())),
        **{key: summary[key] for key in ("seed", "angle_deg") if key in summary},
        **numbers_of(summary),
    }
