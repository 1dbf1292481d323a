"""Series of traction runs, and their figures drawbar.png and slope.png."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from hil.campaign.run import ProgressReporter
from hil.campaign.sweep import SweepRun
from hil.campaign.trial import Job, TrialResult
from hil.campaign.workers import Workers, run_jobs
from hil.config import Config, ConfigError, Problem, load_config
from hil.config.command_requirements import NO_RAILS, refuse_unfit
from hil.config.schema.traction import WeightConfig
from hil.experiments.drawing import save_figure
from hil.experiments.figure_form import FigureForm


def expand_drawbar(source: str, overrides: Sequence[str], seed: int | None) -> list[SweepRun]:
    """The runs of a series: section `drawbar` of the config, its lists `modes`, `weights` and `slips`.

    Args:
        source: of the config, as `load_config` takes it.
        overrides: of the config.
        seed: replaces that of the config; all runs have the same.

    Raises:
        ConfigError: the problems of all runs, each once.
    """
    base = load_config(source, [*overrides, "experiment=drawbar"], seed)
    weights: Sequence[WeightConfig | None] = base.drawbar.weights or (None,)
    points = [(mode, one, slip) for mode in base.drawbar.modes for one in weights for slip in base.drawbar.slips]
    runs, problems = list[SweepRun](), list[Problem]()
    for number, (mode, weight, slip) in enumerate(points, 1):
        values = {"drawbar.mode": mode, "drawbar.slip": slip}
        changes = [f"{key}={json.dumps(value)}" for key, value in (values | _payload(weight)).items()]
        try:
            config = load_config(source, [*overrides, "experiment=drawbar", *changes], seed)
        except ConfigError as error:
            problems += error.problems
            continue
        runs.append(SweepRun(number, {"mode": mode, "weight": weight.name if weight else "", "at_slip": slip}, config))
    if problems:
        raise ConfigError(source, list(dict.fromkeys(problems)), "drawbar series of config")
    return runs


def curves(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Pull over slip, a curve for each load distribution and payload, in the order of the rows.

    Returns:
        By curve: `mode`, `weight`, and lists of its accepted points `slip`, `pull_N`, `spread`; `left_out` counts the
        others. Where the rig measures its motion, `slip_u95` and `pull_u95_N` as well, `measured`, and `true_slip` and
        `true_pull_N` of a simulated rig.
    """
    by_place: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        mode, weight = str(row["mode"]), str(row["weight"])
        empty = {"mode": mode, "weight": weight, "slip": [], "pull_N": [], "spread": [], "left_out": 0}
        curve = by_place.setdefault((mode, weight), empty)
        if not row["accepted"] or row["pull_N"] is None:
            curve["left_out"] += 1
            continue
        for key in ("slip", "pull_N", "spread"):
            curve[key].append(row[key])
        if row.get("measured") is not None:
            curve["measured"] = True  # a point that is not is left out
            for key in ("slip_u95", "pull_u95_N", "true_slip", "true_pull_N"):
                curve.setdefault(key, []).append(row.get(key))
    return list(by_place.values())


def _payload(weight: WeightConfig | None) -> dict[str, Any]:
    """Keys of the config that place a weight."""
    if weight is None:
        return {}
    return {f"rover.payload.{key}": getattr(weight, key) for key in ("mass_kg", "x_m", "y_m", "z_m")}


@dataclass
class SlopeSearch:
    """The search for one load distribution. A rover that climbs a slope is taken to climb every gentler one."""

    mode: str  #: of the loads
    low_deg: float | None = None  #: steepest slope that it has climbed; None: none yet
    high_deg: float | None = None  #: gentlest that it has not; None: none yet
    #: slope [deg], slip, whether it was climbed, whether the run was accepted, and why not. A run that was not accepted
    #: counts as not climbed
    tried: list[dict[str, Any]] = field(default_factory=list)

    def next_deg(self, from_deg: float, to_deg: float, resolution_deg: float) -> float | None:
        """The slope to try next; None: it is known."""
        if self.low_deg is None:
            return from_deg if self.high_deg is None else None
        if self.high_deg is None:
            return to_deg if self.low_deg < to_deg else None
        return 0.5 * (self.low_deg + self.high_deg) if self.high_deg - self.low_deg > resolution_deg else None

    def take(self, slope_deg: float, summary: dict[str, Any]) -> None:
        """Take the summary of a run on a slope."""
        climbed = bool(summary["accepted"] and summary["climbed"])
        reasons = "; ".join(map(str, summary.get("reasons") or ()))
        kept = {key: summary.get(key) for key in ("accepted", "slip", "speed_mps", "spread")}
        if summary.get("measured") is not None:
            kept |= {key: summary.get(key) for key in ("measured", "slip_u95", "speed_u95_mps", "true_slip")}
        self.tried.append({"slope_deg": slope_deg, "climbed": climbed, **kept, "reasons": reasons})
        if climbed:
            self.low_deg = slope_deg
        else:
            self.high_deg = slope_deg


def expand_slope(source: str, overrides: Sequence[str], seed: int | None) -> Config:
    """The config of a series, every mode of it checked. Raises ConfigError: with all problems."""
    base = load_config(source, [*overrides, "experiment=slope"], seed)
    refuse_unfit(base, "slope series", NO_RAILS)
    for mode in base.slope.modes:
        load_config(source, [*overrides, "experiment=slope", f"slope.mode={json.dumps(mode)}"], seed)
    return base


def on_slope(base: Config, mode: str, slope_deg: float) -> Config:
    """The config of one run. Raises ConfigError: it is not allowed there, for its loads at rest as an example."""
    return base.replace({"ground.pitch_deg": slope_deg, "slope.mode": mode})


def kinds_of(base: Config) -> list[Config]:
    """Configs that between them need every kernel of the series."""
    kinds = [base]
    for mode in base.slope.modes:
        for slope_deg in (base.slope.from_deg, base.slope.to_deg):
            with suppress(ConfigError):  # such a run is not made
                kinds.append(on_slope(base, mode, slope_deg))
    return kinds


def run_slopes(
    base: Config,
    workers: Callable[[], AbstractContextManager[Workers]],
    report: ProgressReporter,
    stopped: Callable[[], bool],
) -> list[SlopeSearch]:
    """Search for the steepest slope of each mode of `slope.modes`. Raises WorkersError: they cannot run."""
    searches = [SlopeSearch(mode) for mode in base.slope.modes]
    section = base.slope

    def next_run(search: SlopeSearch) -> tuple[tuple[SlopeSearch, float], Job] | None:
        while (slope_deg := search.next_deg(section.from_deg, section.to_deg, section.resolution_deg)) is not None:
            try:
                config = on_slope(base, search.mode, slope_deg)
            except ConfigError as refused:
                take_summary(search, slope_deg, {"accepted": False, "reasons": list(map(str, refused.problems))})
                continue
            return (search, slope_deg), Job(config.model_dump_json(), "summary")
        return None

    def take_summary(search: SlopeSearch, slope_deg: float, summary: dict[str, Any]) -> None:
        search.take(slope_deg, summary)
        report.text(
            f"{search.mode}: {slope_deg:g} degrees {'climbed' if search.tried[-1]['climbed'] else 'not climbed'}"
        )

    def take(name: tuple[SlopeSearch, float], result: TrialResult) -> tuple[Any, Job] | None:
        search, slope_deg = name
        take_summary(search, slope_deg, result.summary)
        return next_run(search)

    run_jobs(workers, (job for search in searches if (job := next_run(search))), take, stopped)
    return searches


# One for each mode, told apart by the colour-blind.
_COLOURS = {
    "passive": "#666666",
    "uniform": "#004488",
    "front_heavy": "#ddaa33",
    "rear_heavy": "#bb5566",
    "max_traction": "#117733",
}
# Of payloads, or of modes where there is one figure for all.
_LINES, _MARKERS = ("-", "--", ":", "-."), ("o", "^", "s", "v", "D")


def draw_drawbar(curves: Sequence[Mapping[str, Any]], config: Config, path: Path) -> None:
    """Draw pull, and spread of the wheel loads, over slip."""
    figure = _figure((10.0, 8.0))
    pull, spread = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    weights = list(dict.fromkeys(curve["weight"] for curve in curves))
    for curve in curves:
        name = " ".join(text.replace("_", " ") for text in (curve["mode"], curve["weight"]) if text)
        place = weights.index(curve["weight"])
        line, marker = _LINES[place % len(_LINES)], _MARKERS[place % len(_MARKERS)]
        style: dict[str, Any] = {"color": _COLOURS[curve["mode"]], "marker": marker, "ms": 5.0, "lw": 1.6}
        style |= {"ls": line, "label": name}
        if curve.get("measured"):
            half = {"xerr": _halves(curve, "slip_u95"), "yerr": _halves(curve, "pull_u95_N")}
            pull.errorbar(curve["slip"], curve["pull_N"], **half, capsize=2.5, elinewidth=0.9, **style)
        else:
            pull.plot(curve["slip"], curve["pull_N"], **style)
        spread.plot(curve["slip"], curve["spread"], **style)
    measured = any(curve.get("measured") for curve in curves)
    _dress(pull, "Drawbar pull, measured, with 95 % intervals" if measured else "Drawbar pull", "[N]")
    _dress(spread, "Spread of the wheel loads (standard deviation over mean)", "[-]")
    spread.set_ylim(bottom=0.0)
    spread.set_xlabel("slip [-]")
    pull.legend(frameon=False, fontsize=8.5, ncols=max(len(weights), 1))
    _save(figure, path, f"{config.name}: drawbar pull over slip", config.seed, config.name, config.sha256())


def draw_slopes(searches: Sequence[SlopeSearch], limit_deg: float | None, config: Config, path: Path) -> None:
    """Draw the slip over the slopes tried, and the steepest slope climbed in each mode."""
    figure = _figure((10.0, 6.0))
    axes = figure.subplots()
    for search, marker in zip(searches, _MARKERS, strict=False):
        measured = sorted((trial["slope_deg"], trial["slip"]) for trial in search.tried if trial["slip"] is not None)
        steepest = "none" if search.low_deg is None else f"{search.low_deg:.2f} degrees"
        label = f"{search.mode.replace('_', ' ')}: {steepest}"
        slopes, slips = zip(*measured, strict=True) if measured else ((), ())
        axes.plot(slopes, slips, color=_COLOURS[search.mode], marker=marker, ms=5.0, lw=1.6, label=label)
        for trial in search.tried:
            if trial.get("slip_u95") is not None and trial["slip"] is not None:
                half = {"yerr": trial["slip_u95"], "ecolor": _COLOURS[search.mode], "capsize": 2.5, "fmt": "none"}
                axes.errorbar(trial["slope_deg"], trial["slip"], elinewidth=0.9, **half)
    axes.axhline(config.slope.slip_limit, color="black", lw=0.9, ls="--")
    axes.annotate("slip limit", (0.01, config.slope.slip_limit), xycoords=("axes fraction", "data"), va="bottom")
    if limit_deg is not None:
        axes.axvline(limit_deg, color="black", lw=0.9, ls=":", label=f"statics, even loads: {limit_deg:.2f} degrees")
    axes.set_ylim(0.0, 1.1)
    axes.legend(frameon=False, fontsize=9.0, loc="upper left", bbox_to_anchor=(0.02, 0.7))
    _dress(axes, "Slip over slope; the legend has the steepest slope climbed", "slip [-]")
    axes.set_xlabel("slope [degrees]")
    _save(figure, path, f"{config.name}: steepest slope", config.seed, config.name, config.sha256())


def _halves(curve: Mapping[str, Any], key: str) -> list[float]:
    """Half-widths of the intervals of a curve's points; 0 where one is not known."""
    return [0.0 if value is None else value for value in curve[key]]


def _figure(size_in: tuple[float, float]) -> Figure:
    figure = Figure(size_in, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _dress(axes: Axes, title: str, unit: str) -> None:
    axes.set_title(title, loc="left", fontsize=10.0)
    axes.set_ylabel(unit)
    axes.grid(visible=True, color="#e4e4e4", lw=0.7)


def _save(figure: Figure, path: Path, title: str, seed: int, name: str, digest: str) -> None:
    figure.suptitle(title, x=0.01, ha="left", fontsize=12.0)
    facts = {"seed": str(seed), "config": name, "config_sha256": digest}
    save_figure(figure, path, title, facts, FigureForm())
