"""The mean of a series whose values depend on those before, with its 95 % interval."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
