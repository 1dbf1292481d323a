"""Times of samples: the device's sample clock mapped to the time of the run by the arrival times of its blocks."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

# Arrivals are evaluated over this window [s]; of each bin [s] only the least late one counts.
WINDOW_S = 10.0
BIN_S = 0.05
# The rate is estimated once so much time has passed [s], and limited to so much off the nominal one: a converter's
# crystal is accurate to 50 ppm, and a computer's clock may be slewed by 500 ppm.
RATE_AFTER_S = 2.0
RATE_OFF = 6e-4
# The returned times may run so much faster or slower than the estimated rate, to correct an error.
SLEW = 1e-3

_Point = tuple[float, float]


class SampleClock:
    """Maps sample counts to the time of the run.

    A block arrives late, never early, so the least late arrivals give the time: the line that lies below all arrivals
    of the last WINDOW_S and closest to them (Moon, Skelly and Towsley 1999, "Estimation and removal of clock skew from
    network delay measurements": the edge of the lower convex hull above the mean abscissa). The delay of the least late
    arrival remains in the times; it cannot be measured here. The returned times follow the line without a jump.

    Args:
        rate_hz: nominal samples a second and channel.
        delay_ns: from a sample to its arrival in the count, such as a filter's; subtracted from the times.
    """

    def __init__(self, rate_hz: float, delay_ns: int = 0) -> None:
        self._period_ns, self._delay_ns = 1e9 / rate_hz, delay_ns
        self._bin_samples = BIN_S * rate_hz
        self._bins: deque[_Point] = deque(maxlen=round(WINDOW_S / BIN_S))  # samples, lateness [ns]
        self._least: _Point | None = None  # of the current bin
        self._bin_ends = self._bin_samples
        self._base_ns = 0
        self._late_ns, self._skew = 0.0, 0.0  # lateness of sample 0, and its growth [ns a sample]
        self._count = 0  # samples arrived
        self._stamped: int | None = None  # samples with a time already, and the time of the last [ns since base]
        self._last_ns = 0.0

    @property
    def rate_hz(self) -> float:
        """Samples a second of the run."""
        return 1e9 / (self._period_ns + self._skew)

    @property
    def offset_ns(self) -> int:
        """Time of the run at sample 0, by the present line [ns]."""
        return self._base_ns + round(self._line(1)) - self._delay_ns

    def observe(self, count: int, arrived_ns: int) -> None:
        """Record that so many more samples of each channel had arrived at a time of the run [ns]."""
        if self._count == 0:
            self._base_ns = arrived_ns
        self._count += count
        lateness = arrived_ns - self._base_ns - self._count * self._period_ns
        over = self._least is not None and self._count > self._bin_ends
        if over and self._least is not None:
            self._bins.append(self._least)
            self._bin_ends = self._count + self._bin_samples
        if over or self._least is None or lateness < self._least[1]:
            self._least = (self._count, lateness)
            self._fit()

    def due_ns(self, count: int) -> int:
        """Earliest time at which so many more samples can have arrived [ns]."""
        return self._base_ns + round(self._line(self._count + count))

    def stamp(self, count: int) -> npt.NDArray[np.int64]:
        """Times of the next `count` samples [ns]; shape (count,), strictly increasing."""
        if self._stamped is None:
            self._stamped = self._count - count
            self._last_ns = self._line(self._stamped)
        period = self._period_ns + self._skew
        wanted = (self._line(self._stamped + count) - self._last_ns) / count
        step = min(max(wanted, period * (1 - SLEW)), period * (1 + SLEW))
        times = self._last_ns + step * np.arange(1, count + 1)
        self._stamped += count
        self._last_ns = float(times[-1])
        return np.asarray(np.rint(times), np.int64) + (self._base_ns - self._delay_ns)

    def _line(self, count: int) -> float:
        return count * (self._period_ns + self._skew) + self._late_ns

    def _fit(self) -> None:
        points = list(self._bins) if self._least is None else [*self._bins, self._least]
        skew = 0.0
        if points[-1][0] - points[0][0] >= RATE_AFTER_S * 1e9 / self._period_ns:
            reach = RATE_OFF * self._period_ns
            skew = min(max(_slope_below(points), -reach), reach)
        self._skew = skew
        self._late_ns = min(lateness - skew * count for count, lateness in points)


def _slope_below(points: list[_Point]) -> float:
    """Slope of the lower convex hull's edge over the mean abscissa; abscissas grow."""
    hull: list[_Point] = []
    for point in points:
        while len(hull) > 1 and _turns_down(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    mean = sum(x for x, _ in points) / len(points)
    right = next(i for i, (x, _) in enumerate(hull) if x >= mean)
    (x0, y0), (x1, y1) = hull[max(right, 1) - 1], hull[max(right, 1)]
    return (y1 - y0) / (x1 - x0)


def _turns_down(a: _Point, b: _Point, c: _Point) -> bool:
    """Whether b lies on or above the chord from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])
