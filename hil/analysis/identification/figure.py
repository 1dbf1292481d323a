"""Figure of an identification: pull, torque and sinkage over slip, measured and of the soil found, with its band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hil.analysis.identification.fit import NORMAL, Identification
from hil.analysis.identification.forward import RANGES, ForwardModel, MeasuredMean, Window, soil_of
from hil.experiments.drawing import COLOURS, MARKERS, dress_panel, new_panels, share_legend
from hil.experiments.figure_form import FigureForm

FloatArray = NDArray[np.float64]
_TITLES = {
    "pull_N": ("Drawbar pull", "[N]"),
    "torque_Nm": ("Torque of all wheels", "[N m]"),
    "sinkage_m": ("Sinkage", "[mm]"),
}
_POINTS = 50
# Directions that are not determined bend the curves too; beyond this log the linear band means nothing.
_MOST_SD = 0.7
_LOADS = 4  # curves of one panel, at most


def draw(found: Identification, form: FigureForm) -> Figure:
    """Draw it: a panel for each quantity that was measured over slip, and one for wheels pressed down."""
    rolled, pressed = ([one for one in found.windows if (one.slip is None) == none] for none in (False, True))
    names = [name for name in _TITLES if any(name in window.measured for window in rolled)]
    figure, panels = new_panels(form, len(names) + bool(pressed))
    for axes, name in zip(panels, names, strict=False):
        dress_panel(axes, form, *_TITLES[name], "slip [-], mean over the wheels")
        shown = [window for window in rolled if name in window.measured]
        _over_slip(axes, found, shown, name, 1e3 if name == "sinkage_m" else 1.0, form)
    if pressed:
        dress_panel(panels[-1], form, "Sinkage of a wheel pressed down", "[mm]", "load [N]")
        _over_load(panels[-1], found, pressed, 1e3, form)
    share_legend(figure, form, *panels)
    return figure


def _over_slip(
    axes: Axes, found: Identification, windows: Sequence[Window], name: str, scale: float, form: FigureForm
) -> None:
    groups: dict[tuple[Any, ...], list[Window]] = {}
    for window in windows:  # of about the same load
        total = sum(window.load_N)
        key = next((k for k in groups if k[0] == window.wheel and k[1] == len(window.load_N)
                    and abs(total / k[2] - 1.0) < 0.15), (window.wheel, len(window.load_N), total))  # fmt: skip
        groups.setdefault(key, []).append(window)
    slips = np.linspace(0.0, max(0.05, 1.1 * max(_slip_of(window) for window in windows)), _POINTS).clip(0.0, 1.0)
    sd = {(one.window, one.quantity): one.sd for one in found.residuals}
    for place, ((_, wheels, _), own) in enumerate([*groups.items()][:_LOADS]):
        colour = COLOURS[place % len(COLOURS)]
        total = sum(sum(window.load_N) for window in own) / len(own)
        label = f"{total:.0f} N on {wheels} wheel{'s' if wheels > 1 else ''}"
        curve = _along(own, slips, name)
        middle, half = _band(found, curve)
        axes.plot(slips, scale * middle, color=colour, lw=form.line(1.6), label=f"soil found, 95 % band, {label}")
        if half is not None:
            axes.fill_between(slips, scale * (middle - half), scale * (middle + half), color=colour, alpha=0.2, lw=0.0)
        bars = [NORMAL * sd[window.name, name] * scale for window in own]
        values = [window.measured[name].value * scale for window in own]
        style: dict[str, Any] = {"fmt": MARKERS[place], "ms": form.line(4.5), "capsize": 2.5, "elinewidth": 0.9}
        style |= {"color": colour, "label": f"measured, 95 % bars, {label}"}
        axes.errorbar([_slip_of(window) for window in own], values, bars, **style)


def _over_load(axes: Axes, found: Identification, windows: Sequence[Window], scale: float, form: FigureForm) -> None:
    sd = {one.window: one.sd for one in found.residuals if one.quantity == "sinkage_m"}
    most = 1.1 * max(window.load_N[0] for window in windows)
    unit = MeasuredMean(1.0, 1.0)
    loads = np.linspace(most / _POINTS, most, _POINTS)
    model = windows[0]
    middle, half = _band(found, [replace(model, load_N=(load,), sinkage_m=unit) for load in loads.tolist()])
    axes.plot(loads, scale * middle, color="black", lw=form.line(1.6), label="soil found, 95 % band, pressed")
    if half is not None:
        axes.fill_between(loads, scale * (middle - half), scale * (middle + half), color="black", alpha=0.12, lw=0.0)
    values = [scale * window.measured["sinkage_m"].value for window in windows]
    bars = [NORMAL * scale * sd[window.name] for window in windows]
    style: dict[str, Any] = {"fmt": "v", "ms": form.line(4.5), "capsize": 2.5, "color": "black"}
    axes.errorbar([one.load_N[0] for one in windows], values, bars, label="measured, 95 % bars, pressed", **style)


def _slip_of(window: Window) -> float:
    return float(np.mean(window.slip or ()))


def _along(windows: Sequence[Window], slips: FloatArray, name: str) -> list[Window]:
    """Windows over a range of slips; loads move with the slip as they did between the windows that were measured."""
    order = sorted(windows, key=_slip_of)
    at = [_slip_of(window) for window in order]
    loads = np.array(
        [[np.interp(slip, at, column) for slip in slips] for column in zip(*(w.load_N for w in order), strict=True)]
    )
    offsets = np.array([np.array(window.slip) - _slip_of(window) for window in order])
    moved = np.array([[np.interp(slip, at, column) for slip in slips] for column in offsets.T])
    only = order[0].measuring({name: MeasuredMean(1.0, 1.0)})
    slip = np.clip(slips + moved, -1.0, 1.0)
    return [
        replace(only, load_N=tuple(loads[:, i].tolist()), slip=tuple(slip[:, i].tolist())) for i in range(len(slips))
    ]


def _band(found: Identification, windows: Sequence[Window]) -> tuple[FloatArray, FloatArray | None]:
    """What the soil found gives, and the half-width of its 95 % band by the determined directions."""
    forward = ForwardModel(windows)
    middle = forward.predict(soil_of(found.values))
    names = [one.name for one in found.parameters]
    variance = np.zeros_like(middle)
    for direction in found.directions:
        if direction.sd > _MOST_SD:
            continue
        step = 1e-3 * np.array([direction.weights[name] for name in names])
        moved = {
            name: min(max(found.values[name] * float(np.exp(part)), RANGES[name][0]), RANGES[name][1])
            for name, part in zip(names, step, strict=True)
        }
        slope = (forward.predict(soil_of({**found.values, **moved})) - middle) / 1e-3
        variance += (slope * direction.sd) ** 2
    return middle, NORMAL * np.sqrt(variance)
