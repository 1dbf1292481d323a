"""`hil.Result`: a run that is over, made a moment ago or opened from its folder; `hil.open` and `hil.runs`."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hil.analysis.campaign import columns_of
from hil.analysis.dataset import imported, verified_summary
from hil.analysis.identification.fit import Identification
from hil.analysis.identification.fit import identify as identify_soil
from hil.analysis.identification.forward import USUAL
from hil.analysis.identification.printed_result import in_words, proposals, warnings_of, yaml_section
from hil.analysis.identification.sources import check_enough, read_sources
from hil.analysis.listed_runs import chosen, listed_runs
from hil.api.notebook import figures_as_pictures
from hil.config import Config, parse_config
from hil.config.operator_settings import unit_of
from hil.recording import FILE_NAME, TrialRecord, open_trial, read_trial
from hil.recording.run_folder import Annotation, annotate, empty_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from xarray import Dataset


def frame_of(rows: Sequence[Mapping[str, Any]], index: str) -> DataFrame:
    """A DataFrame of rows; `attrs["units"]` has the unit of each column, "1" of what has none.

    Args:
        rows: with names of columns as keys; a row may lack some.
        index: name of the column that is the index.

    Raises:
        MissingPackageError: pandas is not installed.
    """
    with imported("pandas", "a DataFrame"):
        import pandas
    frame = pandas.DataFrame.from_records(list(rows), columns=columns_of([{index: None}, *rows]), index=index)
    frame.attrs["units"] = {column: unit_of(str(column).rpartition(".")[2], "") for column in frame.columns}
    return frame


def html_table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """A table of two columns, with a title; all of it is escaped."""
    cells = "".join(f"<tr><th>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>" for name, value in rows)
    return f"<table><caption>{escape(title)}</caption><tbody>{cells}</tbody></table>"


class Result:
    """A run that is over: its summary, its record, its figure.

    Its files are in `folder`: record and summary of a run that `hil.run` made are in a temporary folder, which is gone
    with the result unless `save` keeps them.

    Args:
        folder: of record and summary.
        summary: as `summary.json` has it.
        exit_code: as the command's.
        temporary: the folder goes with the result.
        unverified: record and summary are taken though they do not match their digests.

    Attributes:
        summary: numbers, texts and flags of the run (docs/reference/summary.md).
        exit_code: 0: it came to its end, accepted or not; 1: fault, abort or no impact in time; 3: arming refused.
    """

    def __init__(
        self,
        folder: Path,
        summary: dict[str, Any],
        exit_code: int,
        *,
        temporary: bool = False,
        unverified: bool = False,
    ) -> None:
        self._folder, self._unverified = folder, unverified
        self._removal = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True) if temporary else None
        self.summary, self.exit_code = summary, exit_code

    @property
    def folder(self) -> Path:
        """Where record and summary are."""
        return self._folder

    @property
    def accepted(self) -> bool:
        """Whether the run counts; `summary["reasons"]` says why not."""
        return bool(self.summary.get("accepted"))

    @cached_property
    def record(self) -> TrialRecord:
        """The whole record, in arrays: ticks, events, timing, samples, meta (docs/reference/record.md).

        Raises:
            RecordError: it is damaged.
        """
        return read_trial(self._folder, trusted=self._removal is not None)

    @property
    def ticks(self) -> NDArray[np.void]:
        """A row for each tick, as `/tick` of the record has it: `ticks["force_sum_N"]`, shape (ticks,)."""
        return self.record.tick

    @cached_property
    def config(self) -> Config:
        """The config that ran. Raises ConfigError: it is of another version."""
        with open_trial(self._folder, trusted=self._removal is not None) as record:
            return parse_config(str(record.meta.get("config", "")), f"{self._folder / FILE_NAME}")

    def to_xarray(self) -> Dataset:
        """The record as an xarray Dataset: time [s], wheels and channels by name, units, all samples.

        See `hil.analysis.open_run`, which makes it.

        Raises:
            RecordError: the record is damaged.
            UnverifiedRunError: record and summary do not match their digests.
            MissingPackageError: xarray is not installed.
        """
        from hil.analysis.dataset import open_run

        return open_run(self._folder, unverified=self._unverified)

    def to_dataframe(self) -> DataFrame:
        """The ticks as a pandas DataFrame: a row each, index time [s], a column for each quantity of each wheel.

        `attrs["units"]` has the unit of each column.

        Raises: as `to_xarray`.
        """
        from hil.analysis.listed_runs import ticks_of

        return ticks_of(self._folder, unverified=self._unverified)

    def plot(self) -> Figure:
        """The experiment's figure, as a run leaves it next to its record; a notebook shows it.

        Raises:
            RecordError: the record is damaged.
            ValueError: the experiment has no figure.
        """
        from hil.experiments.figure_form import FigureForm
        from hil.experiments.registry import experiment_named

        figures_as_pictures()
        with open_trial(self._folder, trusted=self._removal is not None) as record:
            kind = experiment_named(str(record.meta["experiment"]))
            if kind.figure is None:
                raise ValueError(
                    f"the experiment {kind.name} has no figure; to_dataframe() has its quantities over time"
                )
            return kind.plot(record, self.summary, "" if self._removal else self._folder.absolute().name, FigureForm())

    def save(self, path: str | Path) -> Path:
        """Keep the run in a folder, as `hil run --out` leaves it: record, summary and figure.

        Args:
            path: of the folder; it is made, or empty.

        Returns:
            It, absolute; from now on it is `folder`.

        Raises:
            FolderError: there is something in it, or it cannot be made.
        """
        from hil.experiments.registry import draw, experiment_named

        place = empty_folder(Path(path).absolute())
        shutil.copytree(self._folder, place, dirs_exist_ok=True)
        removal, self._folder, self._removal = self._removal, place, None
        if removal is not None:
            removal()
            with open_trial(place, trusted=True) as record:
                draw(experiment_named(str(record.meta["experiment"])), record, self.summary, place)
        return place

    def annotate(self, note: str | None = None, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Annotation:
        """Change note and tags of the run, next to its record, which stays as it is; without arguments: read them.

        Args:
            note: takes the place of the former one; "" removes it, None leaves it.
            add: tags that it shall have.
            remove: tags that it shall not have.

        Returns:
            `note` and `tags` as they are now.

        Raises:
            FolderError: the folder cannot be written to.
            ValueError: a note or tag is not allowed; nothing is changed.
        """
        return annotate(self._folder, note, add, remove)

    def __repr__(self) -> str:
        name = self.summary.get("experiment", "run")
        where = "not saved" if self._removal else str(self._folder)
        return f"<Result of {name}: {self._verdict()}; {where}>"

    def _repr_html_(self) -> str:
        from hil.experiments.registry import main_values

        where = "not saved" if self._removal else str(self._folder)
        numbers = [(f"{name} [{unit}]" if unit else name, value) for name, value, unit in main_values(self.summary)]
        rows = [("run", where), ("accepted", self._verdict()), *numbers]
        return html_table(f"{self.summary.get('experiment', 'run')}", rows)

    def _verdict(self) -> str:
        if self.accepted:
            return "accepted"
        reasons = [str(reason) for reason in self.summary.get("reasons") or ()]
        return "not accepted" + (f": {reasons[0]}" if reasons else "")


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
