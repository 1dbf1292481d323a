"""Figures of `hil energy --compliance`, `--sensitivity` and `--standing`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from hil.analysis.energy import EnergyCurve
from hil.analysis.energy_compliance import draw_compliance
from hil.analysis.energy_sensitivity import draw_sensitivity
from hil.analysis.energy_standing import draw_standing
from hil.config.whole_file import replacing


def save_parts(folder: Path, parts: Mapping[str, Any], curve: EnergyCurve, at_deg: float) -> None:
    """Write energy_compliance.png, energy_sensitivity.png and energy_standing.png, of what is in `parts`.

    Args:
        folder: to write to.
        parts: `compliance`, `sensitivity` and `standing`, any of them.
        curve: T_c, and the angles of all parts.
        at_deg: angle of the figure over the plate's stiffness.
    """
    angles_deg = curve["angles_deg"]
    if "compliance" in parts:
        figure = _figure(9.0)
        over_angle, over_plate = figure.subplots(1, 2)
        draw_compliance(over_angle, over_plate, parts["compliance"], angles_deg, at_deg)
        _save(figure, folder / "energy_compliance.png")
    if "sensitivity" in parts:
        figure = _figure(7.0)
        draw_sensitivity(figure.add_subplot(), parts["sensitivity"], angles_deg)
        _save(figure, folder / "energy_sensitivity.png")
    if "standing" in parts:
        figure = _figure(9.0)
        friction, share = figure.subplots(1, 2)
        draw_standing(friction, share, parts["standing"], curve)
        _save(figure, folder / "energy_standing.png")


def _save(figure: Figure, path: Path) -> None:
    with replacing(path) as unfinished:
        figure.savefig(unfinished, dpi=150)


def _figure(width_in: float) -> Figure:
    figure = Figure(figsize=(width_in, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
