"""`hil.sweep`: runs over the product of values of any keys of a config."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from hil.api.result import frame_of, html_table
from hil.api.running import Progress, lines_to
from hil.campaign.sweep import SweepRun, expand, sweep_row
from hil.campaign.trial import Job
from hil.campaign.trial import TrialResult as RunOfMany
from hil.campaign.workers import process_pool, run_jobs, this_process
from hil.config import Config, ConfigError, Problem, load_config
from hil.config.kernel_kinds import one_of_each_kind
from hil.config.overrides import plain_value

if TYPE_CHECKING:
    from pandas import DataFrame

# Shortest time between two lines that report how far it has come [s].
_EVERY_S = 2.0


class Sweep:
    """The runs of a sweep.

    Args:
        name: of the config.
        over: values by key.
        rows: of the runs.

    Attributes:
        over: values by key, as given.
        rows: of each run: its number, its values, whether it is accepted and why not, the numbers of its summary.
    """

    def __init__(self, name: str, over: Mapping[str, list[Any]], rows: list[dict[str, Any]]) -> None:
        self._name, self.over, self.rows = name, over, rows

    def __len__(self) -> int:
        return len(self.rows)

    def to_dataframe(self) -> DataFrame:
        """A row for each run, index its number. Raises MissingPackageError: pandas is not installed."""
        return frame_of(self.rows, "number")

    def __repr__(self) -> str:
        return f"<Sweep of {self._name}: {self._in_words()}>"

    def _repr_html_(self) -> str:
        rows = [(key, ", ".join(map(str, values))) for key, values in self.over.items()]
        return html_table(f"sweep of {self._name}", [*rows, ("runs", self._in_words())])

    def _in_words(self) -> str:
        accepted = sum(bool(row["accepted"]) for row in self.rows)
        return f"{len(self.rows)} runs over {', '.join(self.over)}, {accepted} accepted"


def sweep(
    config: Config | str, over: Mapping[str, Iterable[Any]], workers: int | None = None, progress: Progress = False
) -> Sweep:
    """Run a config over the product of values of its keys, the last key changing first; only summaries are kept.

    Args:
        config: of a simulated rig, or the name or file of one (`hil.load`).
        over: values by dotted key: {"trial.angle_deg": range(40, 91, 5), "seed": [1, 2, 3]}.
        workers: processes that make runs; None: one for each processor. Against the wall clock (`clock: realtime`) one
            run is made after the other, in this process.
        progress: see `hil.run`.

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
    if config.clock != "lockstep" and (workers or 1) > 1:
        raise ConfigError(config.name, [Problem("workers", str(workers), "1, or clock: lockstep")], "sweep of config")
    count = 1 if config.clock != "lockstep" else workers or len(os.sched_getaffinity(0))
    rows: dict[int, dict[str, Any]] = {}
    with lines_to(progress) as report:
        kinds, said = one_of_each_kind([run.config for run in runs]), time.monotonic()

        def take(run: SweepRun, result: RunOfMany) -> None:
            nonlocal said
            rows[run.number] = sweep_row(run, result.summary)
            if (now := time.monotonic()) - said >= _EVERY_S or len(rows) == len(runs):
                said = now
                report(f"{len(rows)} of {len(runs)} runs")

        jobs = ((run, Job(run.config.model_dump_json(), "summary")) for run in runs)
        place = partial(this_process, kinds, report) if count == 1 else partial(process_pool, count, kinds, report)
        run_jobs(place, jobs, take, lambda: False)
    return Sweep(config.name, values, [rows[number] for number in sorted(rows)])


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
