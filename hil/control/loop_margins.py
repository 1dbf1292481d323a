"""Margins of the outer loop against a linear model: what it controls follows its output, with a lag and a delay.

L(s) = a (P + I/s) exp(-T s) / (1 + lag s), with a = 1 where the wheels do not slip; with slip s the rover follows with
a = 1 - s, and the margins are larger.

A loop on torque moves an inertia J instead, which nothing brakes but the motor. The motor's own slope of torque over
speed, k, is made up for with the speed of a time T_k ago:

    L(s) = (P + I/s + D s / (1 + f s)) exp(-T s) / ((1 + lag s) (J s + k (1 - exp(-T_k s)))).
"""

from __future__ import annotations

import cmath
import math
from typing import NamedTuple

import numpy as np


class Margins(NamedTuple):
    """Of a loop."""

    phase_deg: float  #: phase margin
    crossover_radps: float  #: frequency at which the loop's gain is 1 [rad/s]
    gain: float  #: gain margin, a factor; infinity: no gain makes it unstable
    delay_s: float  #: further delay that makes it unstable [s]


class TorqueLine(NamedTuple):
    """What a loop on torque works on."""

    inertia: float  #: J that one motor moves [kg m^2]
    slope: float  #: k, stall torque over no-load speed of the motor [N m s/rad]
    speed_delay_s: float  #: T_k, of the speed with which the motor's slope is made up for
    lag_s: float  #: of the first-order lag of what is measured
    delay_s: float  #: T around the loop


# Frequencies at which a loop on torque is looked at [rad/s]: neighbours are 0.4 % apart.
_LOW, _HIGH, _COUNT = 1e-3, 1e4, 4000


def torque_margins(gain: float, integral: float, derivative: float, filter_s: float, line: TorqueLine) -> Margins:
    """Margins of a loop on torque, above the frequency from which on its gain stays below 1.

    Args:
        gain: P [N m s/rad].
        integral: I [N m/rad].
        derivative: D [N m s^2/rad].
        filter_s: f.
        line: what it works on.
    """
    w = np.geomspace(_LOW, _HIGH, _COUNT)
    s = 1j * w
    pid = gain + integral / s + derivative * s / (1.0 + filter_s * s)
    moved = line.inertia * s + line.slope * (1.0 - np.exp(-s * line.speed_delay_s))
    response = pid * np.exp(-s * line.delay_s) / ((1.0 + line.lag_s * s) * moved)
    size, phase = np.abs(response), np.unwrap(np.angle(response))
    phase -= 2.0 * math.pi * np.round((phase[0] + math.pi) / (2.0 * math.pi))  # it begins near -pi, or at -pi/2
    above = np.flatnonzero(size >= 1.0)
    if not above.size or above[-1] == _COUNT - 1:
        return Margins(math.degrees(math.pi), _LOW, math.inf, math.inf) if not above.size else Margins(0, _HIGH, 0, 0)
    last = int(above[-1])
    margin = math.pi + float(phase[last])
    turned = np.flatnonzero(phase[last:] < -math.pi)
    largest = 1.0 / float(size[last + turned[0]]) if turned.size else math.inf
    return Margins(math.degrees(margin), float(w[last]), largest, margin / float(w[last]))


def loop_margins(gain: float, integral_per_s: float, lag_s: float, delay_s: float, share: float = 1.0) -> Margins:
    """Margins of the loop.

    Args:
        gain: P, below 1.
        integral_per_s: I [1/s], above 0.
        lag_s: of the first-order lag [s].
        delay_s: T [s].
        share: a, what of the output the controlled quantity follows with.
    """
    p, i = share * gain, share * integral_per_s
    # |L| = 1: lag^2 x^2 + (1 - P^2) x - I^2 = 0 with x = w^2
    b, c = 1.0 - p * p, i * i
    square = c / b if lag_s == 0.0 else 2.0 * c / (b + math.sqrt(b * b + 4.0 * lag_s * lag_s * c))
    crossover = math.sqrt(square)
    phase = math.pi + _phase(gain, integral_per_s, lag_s, delay_s, crossover)
    turned = _phase_crossing(gain, integral_per_s, lag_s, delay_s)
    magnitude = 0.0
    if turned is not None:
        magnitude = abs(complex(p, -i / turned)) / abs(complex(1.0, lag_s * turned))
    return Margins(math.degrees(phase), crossover, 1.0 / magnitude if magnitude else math.inf, phase / crossover)


def _phase(gain: float, integral_per_s: float, lag_s: float, delay_s: float, frequency: float) -> float:
    """Of L [rad], from -pi/2 downwards."""
    pi_part = cmath.phase(complex(gain, -integral_per_s / frequency))
    return pi_part - math.atan(lag_s * frequency) - delay_s * frequency


def _phase_crossing(gain: float, integral_per_s: float, lag_s: float, delay_s: float) -> float | None:
    """Lowest frequency at which the phase of L is -pi [rad/s]; None: nowhere."""
    low = high = 1e-3
    while _phase(gain, integral_per_s, lag_s, delay_s, high) > -math.pi:
        low, high = high, 1.25 * high
        if high > 1e6:
            return None
    for _ in range(80):
        middle = 0.5 * (low + high)
        if _phase(gain, integral_per_s, lag_s, delay_s, middle) > -math.pi:
            low = middle
        else:
            high = middle
    return high
