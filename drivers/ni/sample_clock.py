"""Times of samples: the device's sample clock mapped to the time of the run by the arrival times of its blocks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from drivers.device_clock import DeviceClock

# The returned times may run so much faster or slower than the estimated rate, to correct an error.
SLEW = 1e-3


class SampleClock:
    """Maps sample counts to the time of the run; the ticks of the device's clock are its samples (`DeviceClock`).

    The returned times follow the clock's line without a jump.

    Args:
        rate_hz: nominal samples a second and channel.
        delay_ns: from a sample to its arrival in the count, such as a filter's; subtracted from the times.
    """

    def __init__(self, rate_hz: float, delay_ns: int = 0) -> None:
        self._clock, self._delay_ns = DeviceClock(rate_hz), delay_ns
        self._count = 0  # samples arrived
        self._stamped: int | None = None  # samples with a time already, and the time of the last [ns since base]
        self._last_ns = 0.0

    @property
    def rate_hz(self) -> float:
        """Samples a second of the run."""
        return 1e9 / (self._clock.tick_ns + self._clock.skew)

    @property
    def offset_ns(self) -> int:
        """Time of the run at sample 0, by the present line [ns]."""
        return self._clock.base_ns + round(self._clock.since_base_ns(1)) - self._delay_ns

    def observe(self, count: int, arrived_ns: int) -> None:
        """Record that so many more samples of each channel had arrived at a time of the run [ns]."""
        self._count += count
        self._clock.observe(self._count, arrived_ns)

    def due_ns(self, count: int) -> int:
        """Earliest time at which so many more samples can have arrived [ns]."""
        return self._clock.base_ns + round(self._clock.since_base_ns(self._count + count))

    def stamp(self, count: int) -> npt.NDArray[np.int64]:
        """Returns the times of the next `count` samples [ns]; shape (count,), strictly increasing."""
        if self._stamped is None:
            self._stamped = self._count - count
            self._last_ns = self._clock.since_base_ns(self._stamped)
        period = self._clock.tick_ns + self._clock.skew
        wanted = (self._clock.since_base_ns(self._stamped + count) - self._last_ns) / count
        step = min(max(wanted, period * (1 - SLEW)), period * (1 + SLEW))
        times = self._last_ns + step * np.arange(1, count + 1)
        self._stamped += count
        self._last_ns = float(times[-1])
        return np.asarray(np.rint(times), np.int64) + (self._clock.base_ns - self._delay_ns)
