"""`hil.open` and `hil.runs`: runs that were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hil.analysis.dataset import verified_summary
from hil.analysis.listed_runs import chosen, listed_runs
from hil.api.frames import frame_of
from hil.api.result import Result
from hil.api.shown import html_table

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
        rows: of each run, oldest first: folder, experiment, whether it is accepted and why not, note, tags, and the
            numbers of its summary by flat key.
    """

    def __init__(self, folder: Path, rows: list[dict[str, Any]]) -> None:
        self._folder, self.rows = folder, rows

    def to_dataframe(self) -> DataFrame:
        """A row for each run, index its folder. Raises MissingPackageError: pandas is not installed."""
        return frame_of(self.rows, "run")

    def query(self, condition: str = "", tags: Iterable[str] = ()) -> Runs:
        """Those runs that a condition holds of, as "accepted and angle_deg > 60", and that have all of the tags.

        Args:
            condition: on the columns of `to_dataframe`, as `hil runs --where` takes it; "": none.
            tags: which a run must have.

        Raises:
            FilterError: a ValueError: it is no condition, or names a value that no run has.
        """
        return Runs(self._folder, chosen(self.rows, condition, tags))

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
    return Runs(place, [row for row in listed_runs(place) if "accepted" in row])
