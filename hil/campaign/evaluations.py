"""Runs of a config at values of a few of its keys, which a study of design asks for batch by batch.

Each run is a row of `EVALUATIONS`, numbered in the order in which it was asked for. A study that is started again asks
for the same values again, so that one that was interrupted goes on from the rows that are there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from hil.campaign.run import ProgressReporter
from hil.campaign.sweep import SweepRows, SweepRun, run_missing, sweep_row, write_table
from hil.campaign.workers import Workers, kept_open
from hil.config import Config, ConfigError, Problem
from hil.config.command_requirements import SIMULATED, refuse_unfit
from hil.config.error_messages import Schema, schema_at, shown
from hil.config.files import replacing
from hil.config.problems import suggestion
from hil.config.unchecked_config import fingerprint
from hil.experiments.registry import experiment_named
from hil.experiments.summary_table import EVERY_RUN
from hil.recording.run_folder import FolderError
from hil.version import running_version

EVALUATIONS = "evaluations.csv"
_WHAT = "design study of config"
Row: TypeAlias = dict[str, Any]
# What is asked of a key: a range, or a step to either side of its value; None: a share of the value is the step.
Asked: TypeAlias = tuple[float, float] | float | None


class StudyStoppedError(Exception):
    """Runs are missing, because the study was stopped; what is done is in its folder."""


@dataclass(frozen=True)
class StudyParameter:
    """A key of a config that varies."""

    key: str  #: dotted
    value: float  #: that the config has
    low: float  #: smallest value that is tried
    high: float  #: largest
    whole: bool  #: only whole numbers are values

    def at(self, share: float) -> float:
        """The value at a share of the range, 0 at `low` and 1 at `high`."""
        value = min(max(self.low + share * (self.high - self.low), self.low), self.high)
        return round(value) if self.whole else float(value)


@dataclass(frozen=True)
class Study:
    """What is asked of a config, checked."""

    base: Config
    parameters: tuple[StudyParameter, ...]
    results: tuple[str, ...]  #: flat names of numbers in a summary
    options: Mapping[str, Any]  #: on which it depends which runs are made

    def extremes(self) -> list[Config]:
        """Configs that between them need every kernel of its runs."""
        ends = [{one.key: end} for one in self.parameters for end in (one.low, one.high)]
        return [self.base, *map(self.base.replace, ends)]

    def head(self) -> dict[str, Any]:
        """What must be the same when it is resumed."""
        asked = [[asdict(one) for one in self.parameters], self.results, dict(self.options)]
        own = self.base.sha256()
        return {"version": running_version(), "config_sha256": own, "runs_sha256": fingerprint(asked)}

    def point(self, values: Mapping[str, float] | None = None, more_seed: int = 0) -> dict[str, Any]:
        """Values of all its keys: those given, else of the config; with the seed, so much above the config's."""
        own = {one.key: one.value for one in self.parameters}
        return {"seed": self.base.seed + more_seed, **own, **(values or {})}


class StudyExecution(NamedTuple):
    """Where and how the runs of a study are made.

    Attributes:
        folder: of its files.
        place: opens the processes or the cluster.
        report: takes how far it is.
        stopped: whether no further run shall start.
        resume: go on with the rows that are in the folder.
    """

    folder: Path
    place: Callable[[], AbstractContextManager[Workers]]
    report: ProgressReporter
    stopped: Callable[[], bool]
    resume: bool = False


def make_study(
    base: Config,
    asked: Mapping[str, Asked],
    results: Sequence[str],
    options: Mapping[str, Any],
    problems: Sequence[Problem] = (),
    names: Iterable[str] = (),
    share: float = math.nan,
) -> Study:
    """Check what is asked; `problems` are known already, `names` are values of a row that a condition needs.

    Raises ConfigError: with all problems at once.
    """
    refuse_unfit(base, "design study", SIMULATED)
    parameters, problems = list[StudyParameter](), [*problems]
    for key, ends in asked.items():
        try:
            parameters.append(_parameter(base, key, ends, share))
        except ConfigError as error:
            problems += error.problems
    declared = [key for one in (*experiment_named(base.experiment).results, *EVERY_RUN) for key in one.keys]
    for name in (*results, *names):
        if name.partition(".")[0] not in declared and name not in asked:
            problems.append(Problem(name, f"no result of {base.experiment}", _alike(name, declared)))
    if options.get("repeats", 1) < 1:
        problems.append(Problem("repeats", str(options["repeats"]), "1 or more"))
    if not results:
        problems.append(Problem("result", "none", f"one of {', '.join(declared)}"))
    if problems:
        raise ConfigError(base.name, list(dict.fromkeys(problems)), _WHAT)
    return Study(base, tuple(parameters), tuple(results), options)


def _alike(name: str, known: Sequence[str]) -> str:
    return suggestion(name, known) or f"one of {', '.join(known)}"


def _parameter(base: Config, key: str, asked: Asked, share: float) -> StudyParameter:
    steps = [int(step) if step.isdecimal() else step for step in key.split(".")]
    value: Any = base.model_dump(mode="json")
    for step in steps:
        inner = dict(enumerate(value)) if isinstance(value, list) else value
        value = inner.get(step) if isinstance(inner, dict) else None
    _, schema = schema_at(steps)
    if not schema:
        base.replace({key: 0})  # says what is wrong with the key
    if key == "seed" or isinstance(value, bool) or not isinstance(value, int | float):
        allowed = "a number, and not the seed; --set gives a key a number"
        raise ConfigError(base.name, [Problem(key, shown(value), allowed)])
    low, high = asked if isinstance(asked, tuple) else _around(value, schema, asked, share)
    problems = []
    if not low < high:
        allowed = "a range LOW:HIGH that rises, or a step above 0"
        problems.append(Problem(key, f"{low:g} to {high:g}", allowed))
    for end in (low, high):
        try:
            base.replace({key: end})
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(base.name, problems)
    return StudyParameter(key, value, low, high, schema.get("type") == "integer")


def _around(value: float, schema: Schema, step: float | None, share: float) -> tuple[float, float]:
    """One step below and above a value, within the bounds of its key; of 0 a share is one of its range."""
    least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    width = share * (abs(value) or most - least) if step is None else step
    if not math.isfinite(width):
        return value, value
    if schema.get("type") == "integer":
        width = max(round(width), 1)
    return max(value - width, least), min(value + width, most)


class Evaluations:
    """Makes the runs that a study asks for; see `evaluations`."""

    def __init__(self, study: Study, rows: SweepRows, run: Callable[[list[SweepRun]], None]) -> None:
        self._study, self._rows, self._run = study, rows, run
        self._numbers: dict[tuple[Any, ...], int] = {}

    @property
    def rows(self) -> list[Row]:
        """All rows so far, by number."""
        return self._rows.rows

    def __len__(self) -> int:
        """How many have been asked for, whether or not their rows were there."""
        return len(self._numbers)

    def __call__(self, points: Iterable[Mapping[str, Any]]) -> list[Row]:
        """The row of each point, a value for each key.

        Raises:
            StudyStoppedError: not all of the runs were made.
            FolderError: the folder has a row with other values in the place of one of them.
        """
        numbers, runs = list[int](), list[SweepRun]()
        for point in points:
            values = tuple(point.items())
            if values not in self._numbers:
                self._numbers[values] = len(self._numbers) + 1
                self._begin(self._numbers[values], dict(point), runs)
            numbers.append(self._numbers[values])
        self._run(runs)
        if any(number not in self._rows for number in numbers):
            raise StudyStoppedError
        return [self._rows[number] for number in numbers]

    def of_config(self) -> Row:
        """The row of the config as it is. Raises ConfigError: one of the results is no number there."""
        (row,) = self([self._study.point()])
        numbers = [key for key, value in row.items() if isinstance(value, float)]
        because = f" (not accepted: {row['reasons']})" if row["reasons"] else ""
        problems = [
            Problem(name, f"no number in a run of the config{because}", _alike(name, numbers))
            for name in self._study.results
            if not isinstance(row.get(name), int | float)
        ]
        if problems:
            raise ConfigError(self._study.base.name, problems, _WHAT)
        return row

    def counted(self) -> dict[str, Any]:
        """How many there are, how many of them are not accepted, and why not, the most frequent reason first."""
        reasons = Counter(row["reasons"] or "no reason given" for row in self.rows if not row["accepted"])
        return {"evaluations": len(self.rows), "not_accepted": reasons.total(), "reasons": dict(reasons.most_common(9))}

    def _begin(self, number: int, values: dict[str, Any], runs: list[SweepRun]) -> None:
        """Have it run, unless its row is there; values that the config refuses together have a row at once."""
        if number in self._rows:
            if any(self._rows[number].get(key) != value for key, value in values.items()):
                wrong = f"its evaluation {number} has other values: it was begun with another scipy"
                raise FolderError(f"the folder cannot be resumed: {wrong}; start another with --out")
            return
        base = self._study.base
        try:
            config = base.replace(values)
        except ConfigError as error:
            refused = {"accepted": False, "reasons": [f"refused: {problem}" for problem in error.problems]}
            self._rows.add(sweep_row(SweepRun(number, values, base), refused))
        else:
            runs.append(SweepRun(number, values, config.sharing(base)))


@contextmanager
def evaluations(study: Study, execution: StudyExecution, most: int) -> Iterator[Evaluations]:
    """Makes at most so many runs while it is open, and leaves the table of them, whether or not it comes to its end.

    Raises:
        FolderError, ConfigError: it cannot be resumed.
        WorkersError: the runs cannot be made.
        OSError: the table cannot be written.
    """
    with SweepRows(execution.folder, study.head(), execution.resume) as rows, kept_open(execution.place) as place:
        if execution.resume:
            execution.report.text(f"{len(rows)} evaluations are there already")
        try:
            yield Evaluations(
                study, rows, lambda runs: run_missing(runs, rows, place, execution.report, execution.stopped, most)
            )
        finally:
            with replacing(execution.folder / EVALUATIONS) as unfinished:
                write_table(unfinished, rows.rows, "csv")
        rows.whole()
