"""How uncertainties add up: in quadrature, and an error that is known but left in by its amount (GUM, F.2.4)."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

COVERAGE = 0.95
WIDTH = 1.959964  # of a normal distribution's 95 % interval, half of it, in standard deviations


def combined(*parts: float) -> float:
    """Standard uncertainties of independent causes together."""
    return math.sqrt(sum(part * part for part in parts))


def half_width(standard: float, left_in: float = 0.0) -> float:
    """Half-width of the 95 % interval about a value.

    Args:
        standard: its standard uncertainty.
        left_in: an error that is known but was not taken out of the value.
    """
    shift = abs(left_in)
    if standard <= 0.0 or not math.isfinite(standard + shift):
        return WIDTH * standard + shift
    low, high = shift, shift + 2.0 * WIDTH * standard
    for _ in range(60):
        middle = 0.5 * (low + high)
        inside = float(ndtr((middle - shift) / standard) - ndtr((-middle - shift) / standard))
        low, high = (middle, high) if inside < COVERAGE else (low, middle)
    return float(np.mean([low, high]))
