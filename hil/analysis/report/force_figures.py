"""Force over the obstacle's angle (MacMahon 2016, figs. 5-8 and 6-11), over T_c, and over hit height (fig. 6-13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hil.analysis.report.drawing import DROPPED, MARKERS, marker_of, new_figure, plain, say_nothing
from hil.analysis.report.groups import ENERGIES, FORCE, FORCES, Group
from hil.analysis.statistics import Fit, paired
from hil.config.schema.sensors import DaqConfig
from hil.experiments.drawing import COLOURS

_FORCE_LABEL = f"force, {FORCES[FORCE]} [N]"
_LAWS = {"sqrt": ("--", "$F = a\\,T_c^{1/2}$"), "power": ("-", "$F = a\\,T_c^{\\,b}$")}
_UP, _ACROSS = "load_point_m.1", "load_point_m.0"


def force_over_angle(groups: Sequence[Group]) -> Figure:
    """Force of each trial, its mean, mean absolute deviation and confidence interval, and T_c on the right axis."""
    columns = min(len(groups), 2)
    rows = -(-len(groups) // columns)
    figure = new_figure(3.3 * rows + 0.4)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True)
    for axes in grid.flat[len(groups) :]:
        axes.set_visible(False)
    for axes, group in zip(grid.flat, groups, strict=False):
        _forces(axes, group)
        right = axes.twinx()
        right.grid(visible=False)
        for key, style in ((group.fitting, "^-"), (group.other, "v:")):
            means = group.over_angle(key)
            label = f"{ENERGIES[key].replace('T_c', '$T_c$')}{' (belongs here)' if key == group.fitting else ''}"
            right.plot(
                list(means),
                [spread.mean for spread in means.values()],
                style,
                color=COLOURS[1],
                mfc="white",
                ms=4,
                lw=1.0,
                label=label,
            )
        right.set_ylim(bottom=0.0)
        right.set_ylabel("$T_c$ at onset [J]", color=COLOURS[1])
        axes.set_title(group.label, loc="left", parse_math=False)
        handles = [*axes.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
        axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=1 if columns > 1 else 2)
    return figure


def _forces(axes: Axes, group: Group) -> None:
    angles = list(paired([trial.row for trial in group.trials if not trial.kept], "angle_deg", FORCE))
    if angles:
        axes.plot(*np.array(angles).T, label=f"dropped trial ({len(angles)})", **DROPPED)
    kept = list(paired(group.kept, "angle_deg", FORCE))
    if not kept:
        say_nothing(axes, "no trial counts")
        return
    x, F = np.array(kept).T
    axes.plot(x, F, "o", ms=3, mfc="none", color="#555555", mew=0.7, label=f"kept trial ({len(kept)})")
    spread = group.over_angle(FORCE)
    at = np.array(list(spread))
    mean, deviation = (np.array([getattr(s, k) for s in spread.values()]) for k in ("mean", "mean_absolute_deviation"))
    style: dict[str, Any] = {"color": COLOURS[0], "marker": "s", "ms": 5, "lw": 2.0, "capsize": 4, "elinewidth": 1.6}
    axes.errorbar(at, mean, deviation, label="mean, bars: mean absolute deviation", **style)
    known = [(angle, s.low, s.high) for angle, s in spread.items() if s.low is not None and s.high is not None]
    for i, (angle, low, high) in enumerate(known):
        label = "95 % interval of the mean (t)" if i == 0 else None
        axes.fill_between(
            [angle - 1.5, angle + 1.5], low, high, color=COLOURS[0], alpha=0.22, lw=0, label=label, zorder=1
        )
    axes.set(xlabel="obstacle angle [deg]", ylabel=_FORCE_LABEL, xticks=at)
    axes.set_ylim(bottom=0.0)


def force_over_energy(group: Group) -> Figure:
    """Force over both T_c with the fitted laws, and their residuals below; the T_c that belongs to the ground first."""
    figure = new_figure(3.9)
    figure.suptitle(group.label, fontsize=9, x=0.01, ha="left", parse_math=False)
    grid = figure.subplots(2, 2, sharex="col", sharey="row", height_ratios=(2, 1))
    for column, key in enumerate((group.fitting, group.other)):
        _force_and_law(grid[0, column], grid[1, column], group, key)
    grid[0, 0].set_ylabel(_FORCE_LABEL)
    grid[1, 0].set_ylabel("residual [N]")
    handles, labels = grid[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=10)
    return figure


def _force_and_law(axes: Axes, below: Axes, group: Group, key: str) -> None:
    rows = list(paired(group.kept, "angle_deg", key, FORCE))
    words = ENERGIES[key].replace("T_c", "$T_c$") + (", belongs here" if key == group.fitting else "")
    axes.set_title(words, fontsize=8)
    below.set_xlabel("$T_c$ at onset [J]")
    if not rows:
        say_nothing(axes, "no trial counts")
        return
    angle, T, F = np.array(rows).T
    laws = group.trend(key).laws
    reach = np.linspace(T.min(), T.max(), 60)
    for law in laws:
        style, text = _LAWS[law.law]
        axes.plot(reach, law.force_N(reach), style, color="black", lw=1.1, label=f"{text}{_numbers(law)}")
    below.axhline(0.0, color="black", lw=0.8)
    for i, one in enumerate(sorted(set(angle))):
        at = angle == one
        style_of = marker_of(i) | {"ls": "none", "ms": 4, "mfc": "none"}
        axes.plot(T[at], F[at], **style_of)
        if laws:
            below.plot(T[at], np.array(laws[-1].residuals_N)[at], label=f"{one:g}°", **style_of)
    below.margins(y=0.15)
    axes.legend(loc="best", frameon=True, edgecolor="none", framealpha=0.85)


def _numbers(law: Fit) -> str:
    exponent = "" if law.law == "sqrt" else f", b = {law.b:.2f}"
    return f": a = {law.a:.4g}{exponent}, rms {law.rms_N:.1f} N"


def force_over_hit_height(groups: Sequence[Group], triangle: DaqConfig | None) -> Figure:
    """Force over the height of the load point above the contact point of a smooth wheel, C of fig. 5-4."""
    figure = new_figure(3.1)
    left, right = figure.subplots(1, 2)
    up = centroid_m(triangle)[1]
    place = 0
    for group in groups:
        means = {angle: one.mean for angle, one in group.over_angle(FORCE).items()}
        rows = list(paired(group.kept, "angle_deg", _UP, FORCE))
        for angle in sorted({row[0] for row in rows}):
            height, F = np.array([(1e3 * (row[1] + up), row[2]) for row in rows if row[0] == angle]).T
            several = plain(f"{group.label}, ") if len(groups) > 1 else ""
            style = marker_of(place) | {"ls": "none", "ms": 4}
            style |= {"mfc": "none" if (place // len(MARKERS)) % 2 == 0 else style["color"]}
            left.plot(height, F, label=f"{several}{angle:g}°", **style)
            right.plot(height, F / means[angle], **style)
            place += 1
    if not place:
        say_nothing(left, "no load points: the rig has no sensing triangle, or no trial counts")
        right.set_visible(False)
        return figure
    where = "above" if triangle else "above the triangle's centroid, not"
    for axes in (left, right):
        axes.axvline(0.0, color="#666666", lw=0.8, ls="--")
        axes.set_xlabel(f"load point {where} C of a smooth wheel [mm]")
    left.set_ylabel(_FORCE_LABEL)
    right.set_ylabel("force over the mean of its angle")
    figure.legend(loc="outside lower center", ncols=4 if len(groups) > 1 else 6)
    return figure


def centroid_m(triangle: DaqConfig | None) -> tuple[float, float]:
    """Where the triangle's centroid lies on the plate, (across, up) from C [m]; load points are counted from it."""
    if triangle is None:
        return 0.0, 0.0
    across, up = np.array(triangle.places_m).mean(axis=0)
    return float(across), float(up)
