"""`hil.run` and `hil.sweep`: runs of the experiment that a config names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, TypeAlias

from hil.api.notebook import shown_in_cell
from hil.api.result import Result, frame_of, html_table
from hil.app.run import run_experiment
from hil.app.warm_up import warm_up
from hil.campaign.progress import ProgressBar, write_line
from hil.campaign.sweep import SweepRun, expand, sweep_row
from hil.campaign.trial import Job
from hil.campaign.trial import TrialResult as RunOfMany
from hil.campaign.workers import Workers, process_pool, run_jobs, this_process
from hil.config import Config, ConfigError, Problem, load_config
from hil.config.overrides import plain_value
from hil.config.rig import Rig, one_of_each_kind
from hil.experiments.registry import experiment_named
from hil.recording.run_folder import run_folder

if TYPE_CHECKING:
    from pandas import DataFrame


def load(source: str | Path, values: Mapping[str, Any] | None = None) -> Config:
    """Read and check a config.

    Args:
        source: path of a YAML file, or the name of a shipped config (`hil configs` lists them); a file comes first.
        values: replace those of the file, by dotted key: {"trial.angle_deg": 70}. A whole section may be a mapping:
            {"trial": {"angle_deg": 70}}; the keys that it does not name stay as they are, and {} turns on a section
            that is null. Numbers may be of numpy.

    Raises:
        ConfigError: with all problems at once: key, value found, values allowed.

    Example:
        >>> import hil
        >>> config = hil.load("sim_impact", {"trial.angle_deg": 70})
        >>> config.trial.angle_deg
        70.0
        >>> hil.load("sim_impact", {"trial.angle_deg": 500})
        Traceback (most recent call last):
            ...
        hil.config.problems.ConfigError: config sim_impact: 1 problem
          trial.angle_deg: found 500; allowed: a number 10 to 90
    """
    return load_config(source, {} if values is None else values)


Progress: TypeAlias = bool | Callable[[str], object]


@contextmanager
def lines_to(progress: Progress) -> Iterator[Callable[[str], None]]:
    """Takes what is going on, a line at a time.

    Args:
        progress: False: nothing is said; True: lines on standard error, in a notebook one line that changes; or a
            function that is called with each line.
    """
    if callable(progress):
        yield lambda line: _void(progress(line))
    elif not progress:
        yield lambda _: None
    elif (cell := shown_in_cell({"text/plain": ""}, raw=True)) is not None:
        try:
            yield lambda line: cell.update({"text/plain": line}, raw=True)
        finally:
            cell.update({"text/plain": ""}, raw=True)
    else:
        yield write_line


def _void(_: object) -> None:
    """Whatever a function of the caller returns."""


def run(config: Config | str, progress: Progress = False) -> Result:
    """Run the experiment that a config names, on the rig that it names; the same as the command `hil run`.

    The record of a simulated rig is in a temporary folder until `Result.save` keeps it. That of a real rig is at once
    in `runs/<UTC>_<config>_<experiment>/`: nobody can make such a run again. A real rig arms and moves as soon as its
    checks pass, as with `hil run`; `hil.operate` waits for an operator.

    Args:
        config: of the rig and the experiment, or the name or file of one (`hil.load`).
        progress: what to do with lines about what is going on, as kernels being compiled: True: print them; False:
            nothing; or a function that is called with each.

    Raises:
        ConfigError: there is no experiment of that name.
        DeviceError: a device could not be opened, or a worker could not begin.
        NotArmedError: without real-time rights, this machine does not hold the loop's rate.
        OSError: the record cannot be written.

    Example:
        >>> import hil
        >>> result = hil.run(hil.load("sim_impact", {"experiment": "jog", "jog.seconds": 0.3}))
        >>> result.exit_code, result.summary["accepted"], len(result.ticks) == result.summary["loop"]["ticks"]
        (0, True, True)
    """
    config = load_config(config) if isinstance(config, str) else config
    if config.rig == "real":
        folder = run_folder(None, config.name, experiment_named(config.experiment).label(config))
        return Result(folder, *_run_in(folder, config, progress))
    experiment_named(config.experiment)  # before there is a folder
    folder = Path(mkdtemp(prefix="hil-run-"))
    try:
        return Result(folder, *_run_in(folder, config, progress), temporary=True)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _run_in(folder: Path, config: Config, progress: Progress) -> tuple[dict[str, Any], int]:
    """Summary and exit status of a run with its files."""
    with lines_to(progress) as report:
        if config.clock == "lockstep":
            warm_up(Rig(config), report)
        outcome = run_experiment(config, folder, report, figure=config.rig == "real", one_of_many=True)
    return outcome.summary, outcome.exit_code


# Shortest time between two lines that report how far it has come [s].
_EVERY_S = 2.0


@contextmanager
def bar_of(progress: Progress) -> Iterator[ProgressBar]:
    """Shows how many runs are done, as `progress` asks (`lines_to`); in a terminal a bar with the time left."""
    with lines_to(progress) as write, ProgressBar("runs", None if write is write_line else write, _EVERY_S) as bar:
        yield bar


class Sweep:
    """The runs of a sweep.

    Args:
        name: of the config.
        over: values by key.
        runs: all of them, with their configs.

    Attributes:
        over: values by key, as given.
        rows: of each run that is done: its number, its values, whether it is accepted and why not, the numbers of its
            summary.
    """

    def __init__(self, name: str, over: Mapping[str, list[Any]], runs: Sequence[SweepRun]) -> None:
        self._name, self.over, self._runs = name, over, runs
        self.rows: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self.rows)

    def resume(self, workers: int | None = None, progress: Progress = False) -> Sweep:
        """Make the runs that are not done yet, as `hil.sweep` does; this sweep, with the new rows."""
        rows = {row["number"]: row for row in self.rows}
        pending = [run for run in self._runs if run.number not in rows]
        if not pending:
            return self
        place = place_of(one_of_each_kind([run.config for run in pending]), workers)
        with bar_of(progress) as bar:

            def take(run: SweepRun, result: RunOfMany) -> None:
                rows[run.number] = sweep_row(run, result.summary)
                bar.done(len(rows), len(self._runs))

            jobs = ((run, Job(run.config.model_dump_json(), "summary")) for run in pending)
            try:
                run_jobs(partial(place, bar.text), jobs, take, lambda: False)
            except KeyboardInterrupt:
                write_line(f"hil.sweep interrupted: {len(rows)} of {len(self._runs)} runs are done; resume() goes on")
            finally:
                self.rows = [rows[number] for number in sorted(rows)]
        return self

    def to_dataframe(self) -> DataFrame:
        """A row for each run, index its number. Raises MissingPackageError: pandas is not installed."""
        return frame_of(self.rows, "number")

    def __repr__(self) -> str:
        return f"<Sweep of {self._name}: {self._in_words()}>"

    def _repr_html_(self) -> str:
        rows = [(key, ", ".join(map(str, values))) for key, values in self.over.items()]
        return html_table(f"sweep of {self._name}", [*rows, ("runs", self._in_words())])

    def _in_words(self) -> str:
        accepted, missing = sum(bool(row["accepted"]) for row in self.rows), len(self._runs) - len(self.rows)
        pending = f", {missing} not done" if missing else ""
        return f"{len(self.rows)} runs over {', '.join(self.over)}, {accepted} accepted{pending}"


def sweep(
    config: Config | str, over: Mapping[str, Iterable[Any]], workers: int | None = None, progress: Progress = False
) -> Sweep:
    """Run a config over the product of values of its keys, the last key changing first; only summaries are kept.

    Ctrl-C, or the notebook's interrupt, ends it with the runs that are done; `resume` of the sweep makes the others.

    Args:
        config: of a simulated rig, or the name or file of one (`hil.load`).
        over: values by dotted key: {"trial.angle_deg": range(40, 91, 5), "seed": [1, 2, 3]}.
        workers: processes that make runs; None: one for each processor. Against the wall clock (`clock: realtime`) one
            run is made after the other, in this process.
        progress: see `hil.run`; in a terminal also a bar with the time left.

    Raises:
        ConfigError: the problems of all runs, each once: nothing has run then.
        WorkersError: the processes are killed again and again.

    Example:
        >>> import hil
        >>> config = hil.load("sim_impact", {"experiment": "jog", "jog.seconds": 0.3})
        >>> runs = hil.sweep(config, {"jog.speed_mps": [0.01, 0.02]}, workers=1)
        >>> runs, [row["accepted"] for row in runs.rows]
        (<Sweep of sim_impact: 2 runs over jog.speed_mps, 2 accepted>, [True, True])
    """
    config = load_config(config) if isinstance(config, str) else config
    values, runs = _expanded(config, over)
    return Sweep(config.name, values, runs).resume(workers, progress)


def place_of(
    kinds: Sequence[Rig], workers: int | None
) -> Callable[[Callable[[str], None]], AbstractContextManager[Workers]]:
    """What opens the processes for runs of such rigs, given what takes lines about it.

    Raises ConfigError: runs against the wall clock are made one after the other.
    """
    config = kinds[0].config
    if config.clock != "lockstep" and (workers or 1) > 1:
        raise ConfigError(config.name, [Problem("workers", str(workers), "1, or clock: lockstep")], "sweep of config")
    count = 1 if config.clock != "lockstep" else workers or len(os.sched_getaffinity(0))
    return partial(this_process, kinds) if count == 1 else partial(process_pool, count, kinds)


def _expanded(config: Config, over: Mapping[str, Iterable[Any]]) -> tuple[dict[str, list[Any]], list[SweepRun]]:
    """Values by key, and the runs. Raises ConfigError."""
    values: dict[str, list[Any]] = {}
    problems = [] if over else [Problem("over", "no key", "a mapping: {'trial.angle_deg': range(40, 91, 5)}")]
    for key, given in over.items():
        try:
            if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
                raise TypeError(f"{given!r}")
            values[key] = [plain_value(value) for value in given]
        except TypeError as error:
            problems.append(Problem(str(key), str(error), "a list or range of values"))
            continue
        if not values[key]:
            problems.append(Problem(str(key), "no values", "a list or range of values"))
    if problems:
        raise ConfigError(config.name, problems, "sweep of config")
    return values, expand(config, values, config.replace, config.name, "over")
