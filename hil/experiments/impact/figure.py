"""The figure of an impact trial: `trial.png`, or as PDF or SVG, in the width of a journal's column."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hil.experiments.drawing import COLOURS, decimated, run_line, setting_of, wheel_style, wheels_in_order
from hil.experiments.figure_form import FigureForm
from hil.experiments.motion_panels import innovation_panel, instruments_of, speed_panel
from hil.messages.layout import SENSORS, Layout, layout_of
from hil.recording import OpenRecord
from models.rover import RcpParameters

DETECTED = "#cc3311"
_CONTACT, _CUT = "#008080", "#7a3db8"
BOX = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": "none", "alpha": 0.85}  # of words among lines


class Moments:
    """When things happened, and the axis on which the figure shows them: 0 s at the impact, or at the start if none."""

    def __init__(self, record: OpenRecord, summary: Mapping[str, Any], form: FigureForm) -> None:
        tick, self.form = record.tick, form
        impact_s = summary.get("impact_time_s")
        if impact_s is None and tick["impact"].any():
            impact_s = float(tick["t_ns"][tick["impact"].argmax()]) * 1e-9
        self.impact = impact_s is not None
        self.origin_s = float(impact_s or 0.0)
        self.label = "time after impact [s]" if self.impact else "time [s]"
        onset_s = summary.get("onset_s") if self.impact else None
        self.onset = None if onset_s is None else float(onset_s) - self.origin_s
        # where it is known when the drives obeyed, a delay of their link is in it
        cuts_ms = [summary.get(key) for key in ("cut_effective_ms", "cut_latency_ms")] if self.impact else []
        self.cut = next((float(cut_ms) * 1e-3 for cut_ms in cuts_ms if cut_ms is not None), None)
        self.t_daq = record.daq_t_ns * 1e-9 - self.origin_s
        self.t_tick = tick["t_ns"] * 1e-9 - self.origin_s

    def mark(self, axes: Axes, scale: float = 1.0) -> None:
        """Draws the lines of contact, threshold and cut."""
        if self.onset is not None:
            axes.axvline(self.onset * scale, color=_CONTACT, lw=self.form.line(1.2), ls=":", zorder=1.5)
        if self.impact:
            axes.axvline(0.0, color=DETECTED, lw=self.form.line(1.2), ls="--", zorder=1.5)
        if self.cut is not None:
            axes.axvline(self.cut * scale, color=_CUT, lw=self.form.line(1.2), zorder=1.5)

    def name(self, axes: Axes, span_ms: tuple[float, float]) -> None:
        """Words at these lines, in steps, so that they lie next to each other wherever the lines are.

        Args:
            axes: with a time in ms.
            span_ms: that it shows; a cut after it is named at its end.
        """
        named = [(0.0, 0.88, DETECTED, "right", f"over threshold\nat {self.origin_s:.4f} s")]
        if self.onset is not None:
            words = f"contact begins\n{-1e3 * self.onset:.1f} ms earlier"
            named.append((1e3 * self.onset, 0.66, _CONTACT, "right", words))
        if self.cut is not None:
            words = f"drives cut\n{1e3 * self.cut:.2f} ms later"
            inside = 1e3 * self.cut < span_ms[1]  # an operator's release may come later than is shown
            named.append((min(1e3 * self.cut, span_ms[1]), 0.98, _CUT, "left" if inside else "right", words))
        style: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "fontsize": self.form.font(8.5), "va": "top"}
        for at, height, colour, side, words in named:
            away = 0.012 * (span_ms[1] - span_ms[0]) * (1.0 if side == "left" else -1.0)
            axes.text(at + away, height, words, color=colour, ha=side, bbox=BOX, **style)


FloatArray = NDArray[np.floating[Any]]
Summary = Mapping[str, Any]
Span = tuple[float, float]

_SCREEN_IN, _PRINT_MM = (14.0, 10.0), (205.0, 175.0)  # 1400 x 1000 px; heights of a single and a double column
_SENSORS = ("#0072b2", "#009e73", "#e69f00")
_GREY, _CORRECTED = "#8a8a8a", "#cc79a7"
_FORCE, _ALL = "force [N]", (-math.inf, math.inf)
# Margins of the panels: left, right, top, bottom, and between them, across and down.
_ROOM = {
    "screen": (0.055, 0.945, 0.86, 0.1, 0.17, 0.57),
    "double": (0.07, 0.93, 0.85, 0.115, 0.24, 0.7),
    "single": (0.15, 0.87, 0.865, 0.16, 0.2, 0.86),
}
_BOLD_EM = 0.6  # width of a bold sign, in sizes of the font
_SMALL = 8.5  # size of the caption, and of a verdict that does not fit into one line
_CHARACTERS = {"screen": 208, "double": 140, "single": 72}  # in a line of that size
_CAPTION = (
    "sum: of the sensors' raw readings, which the AC coupling lets droop under load and swing below zero after it. "
    "sum, corrected: of the forces with that droop removed, as the detector has it in each tick (its maximum is "
    "corrected_peak_force_N); peak: peak_force_N, without vibration. Left: broad, pale lines; right: thin, dark dashes "
    "over them. Upright lines: contact begins (onset_s, extrapolated), force over the threshold (0 s), drives cut."
)
# Of the first panel: before the impact, and after it, where the droop has swung below zero and nearly come back.
_BEFORE_S, _AFTER_S = 0.1, 1.0
_LATEST_MS = 600.0  # of a cut that the second panel still shows


def plot_trial(
    record: OpenRecord,
    summary: Summary,
    run: str,
    form: FigureForm = FigureForm(),  # noqa: B008
) -> Figure:
    """Draws a trial: sensor forces, gap, kinetic energy, wheel loads and speeds; on the screen 1400 x 1000 px.

    Args:
        record: The record; what is missing in it is left out of the figure. `sensitivity_VpN` in its meta, numbers
            with commas between them [V/N], makes newtons of the sensors' volts.
        summary: As in `summary.json`.
        run: name of the run's folder.
        form: Its width. A single column leaves out the gap and the wheels' normal forces.
    """
    more = (2 // form.columns) * bool(instruments_of(record))
    rows = 6 // form.columns - (form.columns == 1) * 2
    taller = (rows + more) / rows
    width, height = form.size_in(_SCREEN_IN, _PRINT_MM)
    figure = Figure((width, height * taller))
    FigureCanvasAgg(figure)
    left, right, top, bottom, wspace, hspace = _ROOM[form.width]
    top, bottom = 1.0 - (1.0 - top) / taller, bottom / taller
    figure.subplots_adjust(left=left, right=right, top=top, bottom=bottom, wspace=wspace, hspace=hspace)
    moments = Moments(record, summary, form)
    if form.columns == 1:
        grid = figure.subplots(rows + more, 1, squeeze=False)
        first, edge, energy, speeds = grid[:rows, 0]
    else:
        grid = figure.subplots(rows + more, 2)
        (first, edge), (gap, energy), (loads, speeds) = grid[:rows]
        _gap(gap, record, moments)
        _loads(loads, record, moments)
    _impact(first, record, moments, summary)
    _edge(edge, record, moments)
    _energy(energy, record, moments, summary)
    _speeds(speeds, record, moments)
    if more:
        _motion(grid.flat[-2], grid.flat[-1], record, moments)
    _frame(figure, form, _headline(summary), run_line(record, summary, run), summary)
    figure.set_label(_headline(summary))
    return figure


def _motion(speed: Axes, innovation: Axes, record: OpenRecord, moments: Moments) -> None:
    """Measured motion: speed, and the innovations of the instruments."""
    speed_panel(speed, moments.form, record, moments.origin_s)
    innovation_panel(innovation, moments.form, record, moments.origin_s)
    for axes in (speed, innovation):
        axes.margins(x=0.01)
        moments.mark(axes)
    _dress(speed, moments.form, "Speed of the rover, measured and estimated", moments.label, "speed [mm/s]")
    _dress(innovation, moments.form, "Innovation over its degrees of freedom; dotted: bound", moments.label, "[-]")


def _frame(figure: Figure, form: FigureForm, headline: str, run: str, summary: Summary) -> None:
    """Headline, which run it is and its verdict over the panels, and what lines are under them."""
    left, line_in = 0.02 if form.columns == 1 else _ROOM[form.width][0], 1.5 / 72.0 / figure.get_figheight()
    large, small = form.font(14.0 if form.columns == 2 else _SMALL), form.font(_SMALL)
    characters, verdict = _CHARACTERS[form.width], _verdict(summary)
    size = 11.0 if 11.0 * len(verdict) <= _SMALL * characters else _SMALL
    colour = "#117733" if summary.get("accepted") else DETECTED
    words = textwrap.fill(headline, round((0.98 - left) * 72.0 * figure.get_figwidth() / (_BOLD_EM * large)))
    y = 1.0 - (1.3 + 0.8 * words.count("\n")) * large * line_in
    figure.text(left, y, words, fontsize=large, fontweight="bold")
    y -= 0.9 * small * line_in
    words = textwrap.fill(run, characters, max_lines=2, placeholder="…")
    figure.text(left, y, words, fontsize=small, color="#404040", va="center", parse_math=False)
    y -= (1.1 + 0.7 * words.count("\n")) * form.font(10.0) * line_in
    words = textwrap.fill(verdict, characters, max_lines=2, placeholder="…")
    figure.text(left, y, words, fontsize=form.font(size), color=colour, va="center", parse_math=False)
    caption = textwrap.fill(_CAPTION, characters)
    figure.text(left, 0.4 * line_in * small, caption, fontsize=small, va="bottom", color="#404040")


def _headline(summary: Summary) -> str:
    angle, speed = summary.get("angle_deg"), summary.get("impact_speed_mps")
    parts = ["Impact trial", "" if angle is None else f"obstacle at {angle:g}°"]
    parts.append("" if speed is None else f"impact at {speed * 1e3:.1f} mm/s")
    peak = summary.get("peak_force_N")
    parts.append("" if peak is None else f"peak {peak:.1f} N")
    return ", ".join(part for part in parts if part)


def _verdict(summary: Summary) -> str:
    reasons = "; ".join(str(reason) for reason in summary.get("reasons") or [])
    return ("accepted" if summary.get("accepted") else "not accepted") + (f": {reasons}" if reasons else "")


def _newtons(record: OpenRecord) -> tuple[FloatArray, str]:
    """Returns the raw readings in N, or in V where no sensitivity is known, with quantity and unit in words."""
    try:
        sensitivity = np.array([float(item) for item in str(record.meta["sensitivity_VpN"]).split(",")])
        return record.raw / sensitivity, _FORCE
    except (KeyError, ValueError):
        return np.asarray(record.raw), "reading [V]"


def _plot(
    axes: Axes, form: FigureForm, t: FloatArray, y: FloatArray, span: Span, lw: float = 1.2, **style: Any
) -> None:
    inside = (t >= span[0]) & (t <= span[1])
    axes.plot(*decimated(t[inside], y[inside]), lw=form.line(lw), **style)


def _dress(axes: Axes, form: FigureForm, title: str, time: str, quantity: str, legend: Axes | None = None) -> None:
    """Title, units, and the legend above the data, where it hides nothing; `legend` adds that of another axis."""
    lines = [line for part in (axes, legend) if part is not None for line in part.lines]
    named = [line for line in lines if not str(line.get_label()).startswith("_") and np.size(line.get_xdata())]
    axes.set_xlabel(time, fontsize=form.font(9.0), labelpad=2)
    axes.set_ylabel(quantity, fontsize=form.font(9.0))
    axes.tick_params(labelsize=form.font(8.5))
    axes.grid(True, color="#e4e4e4", lw=form.line(0.7))
    axes.set_axisbelow(True)
    axes.spines["top"].set_visible(False)
    if not named:
        axes.set_title(title, loc="left", fontsize=form.font(11.0), fontweight="bold")
        axes.text(0.5, 0.5, "nothing recorded", transform=axes.transAxes, ha="center", color=_GREY)
        axes.set(xticks=[], yticks=[])
        return
    style: dict[str, Any] = {"frameon": False, "columnspacing": 0.9, "borderaxespad": 0.2, "labelspacing": 0.2}
    style |= {"handlelength": 2.2, "fontsize": form.font(8.3)}
    for columns in range(7, 0, -1):  # as many as are no wider than the panel and a margin
        shown = axes.legend(handles=named, ncols=columns, loc="lower left", bbox_to_anchor=(-0.01, 0.99), **style)
        box = shown.get_window_extent()
        if box.width < 1.08 * axes.bbox.width:
            break
    to_pt = 72.0 / axes.get_figure(root=True).dpi  # type: ignore[union-attr]
    pad = 3.0 + box.height * to_pt
    words = textwrap.fill(title, round(1.12 * axes.bbox.width * to_pt / (_BOLD_EM * form.font(11.0))))
    axes.set_title(words, loc="left", fontsize=form.font(11.0), fontweight="bold", pad=pad)


def _sensors(axes: Axes, record: OpenRecord, moments: Moments, span: Span, scale: float = 1.0) -> str:
    """Draws the raw readings, their sum and the corrected sum (on a scaled time axis each tick); returns the unit."""
    values, quantity = _newtons(record)
    t_daq, t_tick = moments.t_daq * scale, moments.t_tick * scale
    for i, name in enumerate(_layout(record).channels):
        style: dict[str, Any] = {"color": _SENSORS[i % len(_SENSORS)], "label": name.replace("_", " ")}
        if "left" in name or "right" in name:  # the two may coincide
            style |= {"lw": 2.6, "alpha": 0.6} if "left" in name else {"ls": (0, (3, 2)), "color": "#7a5800"}
        _plot(axes, moments.form, t_daq, values[:, i], span, **style)
    _plot(axes, moments.form, t_daq, values @ np.ones(values.shape[1]), span, color="black", lw=1.6, label="sum")
    if quantity == _FORCE:
        style = {"color": _CORRECTED, "label": "sum, corrected", "lw": 1.4, "ls": (0, (4, 1.5))}
        _plot(axes, moments.form, t_tick, record.tick["force_sum_N"], span, **style)
    return quantity


def _impact(axes: Axes, record: OpenRecord, moments: Moments, summary: Summary) -> None:
    """The sensors from 0.1 s before to 1 s after the impact, and the peak; without an impact, the end of the burst."""
    end = _AFTER_S if moments.impact or not moments.t_daq.size else float(moments.t_daq[-1])
    begin = end - _AFTER_S - _BEFORE_S
    quantity = _sensors(axes, record, moments, (begin, end))
    axes.set_xlim(begin, end)
    axes.margins(y=0.12)  # for the peak's number
    if moments.t_daq.size:
        axes.axhline(0.0, color=_GREY, lw=moments.form.line(0.8), zorder=1)
    peak = summary.get("peak_force_N")
    if peak is not None and moments.impact and quantity == _FORCE and len(record.tick):
        force = record.tick["force_sum_N"]
        at = float(moments.t_tick[np.nanargmax(force)]) if np.isfinite(force).any() else 0.0
        axes.plot(at, peak, "v", color="black", ms=moments.form.line(7.0), mfc="none", label="peak")
        style: dict[str, Any] = {"textcoords": "offset points", "fontsize": moments.form.font(8.5), "va": "center"}
        style |= {"bbox": BOX}
        axes.annotate(f"{peak:.1f} N", (at, peak), (moments.form.line(9.0), 0.0), **style)
    moments.mark(axes)
    title = "Sensors at the impact, and their droop after it" if moments.impact else "Sensors at the end"
    _dress(axes, moments.form, title, moments.label, quantity)


def _edge(axes: Axes, record: OpenRecord, moments: Moments) -> None:
    """The first milliseconds: when the contact began, when it was over the threshold, and when the drives were cut."""
    quantity = _FORCE
    if moments.impact:
        end = 15.0 if moments.cut is None else min(_LATEST_MS, max(15.0, 1.4e3 * moments.cut))
        begin = -0.4 * end if moments.onset is None else min(0.0, 1e3 * moments.onset) - 0.4 * end
        quantity = _sensors(axes, record, moments, (begin, end), scale=1e3)
        axes.set_xlim(begin, end)
        axes.margins(y=0.25)  # for the words
        moments.mark(axes, 1e3)
        threshold = setting_of(record, "threshold_N")
        if threshold is not None and quantity == _FORCE:
            style: dict[str, Any] = {"color": DETECTED, "lw": moments.form.line(0.9), "ls": "--"}
            axes.axhline(float(threshold), label=f"threshold, {float(threshold):g} N", **style)
        moments.name(axes, (begin, end))
    _dress(axes, moments.form, "Contact, threshold and cut", "time after impact [ms]", quantity)


def _gap(axes: Axes, record: OpenRecord, moments: Moments) -> None:
    """The way left to the obstacle over the run: as recorded, or by the speed of the twin, back from the contact."""
    tick, t, title = record.tick, moments.t_tick, "Gap to the obstacle"
    if "gap_m" in (tick.dtype.names or ()) and np.isfinite(tick["gap_m"]).any():
        gap = tick["gap_m"]
    elif moments.impact and len(t):
        way = np.append(0.0, np.cumsum(0.5 * (tick["speed_mps"][1:] + tick["speed_mps"][:-1]) * np.diff(t)))
        gap = np.interp(moments.onset or 0.0, t, way) - way
        title = "Gap along the ground, by the twin's speed back from the contact"
    else:
        gap = np.zeros(0)
    if len(gap):
        _plot(axes, moments.form, t, 1e3 * gap, _ALL, color="black", label="twin")
        axes.axhline(0.0, color=_GREY, lw=moments.form.line(0.8), zorder=1)
    axes.margins(x=0.01)
    moments.mark(axes)
    _dress(axes, moments.form, title, moments.label, "gap [mm]")


def _energy(axes: Axes, record: OpenRecord, moments: Moments, summary: Summary) -> None:
    """Effective kinetic energy of the twin over time, and of twin and plant at the impact."""
    _plot(
        axes, moments.form, moments.t_tick, record.tick["effective_kinetic_energy_J"], _ALL, color="black", label="twin"
    )
    for key, name, marker in (("", "twin at impact", "o"), ("_plant", "plant at impact", "x")):
        energy = summary.get(f"effective_kinetic_energy{key}_J")
        if energy is not None and moments.impact:
            style: dict[str, Any] = {"ls": "none", "color": COLOURS[1], "fillstyle": "none"}
            style |= {"ms": moments.form.line(7.0), "mew": moments.form.line(2.0)}
            axes.plot(0.0, energy, marker, label=f"{name}: {energy:#.3g} J", **style)
    axes.margins(x=0.01, y=0.12)
    moments.mark(axes)
    _dress(axes, moments.form, "Effective kinetic energy $T_c$", moments.label, "$T_c$ [J]")


def _loads(axes: Axes, record: OpenRecord, moments: Moments) -> None:
    layout = _layout(record)
    for i in wheels_in_order(layout):
        style = {"label": layout.wheels[i].replace("_", " ")} | wheel_style(layout, i)
        _plot(axes, moments.form, moments.t_tick, record.tick["normal_force_N"][:, i], _ALL, **style)
    axes.margins(x=0.01)
    moments.mark(axes)
    _dress(axes, moments.form, "Wheel normal forces, predicted by the twin", moments.label, _FORCE)


def _speeds(axes: Axes, record: OpenRecord, moments: Moments) -> None:
    """Wheel speeds set and measured, in the colours of the panel of normal forces; rover speed on the right axis."""
    t, wheel, rover = moments.t_tick, record.tick["wheel_speed_radps"], record.tick["speed_mps"] * 1e3
    layout = _layout(record)
    for i in range(len(layout.wheels)):
        style: dict[str, Any] = {"color": "#dcdcdc", "lw": 6.0, "label": None if i else "set"}
        _plot(axes, moments.form, t, record.tick["set_speed_radps"][:, i], _ALL, **style)
    for i in wheels_in_order(layout):
        style = {"label": None if i else "measured, by wheel"} | wheel_style(layout, i)
        _plot(axes, moments.form, t, wheel[:, i], _ALL, **style)
    axes.margins(x=0.01)
    moments.mark(axes)
    right = axes.twinx()
    _plot(right, moments.form, t, rover, _ALL, color="black", lw=1.4, label="rover, twin (right axis)")
    low, high = axes.get_ylim()
    ends = (np.nanmin(rover, initial=0.0) / min(low, -1e-9), np.nanmax(rover, initial=0.0) / max(high, 1e-9))
    if (ratio := 1.25 * max(ends)) > 0.0:
        right.set_ylim(low * ratio, high * ratio)  # one zero for both axes
    right.set_ylabel("rover speed [mm/s]", fontsize=moments.form.font(9.0))
    right.tick_params(labelsize=moments.form.font(8.5))
    right.spines["top"].set_visible(False)
    _dress(axes, moments.form, "Speeds of wheels and rover", moments.label, "wheel speed [rad/s]", legend=right)


def _layout(record: OpenRecord) -> Layout:
    """Names of wheels and channels; of a record from before they were kept, those of its kind of rig."""
    if "layout" in record.meta:
        return Layout.from_json(str(record.meta["layout"]))
    channels = SENSORS["triangle" if record.raw.shape[1] == len(SENSORS["triangle"]) else "bumper"]
    return layout_of(RcpParameters.wheels(), channels, joints=RcpParameters.cylinder_joints)
