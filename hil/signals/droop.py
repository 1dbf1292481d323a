"""The AC coupling of the sensors inverted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def removed_by_coupling(readings: Floats, rate_hz: float, droop_s: Floats) -> Floats:
    """What a first-order AC coupling has taken from the force: the integral of the reading over its time constant.

    Added to the reading it gives the force (as hil.estimation.channels does sample by sample).

    Args:
        readings: (n, channels), without their offset, from a time on at which no force acted.
        rate_hz: samples a second.
        droop_s: (channels,) time constants [s].

    Returns:
        (n, channels), in the unit of the readings.
    """
    return np.cumsum(readings, axis=0) / (rate_hz * np.asarray(droop_s))
