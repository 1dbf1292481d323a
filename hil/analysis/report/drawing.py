"""Style of the report's figures, and the files they become.

Every line and marker differs in shape as well as in colour, for the colour-blind and for a print in grey.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hil.experiments.drawing import MARKERS, lay_below, write_figure
from hil.experiments.figure_form import FORMATS

# Widths of a page of A4 between its margins, and of a journal's two columns [in].
WIDTH_IN = 7.09
DPI = 200
# One meaning a colour, in all figures: black and grey are forces, this is T_c, and of an angle it is its own.
_OF_ANGLES = mpl.colormaps["viridis"]
DROPPED: dict[str, Any] = {"marker": "x", "color": "#888888", "ls": "none", "ms": 4.5, "mew": 1.0}
_STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "axes.grid": True,
    "grid.color": "#e2e2e2",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "legend.frameon": False,
}


def new_figure(height_in: float) -> Figure:
    """An empty figure, as wide as a page."""
    figure = Figure((WIDTH_IN, height_in), layout="constrained")
    return figure


def styled() -> Any:
    """Context in which the report's figures are drawn and saved."""
    return mpl.rc_context(_STYLE)


def marker_of(place: int) -> str:
    """Marker of the group at this place."""
    return MARKERS[place % len(MARKERS)]


def colour_of_angle(angle_deg: float) -> str:
    """The colour of an obstacle's angle [deg], the same in every figure: dark at 0, light at 90."""
    return mpl.colors.to_hex(_OF_ANGLES(0.85 * min(max(angle_deg / 90.0, 0.0), 1.0)))


def legend_below(figure: Figure, *handles: Any, columns: int = 4) -> None:
    """The legend of a figure under its panels, where it lies over no data; each label once."""
    named = {handle.get_label(): handle for handle in handles}
    figure.legend(handles=[*named.values()], loc="outside lower center", ncols=columns)


def say_nothing(axes: Axes, words: str) -> None:
    """In place of a diagram for which there are no numbers."""
    axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color="#666666", parse_math=False)
    axes.set(xticks=[], yticks=[])


def plain(text: str) -> str:
    """Text for a legend, where dollars would begin a formula."""
    return text.replace("$", r"\$")


def settle(figure: Figure, words: str) -> None:
    """Lay a drawn figure out, once: the layout takes longer than the drawing, and each saving would do it again.

    The words say, in a line below it, of which campaign it is.
    """
    lay_below(figure, words, 6.0)
    for _ in range(1 + any(axes.get_aspect() != "auto" for axes in figure.axes)):
        figure.draw_without_rendering()  # panels of equal scales find their place in the second layout
    figure.set_layout_engine("none")


def save(figure: Figure, place: Path, title: str, facts: Mapping[str, str]) -> list[Path]:
    """Write a figure in every format.

    The place is without an ending; the facts on what it is of are found in every file. Returns the files.
    """
    paths = [place.with_name(f"{place.name}.{ending}") for ending in FORMATS]
    for path in paths:
        write_figure(figure, path, title, facts, DPI)
    return paths
