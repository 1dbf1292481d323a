"""What the figures of experiments share: file, axes and panels."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hil.config import Config
from hil.config.files import replacing
from hil.experiments.figure_form import FigureForm
from hil.messages.layout import Layout
from hil.recording import OpenRecord
from hil.recording.content import Recorded, in_blocks, packed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_SCREEN_DPI, _PRINT_DPI = 100, 600
# Size of a point, height of a line and width of a sign, in sizes of the font.
POINTS_PER_INCH, _LINE_EM, _WIDE_EM = 72.0, 1.35, 0.53
_GAP_IN, _COLUMNS = 0.03, 8  # space above a legend, and its columns at most
_OF_COLUMN = 0.82  # part of a column of panels that the labels of the axes leave
# In place of a config's `rig`: nothing ran.
MODELS, TESTS = "SIMULATED: by the models alone", "measured by others"
_KNOWN = ("seed", "config", "config_sha256", "version", "content_sha256")
# Ids of an SVG come from this and from what they name, not from chance; TrueType, for journals refuse Type 3 fonts.
_STYLE: Any = {"svg.hashsalt": "rover-hil", "pdf.fonttype": 42, "svg.fonttype": "path"}


def facts_of(record: OpenRecord, summary: Mapping[str, Any]) -> dict[str, str]:
    """Seed, config, version and digest of a run, as text; `unknown` where neither record nor summary say it."""
    digests = summary.get("digests")
    found = {
        "seed": summary.get("seed", record.meta.get("seed")),
        "config": setting_of(record, "name"),
        "config_sha256": summary.get("config_sha256", record.meta.get("config_sha256")),
        "version": summary.get("version", record.meta.get("version")),
        "content_sha256": digests.get("content") if isinstance(digests, dict) else None,
    }
    return {key: "unknown" if found[key] is None else str(found[key]) for key in _KNOWN}


def setting_of(record: OpenRecord, key: str) -> str | None:
    """A setting of a record's config by its name, as its text has it: at the top of the config, or else inside it."""
    config = str(record.meta.get("config", ""))
    found = re.search(rf"^{key}: (.+?)$", config, re.MULTILINE) or re.search(rf"^ +{key}: (.+?)$", config, re.MULTILINE)
    return found and found[1].strip("\"' ")


def run_line(record: OpenRecord, summary: Mapping[str, Any], run: str) -> str:
    """Which run a figure is of, in a line: its folder, seed, time and config, and whether anything real moved."""
    day, rig = str(record.meta.get("wall_time", "")), setting_of(record, "rig")
    facts = facts_of(record, summary) | {"date": f"{day[:10]} {day[11:19]} UTC" if day else "date unknown"}
    return source_line(facts | ({} if rig is None else {"rig": rig}), run)


def source_line(facts: Mapping[str, str], run: str | None) -> str:
    """Of what a figure is, in a line: folder of its run, seed, date (if not known, today's), config, tests, rig.

    `run` is empty for a run that was not saved, and None for a figure of no run.
    """
    day = facts.get("date", f"{datetime.now(UTC):%Y-%m-%d}")
    seed, *others = ([f"{key} {facts[key]}"] if key in facts else [] for key in ("seed", "config", "tests"))
    of_run = [] if run is None else [f"run {run}" if run else "run not saved"]
    parts = [*of_run, *seed, day, *(one for each in others for one in each)]
    return "   ".join([*parts, rig_in_words(facts.get("rig", ""))])


def rig_in_words(rig: str) -> str:
    """Whether anything real moved, by a config's `rig`, `MODELS` or `TESTS`; empty: it is not known."""
    return {"": "rig unknown", "real": "real rig", MODELS: MODELS, TESTS: TESTS}.get(rig, "SIMULATED rig")


def study_facts(config: Config, rig: str = "") -> dict[str, str]:
    """What a figure made with a config says, and has as metadata; `rig` replaces that of the config."""
    sha256 = config.sha256()
    return {"seed": str(config.seed), "config": config.name, "config_sha256": sha256, "rig": rig or config.rig}


def frame_figure(
    figure: Figure, form: FigureForm, what: str, record: OpenRecord, summary: Mapping[str, Any], run: str
) -> None:
    """Over a figure what was done and how it was judged, which is its label, too; below it, of which run it is."""
    verdict = "accepted" if summary.get("accepted") else "not accepted: " + "; ".join(summary.get("reasons") or [])
    set_frame(figure, form, f"{what}: {verdict}", run_line(record, summary, run))


def set_frame(figure: Figure, form: FigureForm, title: str, words: str) -> None:
    """Over a figure its title, which is its label, too; below it, and below its legend, words on what it is of."""
    size, width_in = form.font(12.0), figure.get_figwidth()
    shown = fill(title, round(POINTS_PER_INCH * width_in / (_WIDE_EM * size)), max_lines=2, placeholder=" ...")
    figure.suptitle(shown, x=0.01, ha="left", fontsize=size, parse_math=False)
    words = words if form.columns == 2 else words.replace("   config", "\nconfig")
    lay_below(figure, words, form.font(8.5))
    figure.set_label(title)


def lay_below(figure: Figure, words: str, size: float) -> None:
    """Words in a font of this size [pt] below a figure, its legends above them, and its panels above these."""
    figure.text(0.01, 0.002, words, fontsize=size, color="#404040", va="bottom", parse_math=False)
    foot = _LINE_EM * size * (1 + words.count("\n")) / POINTS_PER_INCH / figure.get_figheight()
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0.0, foot, 1.0, 1.0 - foot))
        # the layout leaves no room for a legend that has a place
        foot += legend.get_window_extent().height / figure.bbox.height + _GAP_IN / figure.get_figheight()
    figure.get_layout_engine().set(rect=(0.0, foot, 1.0, 1.0 - foot))  # type: ignore[union-attr,call-arg]


def save_study(figure: Figure, form: FigureForm, path: Path, title: str, facts: Mapping[str, str]) -> None:
    """Frame a figure of what was made with a config, and write it; `facts` as `study_facts` gives them."""
    folder = path.absolute().parent.name
    set_frame(figure, form, title, source_line(facts, "" if ".unfinished" in folder else folder))
    save_figure(figure, path, title, facts, form)


def save_figure(figure: Figure, path: Path, title: str, facts: Mapping[str, str], form: FigureForm) -> None:
    """Write a figure of a run, as `write_figure` does. Raises ValueError: another ending."""
    if form.notice:
        for y in (0.25, 0.75):  # twice, so that no half of it does without
            stamp(figure, f"NOT VERIFIED\n{form.notice}", y, fontsize=form.font(16.0), line=form.line(3.0))
    write_figure(figure, path, title, facts, _SCREEN_DPI if form.width == "screen" else _PRINT_DPI)


def write_figure(figure: Figure, path: Path, title: str, facts: Mapping[str, str], dpi: int) -> None:
    """Write a figure as PNG, PDF or SVG, by the ending of the path, with what it is of as metadata.

    PNG: a text chunk for each fact. PDF: title, and all facts under Keywords. SVG: title, description, and a keyword
    for each fact. No time of day in any of them. The file is whole, or as it was before.

    Raises:
        ValueError: another ending.
        OSError: it cannot be written.
    """
    import matplotlib as mpl

    kind = path.suffix.removeprefix(".")
    pairs = [f"{key}={value}" for key, value in facts.items()]
    metadata: dict[str, Any]
    if kind == "png":
        metadata = {"Title": title, "Software": "rover-hil", **facts}
    elif kind == "pdf":
        metadata = {"Title": title, "Creator": "rover-hil", "Producer": None, "CreationDate": None}
        metadata["Keywords"] = "; ".join(pairs)
    elif kind == "svg":
        metadata = {"Title": title, "Creator": "rover-hil", "Date": None, "Keywords": pairs}
        metadata["Description"] = "; ".join(pairs)
    else:
        raise ValueError(f"figure {path.name}: allowed endings: .png, .pdf, .svg")
    with mpl.rc_context(_STYLE), replacing(path) as unfinished:
        figure.savefig(unfinished, format=kind, dpi=dpi, metadata=metadata)


def stamp(figure: Figure, words: str, y: float = 0.5, *, fontsize: float = 13.0, line: float = 2.0) -> None:
    """Write words across a figure at a height, so that nobody takes it for a good one."""
    box = {"facecolor": "white", "edgecolor": "#cc3311", "alpha": 0.85, "lw": line}
    style: dict[str, Any] = {"ha": "center", "va": "center", "color": "#cc3311", "fontweight": "bold", "bbox": box}
    figure.text(0.5, y, words, rotation=10, parse_math=False, wrap=True, fontsize=fontsize, **style)


FloatArray = NDArray[np.floating[Any]]
Line = tuple[FloatArray, FloatArray]
# Stretches of a line: about one a pixel of a panel.
_BINS = 700
# A panel shows no smaller part of its values than this.
_LEAST_SPAN = 1e-3
# A phase is named, if its name is no wider than it is, in room that is this part of the panel.
_PHASE, _HEAD = "#bbbbbb", 0.14
# Told apart by the colour-blind and in grey: dark, middle, light; wheels of one axle share a colour.
COLOURS = ("#004488", "#bb5566", "#ddaa33", "#999999")
# Shapes next to the colours; T_c in all figures.
MARKERS = ("o", "s", "^", "D", "v", "P", "p", "*")
ENERGY_COLOUR = COLOURS[1]
# Of left wheels: the same, paler, and the broader the further ahead, so that each shows where they coincide.
_PALE, _BROAD = ("#668fb8", "#d699a3", "#ebcc85", "#c2c2c2"), (4.6, 3.2, 1.8, 1.0)
# Of the right wheels' dashes: the same, darker.
_DARK = ("#001d3d", "#6b1f30", "#7a5800", "#404040")
_DASHES = ((4, 3), (1.5, 2), (6, 2, 1.5, 2), (8, 4))


def decimated(t: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each of at most `_BINS` stretches: what a line this wide can show."""
    size = math.ceil(len(y) / _BINS)
    return (t, y) if size < 3 else _extremes(t, y, size)


def over_time(
    ticks: Recorded, scales: Mapping[str, float | FloatArray], may_lack: Collection[str] = ()
) -> dict[str, list[Line]]:
    """Lines of fields of ticks over time, decimated block by block, as `decimated` does it with all at once.

    Args:
        ticks: rows of `/tick`.
        scales: factor of each field that is wanted, or of each of its elements.
        may_lack: those of them that have no lines where the rows lack them.

    Returns:
        Of each field: times [s] and values of each of its elements, as many as can be shown.
    """
    size = math.ceil(len(ticks) / _BINS)
    lines: dict[str, list[Any]] = {field: [] for field in scales}
    rest: list[NDArray[Any]] = []
    left = len(ticks)
    for block in in_blocks(ticks):
        rest.append(packed(block, ["t_ns", *scales], may_lack))
        left -= len(block)
        rows = np.concatenate(rest)
        whole = len(rows) // size * size if left else len(rows)  # stretches do not end where blocks do
        rows, rest = rows[:whole], [rows[whole:]]
        t_s = rows["t_ns"] * 1e-9
        for field, scale in scales.items():
            values = rows[field].reshape(whole, math.prod(rows.dtype[field].shape)) * scale
            lines[field].append([_extremes(t_s, line, size) if size > 2 else (t_s, line) for line in values.T])
    joined: dict[str, list[Line]] = {}
    for field, parts in lines.items():
        of_elements = [zip(*line, strict=True) for line in zip(*parts, strict=True)]
        joined[field] = [(np.concatenate(t_s), np.concatenate(values)) for t_s, values in of_elements]
    return joined


def _extremes(t: FloatArray, y: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each stretch of so many rows, in the order in which they came."""
    bins = math.ceil(len(y) / size)
    padded = np.append(y, np.full(bins * size - len(y), y[-1])).reshape(bins, size)
    pairs = np.sort(np.stack([padded.argmin(axis=1), padded.argmax(axis=1)], axis=1), axis=1)
    index = (pairs + size * np.arange(bins)[:, None]).ravel().clip(max=len(y) - 1)
    return t[index], y[index]


def wheel_style(layout: Layout, wheel: int) -> dict[str, Any]:
    """Colour by axle; left wheels broad, pale and solid, right ones thin, dark dashes, where the names say so.

    So all show where they coincide, in colour and in grey, and no colour is mixed of two. Right wheels lie over left
    ones, and rear ones over front ones; draw them in the order of `wheels_in_order`.
    """
    name = layout.wheels[wheel]
    axles = list(dict.fromkeys(_axle(other) for other in layout.wheels))
    place = axles.index(_axle(name)) % len(COLOURS)
    if "right" in name:
        return {"color": _DARK[place], "ls": (0, _DASHES[place]), "lw": 1.3}
    return {"color": _PALE[place], "ls": "-", "lw": _BROAD[place]}


def joint_style(layout: Layout, place: int) -> dict[str, Any]:
    """As the wheel that a driven joint's name begins with, a steering joint thinner; of no wheel: a colour by place."""
    joint = layout.servos[place]
    for wheel, name in enumerate(layout.wheels):
        if joint.startswith(name):
            style = wheel_style(layout, wheel)
            return style | ({"lw": 0.6 * style["lw"]} if joint.endswith("steering") else {})
    return {"color": COLOURS[place % len(COLOURS)]}


def wheels_in_order(layout: Layout) -> list[int]:
    """Numbers of the wheels in the order in which they are drawn: right ones last."""
    return sorted(range(len(layout.wheels)), key=lambda wheel: "right" in layout.wheels[wheel])


def _axle(wheel: str) -> str:
    return wheel.replace("left", "").replace("right", "")


def plot_line(axes: Axes, form: FigureForm, t_s: FloatArray, values: FloatArray, lw: float = 1.2, **style: Any) -> None:
    """Draw values over time, decimated, as wide as the form wants it."""
    axes.plot(*decimated(t_s, values), lw=form.line(lw), **style)


def new_figure(form: FigureForm, screen_in: tuple[float, float], print_mm: tuple[float, float]) -> Figure:
    """A figure of this size on the screen [in], or in the heights of a single and a double column [mm]."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # half a second to import, which colours do not need
    from matplotlib.figure import Figure

    figure = Figure(form.size_in(screen_in, print_mm), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def new_panels(form: FigureForm, count: int, height_in: float = 3.2, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels of this height [in] on the screen, two next to each other where there is room."""
    columns = min(form.columns, count)
    rows, high = -(-count // columns), height_in / 3.2
    figure = new_figure(form, (10.0, 1.1 + height_in * rows), (25.0 + 50.0 * rows * high, 25.0 + 55.0 * rows * high))
    grid = figure.subplots(rows, columns, squeeze=False, **options).ravel().tolist()
    for axes in grid[count:]:
        axes.set_axis_off()
    return figure, grid[:count]


def plot_wheels(axes: Axes, form: FigureForm, layout: Layout, lines: Sequence[Line], *, named: bool = True) -> None:
    """Draw the line of each wheel, times [s] and values, with its name for a legend or without."""
    for wheel in wheels_in_order(layout):
        name = layout.wheels[wheel].replace("_", " ") if named else None
        plot_line(axes, form, *lines[wheel], label=name, **wheel_style(layout, wheel))


def mark_phases(panels: Sequence[Axes], form: FigureForm, record: OpenRecord) -> None:
    """A line where the state of the experiment changes; over the panels of the first row what it was from then on."""
    states = dict(one.split("=", 1) for one in str(record.meta.get("states", "")).split(",") if "=" in one)
    found = [packed(block, ["t_ns", "state"]) for block in in_blocks(record.tick)]
    if not found:
        return
    rows = np.concatenate(found)
    begins = np.flatnonzero(np.diff(rows["state"].astype(int), prepend=-1))
    at_s = rows["t_ns"][begins] * 1e-9
    ends_s = np.append(at_s[1:], rows["t_ns"][-1] * 1e-9)
    for axes in panels:
        for t_s in at_s[1:]:
            axes.axvline(t_s, color=_PHASE, lw=form.line(0.8), zorder=0)
    names = [states.get(str(number), str(number)).lower() for number in rows["state"][begins].tolist()]
    for axes in panels[: form.columns]:
        name_phases(axes, form, list(zip(names, at_s.tolist(), ends_s.tolist(), strict=True)))


def name_phases(axes: Axes, form: FigureForm, spans: Sequence[tuple[str, float, float]]) -> None:
    """Name each phase that is as wide as its name, over no line; spans have name, begin and end."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + _HEAD * (high - low))
    size = form.font(8.0)
    first, last = axes.get_xlim()
    em_of_axis = panel_width_pt(axes) / size / (last - first)
    for name, begin, end in spans:
        words = name.replace("_", " ")
        if (end - begin) * em_of_axis > _WIDE_EM * len(words):
            style: dict[str, Any] = {"ha": "center", "va": "top", "color": "#404040", "fontsize": size}
            axes.text(0.5 * (begin + end), 0.985, words, transform=axes.get_xaxis_transform(), **style)


def share_legend(figure: Figure, form: FigureForm, *panels: Axes) -> None:
    """One legend for these panels, below all, where it lies over no line; each label once."""
    named = {label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    style: dict[str, Any] = {"fontsize": form.font(8.0), "frameon": False, "handlelength": 3.0}
    for count in range(min(max(len(named), 1), _COLUMNS), 0, -1):
        legend = figure.legend([*named.values()], [*named], loc="outside lower center", ncols=count, **style)
        if count == 1 or legend.get_window_extent().width < figure.bbox.width:
            return
        legend.remove()


def curve_style(form: FigureForm, place: int, **more: Any) -> dict[str, Any]:
    """Colour, marker and sizes of the curve at this place, with `more`."""
    style = {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}
    return style | {"lw": form.line(1.6), "ms": form.line(4.5)} | more


def panel_width_pt(axes: Axes) -> float:
    """Width that a panel will have, once the labels of its axes have their place, at least [pt]."""
    place, figure = axes.get_subplotspec(), axes.get_figure(root=True)
    columns = place.get_gridspec().ncols if place else 1
    return _OF_COLUMN * POINTS_PER_INCH * figure.get_figwidth() / columns  # type: ignore[union-attr]


def legend_above(axes: Axes, form: FigureForm, handles: Sequence[Any] | None = None) -> None:
    """A legend of one panel, above it, where it lies over no line; if its title has no place next to it, over both."""
    named = axes.get_legend_handles_labels()[0] if handles is None else handles
    style: dict[str, Any] = {"fontsize": form.font(7.5), "handlelength": 1.8, "columnspacing": 1.0, "frameon": False}
    title, size, width_pt = axes.get_title(loc="left"), form.font(10.0), panel_width_pt(axes)
    to_pt = POINTS_PER_INCH / axes.get_figure(root=True).dpi  # type: ignore[union-attr]
    for count in range(min(len(named), 4), 0, -1):
        legend = axes.legend(
            handles=named, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1, ncols=count, **style
        )
        box = legend.get_window_extent()
        if box.width * to_pt < width_pt:
            break
    if box.width * to_pt + _WIDE_EM * size * len(title) > width_pt:
        axes.set_title(title, loc="left", fontsize=size, pad=4.0 + box.height * to_pt)


def draw_limit(
    axes: Axes, form: FigureForm, at: float, words: str, colour: str = "black", *, upright: bool = False
) -> None:
    """A limit, as in all figures dotted, black or in the colour of what it limits, with its name for the legend."""
    draw = axes.axvline if upright else axes.axhline
    draw(at, color=colour, lw=form.line(1.2), ls=":", label=words, zorder=1.5)


def dress_panel(axes: Axes, form: FigureForm, title: str, unit: str, along: str = "") -> None:
    """Title, unit, what it is drawn over, grid and sizes of a panel."""
    size = form.font(10.0)
    axes.set_title(fill(title, round(panel_width_pt(axes) / (_WIDE_EM * size))), loc="left", fontsize=size)
    axes.set_ylabel(unit, fontsize=form.font(9.0))
    axes.set_xlabel(along, fontsize=form.font(9.0))
    axes.tick_params(labelsize=form.font(8.5))
    axes.grid(visible=True, color="#e4e4e4", lw=form.line(0.7))
    low, high = axes.get_ylim()
    largest = max(abs(low), abs(high))
    if (
        abs(high - low) < _LEAST_SPAN * largest
    ):  # the digits of a value that stays, in place of the last ones of its noise
        axes.set_ylim(0.5 * (low + high) - 0.05 * largest, 0.5 * (low + high) + 0.05 * largest)
