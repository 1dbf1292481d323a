"""How evenly loads are shared, how soon and how well a wanted distribution is reached: arrays in, numbers out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
# Spread and step response are those of loads averaged over this time [s].
WINDOW_S = 0.5
# A spread so close to its best has settled.
BAND = 0.03
# A share has settled within this part of its step.
SHARE_BAND = 0.1


def mean_between(t_s: FloatArray, values: FloatArray, begin_s: float, end_s: float) -> FloatArray | None:
    """Mean over time of values (n, k) in (begin, end]; None: there are none."""
    inside = values[(t_s > begin_s) & (t_s <= end_s)]
    return inside.mean(axis=0) if len(inside) else None


def running_mean(t_s: FloatArray, values: FloatArray, window_s: float = WINDOW_S) -> FloatArray:
    """At each time the mean of values (n, k) over the window that ends there, as far as there are values.

    Args:
        t_s: (n,) [s], rising.
        values: (n, k).
        window_s: length of the window [s].
    """
    first = np.searchsorted(t_s, t_s - window_s, side="right")
    sums = np.vstack([np.zeros(values.shape[1]), np.cumsum(values, axis=0)])
    last = np.arange(1, len(t_s) + 1)
    return np.asarray((sums[last] - sums[first]) / (last - first)[:, None])


def settling_time(t_s: FloatArray, values: FloatArray, wanted: float, band: float) -> float | None:
    """When values (n,) came within the band of the wanted one for good: their first time [s] there; None: never."""
    outside = np.flatnonzero(~(np.abs(values - wanted) <= band))
    after = outside[-1] + 1 if outside.size else 0
    return float(t_s[after]) if after < len(t_s) else None


class _StepResponse(NamedTuple):
    """Answer of a quantity to a step.

    Attributes:
        settle_s: from the step until it stays within SHARE_BAND of the step from its final value; None: never.
        overshoot: how far it went beyond its final value, over the step.
    """

    settle_s: float | None
    overshoot: float


def step_response(t_s: FloatArray, values: FloatArray, before: float, final: float) -> _StepResponse | None:
    """How values (n,) from a step on at time 0 [s] went from `before` to `final`; None: there is no step."""
    step = final - before
    if step == 0.0 or not len(values):
        return None
    settle_s = settling_time(t_s, values, final, SHARE_BAND * abs(step))
    return _StepResponse(settle_s, max(float(((values - final) / step).max()), 0.0))
