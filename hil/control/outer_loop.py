"""An outer loop on a measured quantity: proportional and integral, with limits, on top of a feed-forward."""

from __future__ import annotations

import math


class OuterLoop:
    """A PI controller whose output is bounded, and changes no faster than it may.

    The integral stands still while the output is at a limit that its error drives it into: it does not wind up. With
    an error that is not known the correction stays as it is.

    Args:
        gain: output over error.
        integral_per_s: growth of the output in a second over the error [1/s].
        period_s: time between ticks.
        change: largest change of the output in a tick.

    Attributes:
        output: of the last tick.
    """

    def __init__(self, gain: float, integral_per_s: float, period_s: float, change: float) -> None:
        self._gain, self._integral_per_tick, self._change = gain, integral_per_s * period_s, change
        self._correction = self._integral = self.output = 0.0

    def step(self, forward: float, error: float, most: float) -> float:
        """The output of this tick.

        Args:
            forward: feed-forward.
            error: wanted less measured; NaN: it is not known.
            most: largest output; the least is 0.
        """
        known = not math.isnan(error)
        if known:
            self._correction = self._gain * error + self._integral
        wished = forward + self._correction
        low, high = max(self.output - self._change, 0.0), min(self.output + self._change, most)
        self.output = min(max(wished, low), max(high, 0.0))
        if known and not (wished > self.output and error > 0.0) and not (wished < self.output and error < 0.0):
            self._integral += self._integral_per_tick * error
        return self.output

    def reset(self) -> None:
        """Start again from rest."""
        self._correction = self._integral = self.output = 0.0
