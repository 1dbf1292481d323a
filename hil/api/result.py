"""`hil.Result`: a run that is over, made a moment ago or opened from its folder."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hil.analysis.campaign import columns_of
from hil.analysis.dataset import imported
from hil.api.notebook import figures_as_pictures
from hil.config import Config, parse_config
from hil.config.key_descriptions import unit_of
from hil.recording import FILE_NAME, TrialRecord, open_trial, read_trial
from hil.recording.annotation import Annotation, annotate
from hil.recording.run_folder import empty_folder

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
        from hil.analysis.dataframe import ticks_of

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
