"""Figures of the series: drawbar.png, and slope.png."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from hil.campaign.traction.series import SlopeSearch
from hil.config import Config
from hil.experiments.drawing import FigureForm, save_figure

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
