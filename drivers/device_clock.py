"""The clock of a device mapped to the time of the run, by when its messages arrive."""

from __future__ import annotations

from collections import deque

# Arrivals are evaluated over this window [s]; of each bin [s] only the least late one counts.
WINDOW_S = 10.0
BIN_S = 0.05
# The rate is estimated once so much time has passed [s], and limited to so much off the nominal one: a converter's
# crystal is accurate to 50 ppm, and a computer's clock may be slewed by 500 ppm.
RATE_AFTER_S = 2.0
RATE_OFF = 6e-4

_Point = tuple[float, float]


class DeviceClock:
    """Maps the time of a device's clock, in its own ticks, to the time of the run.

    A message arrives late, never early, so the least late arrivals give the time: the line that lies below all arrivals
    of the last WINDOW_S and closest to them (Moon, Skelly and Towsley 1999, "Estimation and removal of clock skew from
    network delay measurements": the edge of the lower convex hull above the mean abscissa). The delay of the least late
    arrival remains in the times; it cannot be measured here.

    Args:
        tick_hz: nominal ticks a second.

    Attributes:
        tick_ns: nominal length of a tick [ns].
        base_ns: arrival of the first message [ns].
        skew: how much longer a tick is in the time of the run [ns].
    """

    def __init__(self, tick_hz: float) -> None:
        self.tick_ns = 1e9 / tick_hz
        self._bin_ticks = BIN_S * tick_hz
        self._bins: deque[_Point] = deque(maxlen=round(WINDOW_S / BIN_S))  # ticks, lateness [ns]
        self._least: _Point | None = None  # of the current bin
        self._bin_ends = self._bin_ticks
        self.base_ns = 0
        self._late_ns, self.skew = 0.0, 0.0  # lateness at tick 0, and its growth [ns a tick]

    def observe(self, ticks: float, arrived_ns: int) -> None:
        """Record that a message of a time of the device [ticks] has arrived at a time of the run [ns]."""
        if self._least is None:
            self.base_ns = arrived_ns
        lateness = arrived_ns - self.base_ns - ticks * self.tick_ns
        over = self._least is not None and ticks > self._bin_ends
        if over and self._least is not None:
            self._bins.append(self._least)
            self._bin_ends = ticks + self._bin_ticks
        if over or self._least is None or lateness < self._least[1]:
            self._least = (ticks, lateness)
            self._fit()

    def since_base_ns(self, ticks: float) -> float:
        """Returns the time of the run since `base_ns` at a time of the device [ns]."""
        return ticks * (self.tick_ns + self.skew) + self._late_ns

    def _fit(self) -> None:
        points = list(self._bins) if self._least is None else [*self._bins, self._least]
        skew = 0.0
        if points[-1][0] - points[0][0] >= RATE_AFTER_S * 1e9 / self.tick_ns:
            reach = RATE_OFF * self.tick_ns
            skew = min(max(_slope_below(points), -reach), reach)
        self.skew = skew
        self._late_ns = min(lateness - skew * ticks for ticks, lateness in points)


def _slope_below(points: list[_Point]) -> float:
    """Returns the slope of the lower convex hull's edge over the mean abscissa; abscissas grow."""
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
    """Returns whether b lies on or above the chord from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])
