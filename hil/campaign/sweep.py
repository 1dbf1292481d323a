"""Sweeps: the product of values over any keys of a config, one row for each run, no folder for a run."""

from __future__ import annotations

import importlib
import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from drivers.extensions import install_command
from hil.analysis.campaign import MOST_BYTES, columns_of, numbers_of, table_text
from hil.campaign.folder import refuse_other_head
from hil.campaign.run import ProgressReporter
from hil.campaign.trial import Job, TrialResult
from hil.campaign.workers import Workers, WorkersError, run_jobs
from hil.config import Config, ConfigError, Problem, load_config
from hil.config.command_requirements import SIMULATED, refuse_unfit
from hil.config.error_messages import shown
from hil.config.files import parse_json, read_text, replacing
from hil.config.text_io import is_range, range_values, read_yaml
from hil.config.unchecked_config import fingerprint
from hil.recording.run_folder import MOST_SUMMARY_BYTES, FolderError, file_in
from hil.version import running_version

UNFINISHED = "sweep.unfinished.jsonl"
# What must be the same when a sweep is resumed, and its name in messages.
_SAME = {"version": "rover-hil", "config_sha256": "CONFIG", "runs_sha256": "--over, --of or another option"}


class SweepRows:
    """The rows so far, in memory and in `UNFINISHED`, whose first line is the head.

    Args:
        folder: of the sweep.
        head: what must be the same when it is resumed.
        resume: go on with the rows that are there.

    Raises:
        FolderError: there is nothing to resume, or its first line is damaged.
        ConfigError: it is another sweep, or of another version.
        OSError: the file cannot be read or written.
    """

    def __init__(self, folder: Path, head: Mapping[str, Any], resume: bool) -> None:
        self._path = folder / UNFINISHED
        self._rows: dict[int, dict[str, Any]] = {}
        if resume:
            self._read(head)
        with replacing(self._path) as unfinished:  # without the half line of a process that was killed
            lines = [head, *self.rows]
            unfinished.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        self._file = self._path.open("a", encoding="utf-8")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All rows, by number."""
        return [self._rows[number] for number in sorted(self._rows)]

    def __contains__(self, number: int) -> bool:
        return number in self._rows

    def __getitem__(self, number: int) -> dict[str, Any]:
        return self._rows[number]

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: dict[str, Any]) -> None:
        """Take a row; a kill from now on does not lose it."""
        self._rows[row["number"]] = row
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()

    def whole(self) -> None:
        """All rows are in the table: nothing is left to resume."""
        self._path.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _read(self, head: Mapping[str, Any]) -> None:
        if not self._path.is_file():
            raise FolderError(f"{self._path.parent}: no sweep to resume: it has no {UNFINISHED}, or it came to its end")
        try:
            lines = read_text(file_in(self._path.parent, UNFINISHED), MOST_BYTES).splitlines()
        except ValueError as error:
            raise FolderError(f"{self._path} cannot be read: {error}") from None
        begun = _parsed(lines[0]) if lines else None
        if begun is None or not _SAME.keys() <= begun.keys():
            wrong = "its first line, which says what the sweep is of, is damaged"
            raise FolderError(f"{self._path} cannot be resumed: {wrong}; start another sweep with --out")
        refuse_other_head(begun, head, _SAME, self._path.parent, "--resume of sweep")
        rows = [row for row in map(_parsed, lines[1:]) if row is not None]
        self._rows = {row["number"]: row for row in rows if isinstance(row.get("number"), int)}


def _parsed(line: str) -> dict[str, Any] | None:
    """The object of a line; None: it is cut short."""
    try:
        row = parse_json(line, MOST_SUMMARY_BYTES)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


MOST_RUNS = 1_000_000
_MOST_PROBLEMS = 20
Format = Literal["csv", "parquet"]


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep: the values of its keys, and its config."""

    number: int
    values: dict[str, Any]
    config: Config


def parse_over(texts: Sequence[str]) -> tuple[dict[str, list[Any]], list[Problem]]:
    """Values by key, and what is wrong with the others.

    Args:
        texts: `a.b=VALUES` each. VALUES are YAML with commas between; a range FIRST:LAST:STEP among them stands for its
            values, the last included.

    Example:
        >>> parse_over(["trial.angle_deg=50,60:80:10"])
        ({'trial.angle_deg': [50, 60, 70, 80]}, [])
    """
    over: dict[str, list[Any]] = {}
    problems = []
    for text in texts:
        key, _, values_text = text.partition("=")
        key = key.strip()
        if not key or not all(key.split(".")) or "=" not in text:
            problems.append(Problem(f"--over {text}", "no key and values", "a.b=VALUES, like trial.angle_deg=50,60"))
            continue
        if key in over:
            problems.append(Problem(f"--over {key}", "the key a second time", "each key once"))
        values, wrong = read_yaml(f"[{values_text}]", f"--over {key}")
        problems += wrong
        try:
            over[key] = [value for item in values or () for value in _values_of(item)]
        except ValueError as error:
            problems.append(Problem(f"--over {key}", shown(values_text), str(error)))
            continue
        if not over[key] and not wrong:
            allowed = "values with commas between, or FIRST:LAST:STEP"
            problems.append(Problem(f"--over {key}", "no values", allowed))
    if not texts:
        problems.append(Problem("--over", "nothing", "a.b=VALUES, once or more"))
    return {key: values for key, values in over.items() if values}, problems


def expand_sweep(source: str, over: Sequence[str], overrides: Sequence[str], seed: int | None) -> list[SweepRun]:
    """The runs of a sweep, the last key changing first.

    Args:
        source: of the config, as `load_config` takes it.
        over: `a.b=VALUES` each.
        overrides: of the config.
        seed: replaces that of the config. Runs have the same seed, unless the sweep is over `seed`.

    Raises:
        ConfigError: the problems of all runs, each once.
    """
    values_of, problems = parse_over(over)
    seeded = None if "seed" in values_of else seed

    def load(changes: Mapping[str, Any]) -> Config:
        return load_config(
            source, [*overrides, *(f"{key}={json.dumps(value)}" for key, value in changes.items())], seeded
        )

    return expand(load_config(source, overrides, seed), values_of, load, source, "--over", problems)


def expand(
    base: Config,
    values_of: Mapping[str, Sequence[Any]],
    load: Callable[[Mapping[str, Any]], Config],
    source: str,
    over: str,
    problems: Sequence[Problem] = (),
) -> list[SweepRun]:
    """The runs of a sweep over values by key, the last key changing first.

    Raises ConfigError: the problems of all runs, each once.
    """
    problems = [*problems]
    count = math.prod(len(values) for values in values_of.values())
    if count > MOST_RUNS:
        raise ConfigError(source, [Problem(over, f"{count} runs", f"at most {MOST_RUNS}")], "sweep of config")
    refuse_unfit(base, "sweep", SIMULATED)
    runs: list[SweepRun] = []
    for combination in itertools.product(*([(key, value) for value in values] for key, values in values_of.items())):
        try:
            config = load(dict(combination))
        except ConfigError as error:
            problems += error.problems
            continue
        runs.append(SweepRun(len(runs) + 1, dict(combination), config.sharing(base)))
    if problems:
        once = list(dict.fromkeys(problems))
        if len(once) > _MOST_PROBLEMS:
            rest = f"{len(once) - _MOST_PROBLEMS} more problems"
            once = [*once[:_MOST_PROBLEMS], Problem(over, rest, "values that the config takes")]
        raise ConfigError(source, once, "sweep of config")
    return runs


def run_sweep(
    runs: Sequence[SweepRun],
    path: Path,
    kind: Format,
    workers: Callable[[], AbstractContextManager[Workers]],
    report: ProgressReporter,
    stopped: Callable[[], bool],
    *,
    resume: bool = False,
) -> list[dict[str, Any]]:
    """Run a sweep and write its table; if it is stopped, the runs that are done are in it, and it can be resumed.

    Returns:
        The rows, by number.

    Raises:
        FolderError, ConfigError: it cannot be resumed.
        WorkersError: they cannot run.
        OSError: the table cannot be written.
    """
    with SweepRows(path.parent, sweep_head(runs), resume) as rows:
        if resume:
            report.text(f"{len(rows)} of {len(runs)} runs are there already")
        try:
            run_missing(runs, rows, workers, report, stopped, len(runs))
        finally:
            with replacing(path) as unfinished:
                write_table(unfinished, rows.rows, kind)
        if len(rows) == len(runs):
            rows.whole()
        return rows.rows


def run_missing(
    runs: Sequence[SweepRun],
    rows: SweepRows,
    workers: Callable[[], AbstractContextManager[Workers]],
    report: ProgressReporter,
    stopped: Callable[[], bool],
    total: int,
) -> None:
    """Make those of the runs that have no row yet, until it is stopped; `total`: how many rows there are to be."""

    def take(run: SweepRun, result: TrialResult) -> None:
        rows.add(sweep_row(run, result.summary))
        report.done(len(rows), total)

    missing = [run for run in runs if run.number not in rows]
    if missing:
        run_jobs(workers, ((run, Job(run.config.model_dump_json(), "summary")) for run in missing), take, stopped)


def sweep_head(runs: Sequence[SweepRun]) -> dict[str, Any]:
    """What two sweeps have in common of which one may go on with the rows of the other.

    The config of a run has the content of the files that its values name.
    """
    values = fingerprint([[run.values, run.config.sha256()] for run in runs])
    return {"version": running_version(), "config_sha256": runs[0].config.sha256(), "runs_sha256": values}


def write_table(path: Path, rows: Sequence[Mapping[str, Any]], kind: Format) -> None:
    """Write rows as CSV or Parquet. Raises WorkersError: the extra that Parquet needs is not installed; OSError."""
    if kind == "csv":
        path.write_text(table_text(rows), encoding="utf-8", newline="")
        return
    pyarrow, parquet = parquet_writer()
    columns = columns_of(rows)
    table = pyarrow.Table.from_pydict({column: _one_type([row.get(column) for row in rows]) for column in columns})
    parquet.write_table(table, path)


def parquet_writer() -> tuple[Any, Any]:
    """The modules that write Parquet. Raises WorkersError: they are not installed."""
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise WorkersError(f"--format parquet needs the extra export: {install_command('export')}") from None


def _one_type(values: list[Any]) -> list[Any]:
    """A column of Parquet has one type: numbers of two kinds become floats, other mixtures text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    if len(kinds) > 1 or kinds & {list, dict}:
        return [None if value is None else value if isinstance(value, str) else json.dumps(value) for value in values]
    return values


def _values_of(item: Any) -> list[Any]:
    if isinstance(item, str) and is_range(item):
        return list(range_values(item, MOST_RUNS))
    return [item]


def sweep_row(run: SweepRun, summary: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a run: its number and values, how it is judged, and the numbers of its summary."""
    return {
        "number": run.number,
        **run.values,
        "aborted": summary.get("aborted"),
        "accepted": summary.get("accepted"),
        "reasons": "; ".join(map(str, summary.get("reasons") or ())),
        **numbers_of(summary),
    }
