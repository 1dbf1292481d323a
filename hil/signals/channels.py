"""The sensors, their AC coupling inverted, and how uncertainties add up (GUM, F.2.4)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from hil.signals.vibration import ShieldResonance

Floats = NDArray[np.float64]


class SensorChannels(NamedTuple):
    """The sensors and their calibration."""

    rate_hz: int  # samples a second and channel
    newton_per_volt: Floats  # (channels,), newtons on the plate
    droop_s: Floats  # (channels,) time constant of each AC coupling [s]
    sensitivity_u95: Floats  # (channels,) half-width of the 95 % interval of each sensitivity, relative
    droop_u95: Floats  # (channels,) the same of each time constant
    place: Floats  # (channels, 2) sensors on the plate, across and up [m]; NaN of a bumper's, and for up of links'
    each: bool  # every channel has its own shield (bumpers); else all stand behind one plate
    ring: ShieldResonance  # of the shield, as stated; what the samples show goes before it
    # half-width of the 95 % interval of what all channels alike are scaled with, relative: the lever of the hit on
    # links of the frame, which nothing measures.
    lever_u95: float = 0.0


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


COVERAGE = 0.95
WIDTH = 1.959964  # of a normal distribution's 95 % interval, half of it, in standard deviations


def combined(*parts: float) -> float:
    """Standard uncertainties of independent causes together."""
    return math.sqrt(sum(part * part for part in parts))


def half_width(standard: float, left_in: float = 0.0) -> float:
    """Half-width of the 95 % interval about a value.

    `left_in` is an error that is known but was not taken out of the value.
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
