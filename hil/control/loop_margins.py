"""Margins of the outer loop against a linear model: what it controls follows its output, with a lag and a delay.

L(s) = a (P + I/s) exp(-T s) / (1 + lag s), with a = 1 where the wheels do not slip; with slip s the rover follows with
a = 1 - s, and the margins are larger.
"""

from __future__ import annotations

import cmath
import math
from typing import NamedTuple


class Margins(NamedTuple):
    """Of a loop.

    Attributes:
        phase_deg: phase margin.
        crossover_radps: frequency at which the loop's gain is 1 [rad/s].
        gain: gain margin, a factor; infinity: no gain makes it unstable.
        delay_s: further delay that makes it unstable [s].
    """

    phase_deg: float
    crossover_radps: float
    gain: float
    delay_s: float


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
