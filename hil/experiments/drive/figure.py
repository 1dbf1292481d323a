"""The figure of a drive, `drive.png`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hil.experiments.drawing import decimated, wheel_style
from hil.messages.layout import Layout
from hil.recording import TrialRecord

_SIZE_IN, _DPI = (12.0, 9.0), 100


def draw_drive(record: TrialRecord, summary: Mapping[str, Any], path: Path) -> None:
    """Draw wheel speeds set and measured, slip, normal forces, sinkage and rover speed over time.

    Args:
        record: of the run.
        summary: as in `summary.json`.
        path: of the PNG to write.
    """
    layout = Layout.from_json(str(record.meta["layout"]))
    figure = Figure(_SIZE_IN, dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(3, 2, sharex=True)
    t_s, tick = record.tick["t_ns"] * 1e-9, record.tick
    panels = (
        (grid[0, 0], "wheel_speed_radps", "Wheel speeds, measured", "[rad/s]", 1.0),
        (grid[0, 1], "slip", "Slip, twin", "[-]", 1.0),
        (grid[1, 0], "normal_force_N", "Wheel normal forces, twin", "[N]", 1.0),
        (grid[1, 1], "sinkage_m", "Sinkage, twin", "[mm]", 1e3),
    )
    for axes, field, title, unit, scale in panels:
        for wheel, name in enumerate(layout.wheels):
            _plot(axes, t_s, tick[field][:, wheel] * scale, label=name.replace("_", " "), **wheel_style(layout, wheel))
        _dress(axes, title, unit)
    for wheel in range(len(layout.wheels)):
        _plot(grid[2, 0], t_s, tick["set_speed_radps"][:, wheel], **wheel_style(layout, wheel))
    _dress(grid[2, 0], "Wheel speeds, set", "[rad/s]")
    _plot(grid[2, 1], t_s, tick["speed_mps"] * 1e3, color="black")
    _dress(grid[2, 1], "Forward speed of the rover, twin", "[mm/s]")
    for axes in grid[2]:
        axes.set_xlabel("time [s]")
    grid[0, 0].legend(fontsize=8, ncols=2, frameon=False)
    verdict = "accepted" if summary.get("accepted") else "not accepted: " + "; ".join(summary.get("reasons") or [])
    figure.suptitle(f"Drive, {summary.get('way_m') or 0.0:.3f} m: {verdict}"[:150], x=0.01, ha="left")
    figure.savefig(path, format="png", dpi=_DPI)


def _plot(axes: Axes, t_s: NDArray[Any], values: NDArray[Any], **style: Any) -> None:
    axes.plot(*decimated(t_s, values), **({"lw": 1.2} | style))


def _dress(axes: Axes, title: str, unit: str) -> None:
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_ylabel(unit, fontsize=9)
    axes.grid(visible=True, color="#e4e4e4", lw=0.7)
