"""Peaks over the grousers' offset at the impact, and without it: trials scaled to one offset (MacMahon 2016, 6.2.7).

The thesis names the offset as the greatest deviation of its trials from each other, and scaling by it as the cure. It
would scale by simulated plots; here the scale is fitted to the trials themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hil.analysis.report.drawing import legend_below, marker_of, new_figure, plain, say_nothing
from hil.analysis.report.groups import FORCE, FORCES, Group
from hil.analysis.statistics import paired

# As many trials more than numbers to fit: means of the angles, and two of the offset.
LEAST_FREEDOM = 4
_LINES = ("-", "--", ":", "-.")  # of groups


class _Normalised(NamedTuple):
    """Peaks of a group's kept trials, scaled to the mean over all offsets.

    Of a trial with force F at offset alpha, F over the mean of its angle is taken to be s = 1 + cosine cos(x) + sine
    sin(x), x = 2 pi alpha/pitch; the normalised peak is F/s.

    Attributes:
        rows: of each trial: number, angle [deg], offset [deg], force [N], force over the mean of its angle, normalised
            force [N].
        cosine: fitted, relative.
        sine: likewise.
        deviation: mean absolute deviation of the forces from the mean of their angle, relative.
        left: the same of the normalised forces.
        freedom: trials less fitted numbers.
    """

    rows: tuple[tuple[float, ...], ...]
    cosine: float
    sine: float
    deviation: float
    left: float
    freedom: int


def normalised(rows: Sequence[Mapping[str, Any]]) -> _Normalised | None:
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
    return _Normalised(
        tuple(zip(*(column.tolist() for column in (number, angle, offset, force, ratio, scaled)), strict=True)),
        float(cosine),
        float(sine),
        float(np.abs(ratio - 1.0).mean()),
        float(np.abs(scaled / means - 1.0).mean()),
        freedom,
    )


def force_over_offset(groups: Sequence[Group]) -> Figure:
    """Force over the mean of its angle, over the offset, with the fitted scale; normalised force over the angle."""
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
        beside = 1.2 * (place - 0.5 * (len(groups) - 1))
        right.plot(angle + beside - 0.4, force, mfc="none", **style)
        right.plot(angle + beside + 0.4, scaled, **style)
        place += 1
    if not place:
        say_nothing(left, "no grousers, or too few trials")
        right.set_visible(False)
        return figure
    left.set(xlabel="grouser offset at the impact [deg]", ylabel="force over the mean of its angle")
    right.set(xlabel="obstacle angle [deg], open: measured, full: normalised", ylabel=f"{FORCES[FORCE]} [N]")
    right.set_ylim(bottom=0.0)
    legend_below(figure, *handles)
    return figure
