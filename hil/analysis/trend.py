"""Does the force over the obstacle's angle go as that of T_c? One number with its interval, and a verdict in words.

The law of a linear spring is F = a T_c^(1/2) (MacMahon 2016, 5.2). Asked is the exponent b of F = a T_c^b. Trials of
one angle share their T_c, so that only the angles are independent evidence of a trend: b is fitted to the means of the
angles, by least squares of the logarithms; its interval has as many degrees of freedom as there are angles, less two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from hil.analysis.statistics import LEVEL

# Exponent of a linear spring's law.
SPRING = 0.5
# With fewer angles than this b has no interval.
LEAST_ANGLES = 3
_ROUNDING = 1e-9  # means that lie exactly on a law have no interval


class TrendVerdict(StrEnum):
    """What the interval of b allows to be said of the trend."""

    FOLLOWS = "follows T_c"  # holds 1/2, and not 0
    DIFFERS = "differs from T_c"  # does not hold 1/2
    NOT_SHOWN = "does not show a trend"  # holds both: a trend cannot be told from none
    TOO_FEW = "cannot be judged"  # fewer than three angles, or T_c does not change


@dataclass(frozen=True)
class Exponent:
    """How the force goes with T_c from angle to angle.

    Attributes:
        angles: how many.
        b: exponent of F = a T_c^b; None where there are too few angles, or T_c does not change.
        low: lower end of its 95 % interval, by Student's t; None likewise.
        high: upper end.
        p_of_spring: probability that the means lie this far from F = a T_c^(1/2) by the scatter of the trials alone (F
            test of lack of fit); None where no angle has two trials.
        farthest_deg: the angle whose mean is farthest from that law; None without angles.
        farthest_share: by which part of the law's force.
    """

    angles: int
    b: float | None
    low: float | None
    high: float | None
    p_of_spring: float | None
    farthest_deg: float | None
    farthest_share: float

    @property
    def verdict(self) -> TrendVerdict:
        """What can be said."""
        if self.low is None or self.high is None:
            return TrendVerdict.TOO_FEW
        if not self.low - _ROUNDING <= SPRING <= self.high + _ROUNDING:
            return TrendVerdict.DIFFERS
        return TrendVerdict.FOLLOWS if self.low > 0.0 else TrendVerdict.NOT_SHOWN

    @property
    def how(self) -> str:
        """In which way the trend differs; empty where it does not."""
        if self.verdict != TrendVerdict.DIFFERS or self.low is None or self.high is None:
            return ""
        if self.high < 0.0:
            return "the force falls where T_c rises"
        if self.low > SPRING:
            return "the force rises faster than the square root of T_c"
        if self.low > 0.0:
            return "the force rises with T_c, but more slowly than its square root"
        return "a rise as the square root of T_c is excluded, and none is shown"


def exponent_over_angles(angles_deg: Sequence[float], energy_J: Sequence[float], force_N: Sequence[float]) -> Exponent:
    """The exponent of the force over T_c, fitted to the means of the angles.

    Args:
        angles_deg: of the trials (trials,) [deg].
        energy_J: their T_c (trials,) [J]; trials without a positive one are left out.
        force_N: their peaks (trials,) [N]; likewise.
    """
    of_trials = [row for row in zip(angles_deg, energy_J, force_N, strict=True) if row[1] > 0.0 and row[2] > 0.0]
    if not of_trials:
        return Exponent(0, None, None, None, None, None, 0.0)
    angle, T, F = np.array(of_trials).T
    log_T, log_F, places = np.log(T), np.log(F), np.unique(angle)
    means = np.array([(log_T[angle == one].mean(), log_F[angle == one].mean()) for one in places])
    counts = np.array([(angle == one).sum() for one in places])
    offsets = means[:, 1] - SPRING * means[:, 0]
    from_spring = offsets - counts @ offsets / counts.sum()
    scatter = sum(
        float(((log_F[angle == one] - mean) ** 2).sum()) for one, mean in zip(places, means[:, 1], strict=True)
    )
    farthest = int(np.abs(from_spring).argmax())
    return Exponent(
        len(places),
        *_slope(means[:, 0], means[:, 1]),
        _p_of_lack(float(counts @ from_spring**2), len(places) - 1, scatter, len(F) - len(places)),
        float(places[farthest]),
        float(np.expm1(from_spring[farthest])),
    )


def _slope(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float | None, float | None, float | None]:
    """Of a straight line through the means, and its interval."""
    if len(x) < LEAST_ANGLES or np.ptp(x) < 1e-6:
        return None, None, None
    found = stats.linregress(x, y)
    half = float(stats.t.ppf(0.5 + 0.5 * LEVEL, len(x) - 2)) * float(found.stderr)
    return float(found.slope), float(found.slope) - half, float(found.slope) + half


def _p_of_lack(lack: float, of_lack: int, scatter: float, of_scatter: int) -> float | None:
    """By the sums of squares of what the law leaves and of the trials about their means, and their freedom."""
    if of_lack < 1 or of_scatter < 1 or not scatter > 0.0:
        return None
    ratio = (lack / of_lack) / (scatter / of_scatter)
    p = float(stats.f.sf(ratio, of_lack, of_scatter))
    return p if math.isfinite(p) else None
