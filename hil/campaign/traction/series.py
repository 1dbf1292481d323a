"""Series of traction runs, and their figures drawbar.png and slope.png."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hil.campaign.run import ProgressReporter
from hil.campaign.sweep import SweepRun
from hil.campaign.trial import Job, TrialResult
from hil.campaign.workers import Workers, run_jobs
from hil.config import Config, ConfigError, Problem, load_config
from hil.config.command_requirements import NO_RAILS, refuse_unfit
from hil.config.schema.traction import WeightConfig
from hil.experiments.drawing import COLOURS, curve_style, draw_limit, dress_panel, new_panels, share_legend
from hil.experiments.figure_form import FigureForm

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


# Of the modes of the loads; a payload has a line and an opening of the marker.
_COLOURS = dict(zip(("uniform", "rear_heavy", "front_heavy", "passive"), COLOURS, strict=True)) | {
    "max_traction": "#117733"
}
_LINES = ("-", "--", "-.", (0, (1, 1)))


def _style_of(mode: str, form: FigureForm) -> dict[str, Any]:
    return curve_style(form, list(_COLOURS).index(mode), color=_COLOURS[mode])


def draw_drawbar(curves: Sequence[Mapping[str, Any]], form: FigureForm) -> Figure:
    """Draw pull, and spread of the wheel loads, over slip: a colour for each mode, a line for each payload."""
    figure, (pull, spread) = new_panels(form, 2, 4.2)
    weights = list(dict.fromkeys(curve["weight"] for curve in curves))
    for curve in curves:
        place = weights.index(curve["weight"])
        style = _style_of(curve["mode"], form) | {"ls": _LINES[place % len(_LINES)]}
        bars: dict[str, Any] = {"capsize": 2.5, "elinewidth": 0.9}
        if curve.get("measured"):
            bars |= {"xerr": _halves(curve, "slip_u95"), "yerr": _halves(curve, "pull_u95_N")}
        pull.errorbar(curve["slip"], curve["pull_N"], **bars, **style)
        spread.plot(curve["slip"], curve["spread"], **style)
    for mode in dict.fromkeys(curve["mode"] for curve in curves):
        pull.plot([], [], label=mode.replace("_", " "), **_style_of(mode, form))
    for place, weight in enumerate(weights if any(weights) else ()):
        line: Any = _LINES[place % len(_LINES)]
        pull.plot([], [], color="black", ls=line, lw=form.line(1.6), label=f"payload {weight or 'none'}")
    measured = any(curve.get("measured") for curve in curves)
    title = "Drawbar pull, measured, with 95 % intervals" if measured else "Drawbar pull"
    dress_panel(pull, form, title, "[N]", "slip [-]")
    dress_panel(spread, form, "Spread of the wheel loads over their mean", "standard deviation [-]", "slip [-]")
    spread.set_ylim(bottom=0.0)
    share_legend(figure, form, pull)
    return figure


def draw_slopes(
    searches: Sequence[SlopeSearch], limit_deg: float | None, slip_limit: float, form: FigureForm
) -> Figure:
    """Draw the slip over the slopes tried, and the steepest slope climbed in each mode."""
    figure, (axes,) = new_panels(form, 1, 4.4)
    for search in searches:
        tried = sorted(
            (one for one in search.tried if one["slip"] is not None), key=lambda one: float(one["slope_deg"])
        )
        steepest = "none climbed" if search.low_deg is None else f"climbs {search.low_deg:.2f} degrees"
        style = _style_of(search.mode, form) | {"label": f"{search.mode.replace('_', ' ')}: {steepest}"}
        slopes, slips = ([one[key] for one in tried] for key in ("slope_deg", "slip"))
        halves = [one.get("slip_u95") or 0.0 for one in tried]
        axes.errorbar(slopes, slips, halves if any(halves) else None, capsize=2.5, elinewidth=0.9, **style)
    draw_limit(axes, form, slip_limit, f"limit: slip {slip_limit:g}")
    if limit_deg is not None:
        words = f"statics, even loads: {limit_deg:.2f} degrees"
        axes.axvline(limit_deg, color="black", lw=form.line(1.2), ls="--", label=words, zorder=1.5)
    axes.set_ylim(0.0, 1.1)
    dress_panel(axes, form, "Slip over the slope, with the steepest one climbed", "slip [-]", "slope [degrees]")
    share_legend(figure, form, axes)
    return figure


def _halves(curve: Mapping[str, Any], key: str) -> list[float]:
    """Half-widths of the intervals of a curve's points; 0 where one is not known."""
    return [0.0 if value is None else value for value in curve[key]]
