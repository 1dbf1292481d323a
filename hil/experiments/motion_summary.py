"""Slip, forward speed and pull of a window of a run, from what is measured, with 95 % intervals.

The mean forward speed is the observed way of the base over the window by its length, along its heading: its error is
that of the two places. The mean of the observed speeds themselves would have an error that lasts as long as the
observer remembers. The slip is that of the rims, 1 - v / (R omega), of the means: as a simulated rig knows it.

The mean of a series whose values depend on those before, with its 95 % interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.config import Config
from hil.control.following import MEASURED
from hil.experiments.source_check import Drift
from hil.experiments.summary import finite
from hil.messages.layout import INSTRUMENTS

# The sum of the autocorrelations ends at so many correlation times: further ones are noise (Sokal 1997, section 3, with
# half of the time that is called so here).
_WINDOWS = 2.5
# 97.5 % points of Student's t for 1 to 30 degrees of freedom; above, a series in their number (Abramowitz and Stegun,
# 26.7.5) is within 1e-4.
_STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
NORMAL = 1.959964


class _WindowMean(NamedTuple):
    """Mean, half-width of its 95 % interval, and the number of independent values that the series is worth."""

    mean: float
    u95: float
    independent: float


def window_mean(values: NDArray[np.float64]) -> _WindowMean:
    """Mean of equally spaced values; its interval takes their autocorrelation into account.

    A series of n values with the correlation time tau = 1 + 2 sum rho_k is worth n / tau independent ones. The mean of
    the series is taken out before rho is estimated, which makes it too small by about tau / n: that is added. A sum of
    m autocorrelations has about n / (2 m + 1) degrees of freedom: Student's t is taken for as many.

    Args:
        values: (n,), finite.

    Returns:
        All NaN without values; the interval is infinite of values that are worth fewer than two.

    Example:
        >>> window_mean(np.array([1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0])).mean
        1.5
    """
    count = values.size
    if count == 0:
        return _WindowMean(math.nan, math.nan, math.nan)
    mean = float(values.mean())
    rest = values - mean
    variance = float(rest @ rest) / count
    if variance <= 1e-24 * max(mean * mean, 1e-300):
        return _WindowMean(mean, 0.0 if count > 1 else math.inf, float(count))
    time, terms = _correlation_time(rest, variance)
    time = min(time, float(count))
    time = time / max(1.0 - time / count, 1e-9)
    independent = count / time
    if independent < 2.0:
        return _WindowMean(mean, math.inf, independent)
    deviation = math.sqrt(variance * independent / (independent - 1.0) / independent)
    return _WindowMean(mean, student(min(count / (2.0 * terms + 1.0), independent - 1.0)) * deviation, independent)


def student(freedom: float) -> float:
    """97.5 % point of Student's t; of a broken number of degrees of freedom that of the next lower whole one."""
    if freedom <= len(_STUDENT):
        return _STUDENT[max(int(freedom), 1) - 1]
    z = NORMAL
    return z + (z**3 + z) / (4.0 * freedom) + (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / (96.0 * freedom**2)


def _correlation_time(rest: NDArray[np.float64], variance: float) -> tuple[float, int]:
    """Of values with mean 0, in steps, at least 1; and the number of autocorrelations in it."""
    count = rest.size
    transformed = np.fft.rfft(rest, 2 * count)
    products = np.fft.irfft(transformed * transformed.conj(), 2 * count)[:count]
    sums = 2.0 * np.cumsum(products / (count * variance)) - 1.0
    enough = np.arange(count) >= _WINDOWS * sums
    last = int(enough.argmax()) if enough.any() else int(sums.argmax())
    return max(float(sums[last]), 1.0), last


# Values are means over this time, so that a window of ten minutes is no more than 60,000 of them [ns].
_BLOCK_NS = 10_000_000


class _Interval(NamedTuple):
    """A value, and the half-width of its 95 % interval."""

    value: float
    u95: float


class MeasuredWindow:
    """Takes the rows of a window, in order, block by block.

    Args:
        config: of a rig with an instrument that measures the rover's way.
        drift: of the instrument, where the rover stood afterwards; it may have been the same in the window.

    Attributes:
        rows: taken.
        unmeasured: of them, those in which its readings were not used.
    """

    def __init__(self, config: Config, drift: Drift | None = None) -> None:
        self._radii_m, self.drift = config.wheel_radii_m, drift
        self._source = config.layout.instruments.index(INSTRUMENTS[0])
        self._cell = config.loads.load_cell if config.loads else None
        self._ends: list[NDArray[np.void]] = []
        self._means: list[NDArray[np.float64]] = []
        self._step = max(round(_BLOCK_NS * 1e-9 * config.loop.rate_hz), 1)
        self._left = np.zeros((0, 3))
        self.rows = self.unmeasured = 0

    def add(self, ticks: NDArray[np.void]) -> None:
        """Take in rows."""
        if not len(ticks):
            return
        self._ends = [*self._ends[:1], ticks[-1].copy()] if self._ends else [ticks[0].copy(), ticks[-1].copy()]
        self.rows += len(ticks)
        self.unmeasured += int((~np.isin(ticks["source"][:, self._source], list(MEASURED))).sum())
        pull = ticks["pull_N"] if self._cell else np.zeros(len(ticks))
        rims = (ticks["wheel_speed_radps"] * self._radii_m).mean(axis=1)
        values = np.concatenate([self._left, np.column_stack([ticks["speed_mps"], rims, pull])])
        whole = len(values) // self._step * self._step
        self._means.append(values[:whole].reshape(-1, self._step, 3).mean(axis=1))
        self._left = values[whole:]

    @property
    def speed(self) -> _Interval:
        """Mean forward speed [m/s]: the way between the first and the last row."""
        if len(self._ends) < 2:
            return _Interval(math.nan, math.nan)
        first, last = self._ends
        span_s = float(last["t_ns"] - first["t_ns"]) * 1e-9
        if span_s <= 0.0:
            return _Interval(math.nan, math.nan)
        ahead = _ahead(first["pose"][3:]) + _ahead(last["pose"][3:])
        ahead /= np.linalg.norm(ahead)
        way = float((last["pose"][:3].astype(float) - first["pose"][:3]) @ ahead)
        each = [float(np.linalg.norm(row["pose_sd"][:3].astype(float) * ahead)) for row in (first, last)]
        drift_mps = 0.0 if self.drift is None else math.hypot(self.drift.rate_mps, NORMAL * self.drift.sd_mps)
        return _Interval(way / span_s, math.hypot(NORMAL * math.hypot(*each) / span_s, drift_mps))

    @property
    def slip(self) -> _Interval:
        """Slip of the rims: measurement, and scatter of the slip within the window."""
        speed, values = self.speed, np.concatenate([*self._means, np.zeros((0, 3))])
        rims = float(values[:, 1].mean()) if len(values) else math.nan
        if not rims > 0.0:
            return _Interval(math.nan, math.nan)
        kept = speed.value / rims
        scatter = window_mean(values[:, 0] - kept * values[:, 1]).u95
        return _Interval(1.0 - kept, math.hypot(speed.u95, scatter) / rims)

    @property
    def pull(self) -> _Interval | None:
        """Drawbar pull by the load cell [N]: scatter, sensitivity and zero; None: there is no load cell."""
        if self._cell is None:
            return None
        found = window_mean(np.concatenate([*self._means, np.zeros((0, 3))])[:, 2])
        sensitivity_N, zero_N = self._cell.sensitivity_u95 * found.mean, self._cell.zero_u95 * self._cell.force_N
        return _Interval(found.mean, math.hypot(found.u95, sensitivity_N, zero_N))

    def summary(self) -> dict[str, Any]:
        """Keys as docs/reference/summary.md lists them."""
        speed, slip, pull = self.speed, self.slip, self.pull
        return {
            "measured": bool(self.rows) and not self.unmeasured,
            "unmeasured_share": self.unmeasured / self.rows if self.rows else None,
            "slip": finite(slip.value),
            "slip_u95": finite(slip.u95),
            "speed_mps": finite(speed.value),
            "speed_u95_mps": finite(speed.u95),
            **({} if pull is None else {"pull_N": finite(pull.value), "pull_u95_N": finite(pull.u95)}),
        }


def measurement_reasons(summary: Mapping[str, Any]) -> list[str]:
    """Why values of `MeasuredWindow.summary` do not count; none where they do, or nothing measures the rover's way."""
    share = summary.get("unmeasured_share")
    if not share:
        return []
    return [
        f"the forward speed was not measured in {share:.1%} of the measurement: no reading of motion was used (field "
        "source of the record); allowed: 0 %"
    ]


def _ahead(quaternion: NDArray[np.float32]) -> NDArray[np.float64]:
    """The base's x axis in the world, by its quaternion x y z w."""
    x, y, z, w = map(float, quaternion)
    return np.array([1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)])
