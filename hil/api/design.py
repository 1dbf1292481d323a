"""`hil.sensitivity` and `hil.optimise`: how results depend on keys of a config, and which values are the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hil.api.notebook import figures_as_pictures
from hil.api.result import frame_of
from hil.api.running import Progress, bar_of, place_of
from hil.campaign.evaluations import Study, StudyExecution
from hil.campaign.optimisation import optimisation_study, run_optimisation
from hil.campaign.sensitivity import draw_sensitivity, run_sensitivity, sensitivity_study
from hil.config import Config, load_config
from hil.config.rig import one_of_each_kind
from hil.experiments.figure_form import FigureForm

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


class DesignStudy:
    """What `hil.sensitivity` or `hil.optimise` found.

    Args:
        found: as sensitivity.json or optimum.json has it (docs/how-to/sensitivity-and-design.md).

    Attributes:
        found: the same.
        rows: of each result and key its sensitivity; or of each key its best value, and what is around it.
        best: the best values by key; None: there are none, or none were asked for.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found
        self.rows: list[dict[str, Any]] = found.get("sensitivities", found.get("around", []))
        self.best: dict[str, float] | None = found.get("best")

    def to_dataframe(self) -> DataFrame:
        """The rows, index the key. Raises MissingPackageError: pandas is not installed."""
        return frame_of(self.rows, "key")

    def plot(self) -> Figure:
        """The figure of a sensitivity. Raises ValueError: of an optimum there is none."""
        if "sensitivities" not in self.found:
            raise ValueError("an optimum has no figure; to_dataframe() has its numbers")
        figures_as_pictures()
        return draw_sensitivity(self.found, FigureForm())

    def __repr__(self) -> str:
        runs = f"{self.found['evaluations']} runs, {self.found['not_accepted']} not accepted"
        return f"<DesignStudy of {self.found['config']}: {runs}>"


def sensitivity(
    config: Config | str,
    of: Iterable[str] | Mapping[str, float | None],
    results: str | Sequence[str],
    *,
    share: float = 0.05,
    repeats: int = 5,
    workers: int | None = None,
    progress: Progress = False,
) -> DesignStudy:
    """Derivatives of results by keys of a config, by central differences, with their scatter over seeds.

    The command `hil sensitivity` can also be resumed, and has Sobol' indices over ranges.

    Args:
        config: of a simulated rig, or the name or file of one (`hil.load`).
        of: dotted keys; a mapping has the step of each, None: `share` of its value.
        results: name, or names, of numbers of the summary.
        share: see `of`.
        repeats: seeds that each run is made with, from that of the config on.
        workers: processes that make runs; see `hil.sweep`.
        progress: see `hil.run`.

    Raises:
        ConfigError: what cannot be done, all of it at once.
        WorkersError: the processes are killed again and again.

    Example:
        >>> import hil
        >>> config = hil.load("sim_impact", {"experiment": "jog", "jog.seconds": 0.3})
        >>> found = hil.sensitivity(config, ["jog.speed_mps"], "speed_reached_mps.front_left", workers=1)
        >>> found, round(found.rows[0]["elasticity"], 1)
        (<DesignStudy of sim_impact: 15 runs, 0 not accepted>, 1.0)
    """
    base = load_config(config) if isinstance(config, str) else config
    steps = of if isinstance(of, Mapping) else dict.fromkeys([of] if isinstance(of, str) else of)
    study = sensitivity_study(
        base, [results] if isinstance(results, str) else results, steps, {}, share=share, repeats=repeats
    )
    return _made(study, run_sensitivity, workers, progress)


def optimise(
    config: Config | str,
    over: Mapping[str, tuple[float, float]],
    *,
    least: str | None = None,
    most: str | None = None,
    where: str = "",
    evaluations: int = 200,
    repeats: int = 5,
    workers: int | None = None,
    progress: Progress = False,
) -> DesignStudy:
    """Search for the values of keys that make a result least, or most; a run that is not accepted does not count.

    The command `hil optimise` can also be resumed.

    Args:
        config: of a simulated rig, or the name or file of one (`hil.load`).
        over: smallest and largest value by dotted key.
        least: name of the number of the summary that is to be small, or else
        most: of the one that is to be large.
        where: condition that a run must fulfil, as `Runs.query` takes it: "peak_force_N < 300".
        evaluations: runs of the search, at most.
        repeats: seeds that the best is run with, from that of the config on.
        workers: processes that make runs; see `hil.sweep`.
        progress: see `hil.run`.

    Raises: as `sensitivity`, and FilterError: the condition cannot be evaluated.
    """
    base = load_config(config) if isinstance(config, str) else config
    ranges = {key: (low, high) for key, (low, high) in over.items()}
    study = optimisation_study(base, ranges, least, most, where=where, budget=evaluations, repeats=repeats)
    return _made(study, run_optimisation, workers, progress)


def _made(
    study: Study, run: Callable[[Study, StudyExecution], dict[str, Any]], workers: int | None, progress: Progress
) -> DesignStudy:
    place = place_of(one_of_each_kind(study.extremes()), workers)
    with TemporaryDirectory(prefix="hil-design-") as folder, bar_of(progress) as bar:
        return DesignStudy(run(study, StudyExecution(Path(folder), partial(place, bar.text), bar, lambda: False)))
