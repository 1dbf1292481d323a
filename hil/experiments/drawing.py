"""What the figures of experiments share: lines no longer than they are wide, and how each wheel is drawn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.messages.layout import Layout

FloatArray = NDArray[np.floating[Any]]
# Stretches of a line: about one a pixel of a panel.
_BINS = 700
# Told apart by the colour-blind; wheels of one axle share a colour.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")


def decimated(t: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each of at most `_BINS` stretches: what a line this wide can show."""
    size = math.ceil(len(y) / _BINS)
    if size < 3:
        return t, y
    bins = math.ceil(len(y) / size)
    padded = np.append(y, np.full(bins * size - len(y), y[-1])).reshape(bins, size)
    pairs = np.sort(np.stack([padded.argmin(axis=1), padded.argmax(axis=1)], axis=1), axis=1)
    index = (pairs + size * np.arange(bins)[:, None]).ravel().clip(max=len(y) - 1)
    return t[index], y[index]


def wheel_style(layout: Layout, wheel: int) -> dict[str, Any]:
    """Colour by axle; left wheels solid, right ones dashed, where the names say so."""
    name = layout.wheels[wheel]
    axles = list(dict.fromkeys(_axle(other) for other in layout.wheels))
    colour = COLOURS[axles.index(_axle(name)) % len(COLOURS)]
    return {"color": colour, "ls": "--" if "right" in name else "-"}


def _axle(wheel: str) -> str:
    return wheel.replace("left", "").replace("right", "")
