"""Force over the obstacle's angle (MacMahon 2016, figs. 5-8, 6-11), T_c, hit height (fig. 6-13), grouser offset.

The thesis names the offset as the greatest deviation of its trials from each other, and scaling by it as the cure
(6.2.7). It would scale by simulated plots; here the scale is fitted to the trials themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hil.analysis.report.drawing import (
    DROPPED,
    colour_of_angle,
    legend_below,
    marker_of,
    new_figure,
    plain,
    say_nothing,
)
from hil.analysis.report.groups import ENERGIES, FORCE, FORCES, WITH, Group
from hil.analysis.statistics import paired
from hil.config.schema.sensors import DaqConfig
from hil.experiments.drawing import ENERGY_COLOUR

_FORCE_LABEL = f"force, {FORCES[FORCE]} [N]"
_LAWS = {"sqrt": ("--", "$F = a\\,T_c^{1/2}$"), "power": ("-", "$F = a\\,T_c^{\\,b}$")}
_UP, _ACROSS = "load_point_m.1", "load_point_m.0"


def force_over_angle(groups: Sequence[Group]) -> Figure:
    """Force of each trial, its mean, mean absolute deviation and confidence interval, and T_c on the right axis.

    Grounds are there to be compared: all panels have one scale of forces, and one of T_c. A title says which T_c
    belongs to its ground.
    """
    columns = min(len(groups), 2)
    rows = -(-len(groups) // columns)
    figure = new_figure(2.6 * rows + 0.7)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes in grid.flat[len(groups) :]:
        axes.set_visible(False)
    means_J = (one.mean for group in groups for key in ENERGIES for one in group.over_angle(key).values())
    force_N, energy_J = _scale_N(groups), 1.1 * (max(means_J, default=0.0) or 1.0)
    handles = []
    for axes, group in zip(grid.flat, groups, strict=False):
        _forces(axes, group, force_N)
        right = axes.twinx()
        right.grid(visible=False)
        for key in ENERGIES:
            means = group.over_angle(key)
            style: dict[str, Any] = {"color": ENERGY_COLOUR, "lw": 1.2, "ms": 4, "mfc": "white"}
            style |= {"marker": "^", "ls": "-"} if key == WITH else {"marker": "v", "ls": "--"}
            right.plot([*means], [spread.mean for spread in means.values()], label=ENERGIES[key], **style)
        right.set_ylim(0.0, energy_J)
        right.set_ylabel("$T_c$ at onset [J]", color=ENERGY_COLOUR)
        belongs = f"its T_c: {ENERGIES[group.fitting].removeprefix('T_c ')}"
        axes.set_title(f"{group.label}; {belongs}", loc="left", parse_math=False, fontsize=8)
        handles += [*axes.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
    grid[0, 0].set_ylim(0.0, force_N)
    legend_below(figure, *handles, columns=3)
    return figure


def _scale_N(groups: Sequence[Group]) -> float:
    """Upper end of the scale of forces, by the trials that count; those that do not may be anything."""
    kept = [force for group in groups for (force,) in paired(group.kept, FORCE)]
    tops = [one.high for group in groups for one in group.over_angle(FORCE).values() if one.high is not None]
    highest = max(kept, default=1.0)
    return 1.1 * max(highest, min(max(tops, default=0.0), 1.3 * highest))  # of two trials an interval is boundless


def _forces(axes: Axes, group: Group, top_N: float) -> None:
    dropped = list(paired([trial.row for trial in group.trials if not trial.kept], "angle_deg", FORCE))
    if dropped:
        x, F = np.array(dropped).T
        axes.plot(x, F.clip(max=0.985 * top_N), label="dropped trial; beyond the scale: at its end", **DROPPED)
    kept = list(paired(group.kept, "angle_deg", FORCE))
    if not kept:
        say_nothing(axes, "no trial counts")
        return
    x, F = np.array(kept).T
    axes.plot(x, F, "o", ms=3, mfc="none", color="#555555", mew=0.7, label="kept trial")
    spread = group.over_angle(FORCE)
    at = np.array(list(spread))
    mean, deviation = (np.array([getattr(s, k) for s in spread.values()]) for k in ("mean", "mean_absolute_deviation"))
    style: dict[str, Any] = {"color": "black", "marker": "s", "ms": 4, "lw": 1.6, "capsize": 4, "elinewidth": 1.2}
    axes.errorbar(at, mean, deviation, label="mean, bars: mean absolute deviation", **style)
    known = [(angle, s.low, s.high) for angle, s in spread.items() if s.low is not None and s.high is not None]
    for angle, low, high in known:
        ends, label = [angle - 1.5, angle + 1.5], "95 % interval of the mean (t)"
        axes.fill_between(ends, low, high, color="#777777", alpha=0.3, lw=0, label=label, zorder=1)
    axes.set(xlabel="obstacle angle [deg]", ylabel=_FORCE_LABEL, xticks=at)


def force_over_energy(groups: Sequence[Group]) -> list[Figure]:
    """Of each group, force over both T_c with the fitted laws, and their residuals below; the fitting T_c first.

    All figures have one scale of forces, of T_c, and of residuals.
    """
    points = [row for group in groups for key in ENERGIES for row in paired(group.kept, "angle_deg", key, FORCE)]
    figures = [_energy_figure(group) for group in groups]
    if points:
        _, T, F = np.array(points).T
        left = [law.residuals_N for group in groups for key in ENERGIES for law in group.trend(key).laws[-1:]]
        largest = 1.1 * max(float(np.abs(np.concatenate(left)).max()), 1e-9) if left else 1.0
        for figure in figures:
            above, below = figure.axes[:2], figure.axes[2:]
            for axes in above:
                axes.set(xlim=(0.95 * T.min(), 1.05 * T.max()), ylim=(0.0, 1.05 * F.max()))
            for axes in below:
                axes.set_ylim(-largest, largest)
    return figures


def _energy_figure(group: Group) -> Figure:
    figure = new_figure(3.7)
    figure.suptitle(group.label, fontsize=9, x=0.01, ha="left", parse_math=False)
    grid = figure.subplots(2, 2, sharex="col", sharey="row", height_ratios=(2, 1))
    for column, key in enumerate((group.fitting, group.other)):
        _force_and_law(grid[0, column], grid[1, column], group, key)
    grid[0, 0].set_ylabel(_FORCE_LABEL.replace(", ", ",\n"))
    grid[1, 0].set_ylabel("residual\n[N]")
    legend_below(figure, *grid[1, 0].get_legend_handles_labels()[0], columns=10)
    return figure


def _force_and_law(axes: Axes, below: Axes, group: Group, key: str) -> None:
    rows = list(paired(group.kept, "angle_deg", key, FORCE))
    words = ENERGIES[key].replace("T_c", "$T_c$") + (", belongs here" if key == group.fitting else "")
    below.set_xlabel("$T_c$ at onset [J]")
    if not rows:
        axes.set_title(words, fontsize=8)
        say_nothing(axes, "no trial counts")
        return
    angle, T, F = np.array(rows).T
    laws = group.trend(key).laws
    axes.set_title(words, fontsize=8, pad=4 + 12 * len(laws))
    reach = np.linspace(T.min(), T.max(), 60)
    for law in laws:
        style, text = _LAWS[law.law]
        exponent = "" if law.law == "sqrt" else f", b = {law.b:.2f}"
        label = f"{text}: a = {law.a:.4g}{exponent}, rms {law.rms_N:.1f} N"
        axes.plot(reach, law.force_N(reach), style, color="black", lw=1.1, label=label)
    below.axhline(0.0, color="black", lw=0.8)
    for i, one in enumerate(sorted(set(angle))):
        at = angle == one
        style_of: dict[str, Any] = {"marker": marker_of(i), "color": colour_of_angle(one), "ls": "none", "ms": 4}
        axes.plot(T[at], F[at], mfc="none", **style_of)
        if laws:
            below.plot(T[at], np.array(laws[-1].residuals_N)[at], label=f"{one:g}°", mfc="none", **style_of)
    if laws:
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.1)


def force_over_hit_height(groups: Sequence[Group], triangle: DaqConfig | None) -> list[Figure]:
    """Force over the height of the load point above the contact point of a smooth wheel, C of fig. 5-4, if any."""
    figure = new_figure(3.1)
    left, right = figure.subplots(1, 2)
    up = centroid_m(triangle)[1]
    for place, group in enumerate(groups):
        means = {angle: one.mean for angle, one in group.over_angle(FORCE).items()}
        rows = list(paired(group.kept, "angle_deg", _UP, FORCE))
        for angle in sorted({row[0] for row in rows}):
            height, F = np.array([(1e3 * (row[1] + up), row[2]) for row in rows if row[0] == angle]).T
            style: dict[str, Any] = {"marker": marker_of(place), "color": colour_of_angle(angle), "ls": "none", "ms": 4}
            left.plot(height, F, mfc="none", **style)
            right.plot(height, F / means[angle], mfc="none", **style)
    if not left.lines:
        return []
    where = "above" if triangle else "above the triangle's centroid, not"
    for axes in (left, right):
        axes.axvline(0.0, color="#666666", lw=0.8, ls="--")
        axes.set_xlabel(f"load point {where} C of a smooth wheel [mm]")
    left.set_ylabel(_FORCE_LABEL)
    right.set_ylabel("force over the mean of its angle")
    legend_below(figure, *groups_and_angles(groups), columns=8)
    return [figure]


def groups_and_angles(groups: Sequence[Group]) -> list[Line2D]:
    """What markers and colours mean where both are used: a marker is a group, a colour an angle."""
    angles = {angle for group in groups for (angle,) in paired([trial.row for trial in group.trials], "angle_deg")}
    style: dict[str, Any] = {"ls": "none", "ms": 4, "mfc": "none"}
    return [
        *(Line2D([], [], marker=marker_of(place), color="black", label=plain(group.label), **style)
          for place, group in enumerate(groups)),
        *(Line2D([], [], marker="|", mew=3, color=colour_of_angle(angle), label=f"{angle:g}°", ls="none", ms=7)
          for angle in sorted(angles)),
    ]  # fmt: skip


def centroid_m(triangle: DaqConfig | None) -> tuple[float, float]:
    """Where the triangle's centroid lies on the plate, (across, up) from C [m]; load points are counted from it."""
    if triangle is None:
        return 0.0, 0.0
    across, up = np.array(triangle.places_m).mean(axis=0)
    return float(across), float(up)


# As many trials more than numbers to fit: means of the angles, and two of the offset.
LEAST_FREEDOM = 4
_LINES = ("-", "--", ":", "-.")  # of groups


class _NormalisedPeaks(NamedTuple):
    """Peaks of a group's kept trials, scaled to the mean over all offsets.

    Of a trial with force F at offset alpha, F over the mean of its angle is taken to be s = 1 + cosine cos(x) + sine
    sin(x), x = 2 pi alpha/pitch; the normalised peak is F/s.
    """

    # of each trial: number, angle [deg], offset [deg], force [N], force over the mean of its angle, normalised force
    # [N].
    rows: tuple[tuple[float, ...], ...]
    cosine: float  # fitted, relative
    sine: float  # likewise
    deviation: float  # mean absolute deviation of the forces from the mean of their angle, relative
    left: float  # the same of the normalised forces
    freedom: int  # trials less fitted numbers


def normalised(rows: Sequence[Mapping[str, Any]]) -> _NormalisedPeaks | None:
    """Scale the rows of trials that count; None: no grousers, or too few trials to tell their offset's effect."""
    keys = ("number", "angle_deg", "grouser_offset_deg", "grouser_pitch_deg", FORCE)
    pairs = np.array(list(paired(rows, *keys)))
    if not len(pairs):
        return None
    number, angle, offset, pitch, force = pairs.T
    angles = np.unique(angle)
    freedom = len(pairs) - len(angles) - 2
    if freedom < LEAST_FREEDOM:
        return None
    phase = 2.0 * np.pi * offset / pitch
    wave = np.column_stack([np.cos(phase), np.sin(phase)])
    # the offsets of an angle's trials are no fair sample, so its mean is fitted together with the effect
    mean = {one: force[angle == one].mean() for one in angles}
    ratio = force / np.array([mean[one] for one in angle])
    design = np.column_stack([angle[:, None] == angles, wave])
    (*_, cosine, sine), *_ = np.linalg.lstsq(design, ratio, rcond=None)
    scaled = force / (1.0 + wave @ np.array([cosine, sine]))
    means = np.array([scaled[angle == one].mean() for one in angle])
    return _NormalisedPeaks(
        tuple(zip(*(column.tolist() for column in (number, angle, offset, force, ratio, scaled)), strict=True)),
        float(cosine),
        float(sine),
        float(np.abs(ratio - 1.0).mean()),
        float(np.abs(scaled / means - 1.0).mean()),
        freedom,
    )


def force_over_offset(groups: Sequence[Group]) -> list[Figure]:
    """Force over the mean of its angle, over the offset, with the fitted scale; normalised force over the angle.

    None where there are no grousers, or too few trials.
    """
    figure = new_figure(3.1)
    left, right = figure.subplots(1, 2)
    place, handles = 0, []
    for group in groups:
        fit = normalised(group.kept)
        if fit is None:
            continue
        _, angle, offset, force, ratio, scaled = np.array(fit.rows).T
        line = _LINES[place % len(_LINES)]
        style: dict[str, Any] = {"marker": marker_of(place), "color": "black", "ls": "none", "ms": 3.5, "mew": 0.8}
        (drawn,) = left.plot(offset, ratio, mfc="none", label=plain(group.label), **style)
        pitch = float(group.kept[0]["grouser_pitch_deg"])
        reach = np.linspace(-0.5 * pitch, 0.5 * pitch, 90)
        phase = 2.0 * np.pi * reach / pitch
        effect = fit.cosine * np.cos(phase) + fit.sine * np.sin(phase)
        fitted: dict[str, Any] = {"color": "black", "ls": line, "lw": 1.1}
        left.plot(reach, 1.0 + effect, **fitted)
        handles += [drawn, Line2D([], [], label=plain(f"effect, {group.label}"), **fitted)]
        offset_deg = 1.2 * (place - 0.5 * (len(groups) - 1))
        right.plot(angle + offset_deg - 0.4, force, mfc="none", **style)
        right.plot(angle + offset_deg + 0.4, scaled, **style)
        place += 1
    if not place:
        return []
    left.set(xlabel="grouser offset at the impact [deg]", ylabel="force over the mean of its angle")
    right.set(xlabel="obstacle angle [deg], open: measured, full: normalised", ylabel=f"{FORCES[FORCE]} [N]")
    right.set_ylim(bottom=0.0)
    legend_below(figure, *handles)
    return [figure]
