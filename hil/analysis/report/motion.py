"""Measured motion in the report of a campaign: what became of each instrument, and how good the estimates were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from hil.analysis.report.drawing import legend_below, marker_of, new_figure, say_nothing
from hil.analysis.report.trials import Trial
from hil.experiments.drawing import COLOURS
from hil.messages.layout import INSTRUMENTS

ERRORS = {
    "speed_error_mps": ("speed", "mm/s", 1e3),
    "slip_error": ("slip", "%", 1e2),
    "load_error_N": ("load", "N", 1.0),
}
NEES = "nees"


class _MotionRow(NamedTuple):
    """A trial's instruments and estimates.

    Attributes:
        label: of the trial.
        errors: root mean square errors of speed, slip and load in the units of `ERRORS`; None: the truth is not known.
        nees: mean of the squared errors over their variances; about 1 if the standard deviations are right.
        sources: by role: readings used and rejected, mean innovation, and what became of it in words.
    """

    label: str
    errors: tuple[float | None, ...]
    nees: float | None
    sources: Mapping[str, Mapping[str, Any]]


def motion_rows(trials: Sequence[Trial]) -> list[_MotionRow]:
    """One a trial with instruments of motion."""
    rows = []
    for trial in trials:
        estimation = trial.summary.get("estimation")
        if not isinstance(estimation, Mapping):
            continue
        errors = tuple(_number(estimation.get(key), scale) for key, (_, _, scale) in ERRORS.items())
        sources = {role: _source(one) for role, one in (estimation.get("sources") or {}).items()}
        rows.append(_MotionRow(trial.label, errors, _number(estimation.get(NEES)), sources))
    return rows


def roles_of(rows: Sequence[_MotionRow]) -> list[str]:
    """The instruments that any of the trials has."""
    return [role for role in INSTRUMENTS if any(role in row.sources for row in rows)]


def _source(one: Mapping[str, Any]) -> dict[str, Any]:
    readings, used = one.get("readings") or 0, one.get("used") or 0
    ended = "left out" if one.get("left_out") else "stale" if one.get("stale") else "used"
    return {
        "used": 100.0 * used / readings if readings else None,
        "rejected": one.get("rejected"),
        "innovation": _number(one.get("innovation")),
        "ended": ended if readings else "no reading",
    }


def _number(value: Any, scale: float = 1.0) -> float | None:
    return scale * value if isinstance(value, int | float) and not isinstance(value, bool) else None


def motion_over_trials(rows: Sequence[_MotionRow]) -> Figure:
    """Errors of the estimates, and the mean innovation of each instrument, over the trials in their order."""
    figure = new_figure(2.9)
    left, right = figure.subplots(1, 2)
    at = np.arange(1, len(rows) + 1)
    style: dict[str, Any] = {"ms": 3.0, "lw": 0.8}
    for place, (name, unit, _) in enumerate(ERRORS.values()):
        values = _known([row.errors[place] for row in rows])
        if np.isfinite(values).any():
            label = f"{name} [{unit}]"
            left.plot(at, values, marker=marker_of(place), color=COLOURS[place], label=label, **style)
    if left.lines:
        left.set(yscale="log", xlabel="trial, in the order of the plan", ylabel="root mean square error")
    else:
        say_nothing(left, "the truth is not known")
    for place, role in enumerate(roles_of(rows)):
        values = _known([row.sources.get(role, {}).get("innovation") for row in rows])
        right.plot(at, values, marker=marker_of(place), color=COLOURS[place], label=f"{role}, innovation", **style)
    if right.lines:
        nees = _known([row.nees for row in rows])
        if np.isfinite(nees).any():
            right.plot(at, nees, marker=marker_of(4), color="black", label="errors over sd, squared", **style)
        right.axhline(1.0, color="#666666", lw=0.8)
        right.set(yscale="log", xlabel="trial, in the order of the plan", ylabel="mean; 1 if the sd are right")
    else:
        say_nothing(right, "no instrument of motion")
    handles = [*left.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
    if handles:
        legend_below(figure, *handles)
    return figure


def _known(values: Sequence[float | None]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
