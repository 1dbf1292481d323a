"""Words across a figure that nobody shall take for a good one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imread

_DPI = 100


def stamp(path: Path, words: str) -> None:
    """Write words across a figure, whoever drew it.

    Args:
        path: of a PNG, which is replaced.
        words: a line or two.
    """
    image = imread(path)
    height, width = image.shape[:2]
    figure = Figure((width / _DPI, height / _DPI), dpi=_DPI)
    FigureCanvasAgg(figure)
    figure.figimage(image)
    box = {"facecolor": "white", "edgecolor": "#cc3311", "alpha": 0.85, "lw": 3}
    style: dict[str, Any] = {
        "ha": "center",
        "va": "center",
        "color": "#cc3311",
        "fontsize": 16,
        "fontweight": "bold",
        "bbox": box,
    }
    for y in (0.25, 0.75):  # twice, so that no half of it does without
        figure.text(0.5, y, words, rotation=10, parse_math=False, **style)
    figure.savefig(path, format="png", dpi=_DPI)
