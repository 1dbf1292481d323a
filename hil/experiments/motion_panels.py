"""Panels of measured motion: speed measured and estimated, with its band, and the innovation of each instrument."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.config import ConfigError, parse_config
from hil.experiments.drawing import COLOURS, draw_limit, plot_line
from hil.experiments.figure_form import FigureForm
from hil.messages.layout import Layout
from hil.messages.stages import SOURCE_STATES
from hil.recording import OpenRecord
from hil.signals.alignment import (
    Floats,
    Readings,
    independent_values,
    innovation_bound,
    new_readings,
    place_in_rig,
    speed_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Readings that a measured speed is the slope of, at least, and the time that they span at least [s].
_SLOPE_READINGS, _SLOPE_S = 11, 0.2
# Smaller innovations are drawn here: a logarithmic axis has no zero.
_LEAST = 0.01
_TITLES = {"motion": "outside", "imu": "inertial unit", "joints": "joints"}
_MEASURED, _LEFT_OUT = "#ee7733", ("rejected", "left_out", "stale")


class _MeasuredDrive(NamedTuple):
    """What the instrument outside the rover saw."""

    t_s: Floats  #: (n,) of each reading [s]
    ahead_m: Floats  #: (n,) place of the base along the rig's x [m]
    speed_mps: Floats  #: (n,) its change [m/s]


def instruments_of(record: OpenRecord) -> tuple[str, ...]:
    """Roles of the instruments of motion whose readings correct the twin in a record."""
    layout = record.meta.get("layout")
    return Layout.from_json(str(layout)).correcting if layout else ()


def measured_motion(record: OpenRecord, rows: NDArray[np.void]) -> _MeasuredDrive | None:
    """Way and speed ahead by the instrument outside the rover; None: there is none, or the config cannot be read."""
    if "motion" not in instruments_of(record):
        return None
    try:
        section = parse_config(str(record.meta.get("config", "")), "/meta/config").motion
    except ConfigError:
        return None
    if section is None:
        return None
    readings: Readings = new_readings(rows, "motion")
    ahead = place_in_rig(readings, section)[:, 0]
    span_s = max(_SLOPE_S, (_SLOPE_READINGS - 1) / section.rate_hz)
    return _MeasuredDrive(readings.t_s, ahead, speed_of(readings.t_s, ahead, span_s))


def speed_panel(axes: Axes, form: FigureForm, record: OpenRecord, origin_s: float = 0.0) -> None:
    """Forward speed, estimated with a band of two standard deviations, and measured.

    Args:
        axes: to draw on; title and unit are the caller's.
        form: of the figure.
        record: with instruments of motion.
        origin_s: time that is 0 in the figure [s].
    """
    rows = record.tick[:]
    t_s, speed, sd = rows["t_ns"] * 1e-9 - origin_s, 1e3 * rows["speed_mps"], 1e3 * rows["speed_sd_mps"].astype(float)
    if (measured := measured_motion(record, rows)) is not None:
        style: dict[str, Any] = {"color": _MEASURED, "label": "measured, outside", "zorder": 2}
        plot_line(axes, form, measured.t_s - origin_s, 1e3 * measured.speed_mps, lw=2.4, **style)
    step = max(len(t_s) // 700, 1)
    band = slice(None, None, step)
    if np.isfinite(sd).any():
        low, high = (speed - 2.0 * sd)[band], (speed + 2.0 * sd)[band]
        axes.fill_between(t_s[band], low, high, color=COLOURS[0], alpha=0.25, lw=0, label="estimated, 2 sd")
    plot_line(axes, form, t_s, speed, color=COLOURS[0], label="estimated", zorder=3)
    if np.isfinite(speed).any():  # a band that is wide at the start hides nothing of the speeds
        low, high = np.nanmin(speed), np.nanmax(speed)
        margin = 0.25 * max(high - low, 1.0)
        axes.set_ylim(low - margin, high + margin)


def soil_panel(axes: Axes, form: FigureForm, record: OpenRecord, summary: Mapping[str, Any]) -> None:
    """Each estimated parameter of the soil over that of the config, with its band; a cross is what a simulated rig has.

    Args: as `speed_panel`, and:
        summary: of the run.
    """
    layout = Layout.from_json(str(record.meta["layout"]))
    rows = record.tick[:: max(len(record.tick) // 700, 1)]
    t_s = rows["t_ns"] * 1e-9
    found = (summary.get("soil_estimate") or {}).get("parameters") or {}
    for place, name in enumerate(layout.soil_parameters):
        value, sd = (rows[key][:, place].astype(float) for key in ("soil_value", "soil_sd"))
        of_config = found.get(name, {}).get("config") or value[0]
        axes.fill_between(
            t_s, value * np.exp(-2.0 * sd) / of_config, value * np.exp(2.0 * sd) / of_config,
            color=COLOURS[place], alpha=0.15, lw=0,
        )  # fmt: skip
        words = name.replace("_", " ") + (", 2 sd" if place == 0 else "")
        plot_line(axes, form, t_s, value / of_config, color=COLOURS[place], label=words)
        if (true := found.get(name, {}).get("ground_truth")) is not None:
            words = "of the simulated rig" if place == 0 else ""
            style: dict[str, Any] = {"ls": "none", "marker": "x", "ms": form.line(7.0), "label": words}
            axes.plot(t_s[-1:], [true / of_config], color=COLOURS[place], **style)


def innovation_panel(axes: Axes, form: FigureForm, record: OpenRecord, origin_s: float = 0.0) -> None:
    """Innovation of each reading, over its degrees of freedom, with its bound; what was not used is marked.

    Args: as `speed_panel`.
    """
    layout = Layout.from_json(str(record.meta["layout"]))
    rows = record.tick[:]
    axes.set_yscale("log")
    for role in layout.correcting:
        place, readings = layout.instruments.index(role), new_readings(rows, role)
        innovation = rows["innovation"][readings.rows, place].astype(float)
        source = rows["source"][readings.rows, place]
        shown, colour = np.isfinite(innovation), COLOURS[place]
        bound = innovation_bound(independent_values(layout, role))
        t_s = readings.t_s - origin_s
        plot_line(
            axes, form, t_s[shown], np.maximum(innovation[shown], _LEAST), lw=0.6, color=colour, label=_TITLES[role]
        )
        draw_limit(axes, form, bound, "", colour)
        out = shown & np.isin(source, [SOURCE_STATES.index(state) for state in _LEFT_OUT])
        if out.any():
            style: dict[str, Any] = {"ls": "none", "marker": "x", "color": "#cc3311", "ms": form.line(4.0)}
            few = np.flatnonzero(out)[:: max(out.sum() // 200, 1)]
            axes.plot(t_s[few], np.maximum(innovation[few], _LEAST), label=f"{_TITLES[role]}, not used", **style)
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, _LEAST), max(high, 10.0))
