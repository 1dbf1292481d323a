"""`hil.open` and `hil.runs`: runs that were recorded.

`hil.identify`: the soil's parameters from recorded drives and from a table of tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hil.analysis.dataset import verified_summary
from hil.analysis.identification.directions import in_words, proposals
from hil.analysis.identification.fit import Identification
from hil.analysis.identification.fit import identify as identify_soil
from hil.analysis.identification.forward import USUAL
from hil.analysis.identification.printed_result import warnings_of, yaml_section
from hil.analysis.identification.sources import check_enough, read_sources
from hil.analysis.listed_runs import chosen, listed_runs
from hil.api.result import Result, frame_of, html_table

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
        rows = [(row["run"], _judged(row)) for row in shown]
        return html_table(f"{self._folder}: {self._in_words()}", rows)

    def _in_words(self) -> str:
        accepted, counting = (sum(row[key] for row in self.rows) for key in ("accepted", "counts"))
        rejected = f", {accepted - counting} of these rejected by the operator" if counting < accepted else ""
        return f"{len(self)} runs, {accepted} accepted{rejected}"


def _judged(row: Mapping[str, Any]) -> str:
    """What rules and operator say of a run, in words."""
    rules = "accepted" if row["accepted"] else f"not accepted {row['reasons']}"
    said = row.get("operator_verdict")
    return f"{rules}; operator: {said} {row['operator_word']}".rstrip() if said else rules


def runs(folder: str | Path = "runs") -> Runs:
    """The runs in a folder and in the folders in it, by their summaries; no record is read.

    Args:
        folder: of the runs.

    Raises:
        FolderError: there is no such folder.
    """
    place = Path(folder)
    return Runs(place, [row for row in listed_runs(place) if "accepted" in row])


class IdentifiedSoil:
    """A soil that was identified.

    Args:
        found: the identification.

    Attributes:
        soil: all six parameters by the names of section soil, as `config.replace({"soil": found.soil})` takes them.
        determined: every combination of the parameters is known within a factor of two, with 95 % confidence.
        in_words: what the data cannot tell, and what is wrong with the fit, in sentences.
        further_experiments: that would tell what is not determined, the most telling first.
    """

    def __init__(self, found: Identification) -> None:
        self._found = found
        self.soil, self.determined = found.values, found.determined
        self.in_words = [*warnings_of(found), *in_words(found)]
        self.further_experiments = proposals(found)

    def to_dataframe(self) -> DataFrame:
        """A row for each parameter: value, 95 % interval. Raises MissingPackageError: pandas is not installed."""
        return frame_of([asdict(one) for one in self._found.parameters], "name")

    def to_yaml(self) -> str:
        """Section soil of a config, to paste."""
        return yaml_section(self._found)

    def __repr__(self) -> str:
        values = ", ".join(f"{one.name} {one.value:.4g}" for one in self._found.parameters)
        determined = "all determined" if self.determined else "not all determined"
        return f"<IdentifiedSoil of {len(self._found.windows)} windows: {values}; {determined}>"

    def _repr_html_(self) -> str:
        rows = [(one.name, f"{one.value:.4g} ({one.low:.3g} to {one.high:.3g})") for one in self._found.parameters]
        return html_table(f"soil of {len(self._found.windows)} windows", [*rows, ("", " ".join(self.in_words))])


def identify(
    runs: Iterable[str | Path | Result] = (),
    tests: str | Path | None = None,
    *,
    find: Iterable[str] = USUAL,
    given: Mapping[str, float] | None = None,
    torque_per_A_Nm: float | None = None,
    unverified: bool = False,
) -> IdentifiedSoil:
    """Identify the soil from steady drives and from tests of one wheel (docs/how-to/identify-a-soil.md).

    Args:
        runs: folders of runs of the experiments drawbar or slope, or runs that `hil.run` or `hil.open` gave.
        tests: CSV file of tests of one wheel, or of sinkage.
        find: names of the parameters to find.
        given: values by name, in place of what the config of the runs says: fixed, or where the search begins.
        torque_per_A_Nm: torque at an axle for each ampere of its motor; None: on a real rig torques are not used.
        unverified: also runs that do not match their digests.

    Raises:
        IdentificationError: a ValueError: the data cannot be used; the message says why, and what to do.
        FolderError, RecordError, UnverifiedRunError: a run cannot be read.
    """
    folders = [one.folder if isinstance(one, Result) else Path(one) for one in runs]
    values = [f"{name}={float(value)!r}" for name, value in (given or {}).items()]
    path = None if tests is None else Path(tests)
    read = read_sources(folders, path, values, torque_per_A_Nm=torque_per_A_Nm, unverified=unverified)
    names = tuple(find)
    check_enough(read.windows, names)
    return IdentifiedSoil(identify_soil(read.windows, read.soil, names))
