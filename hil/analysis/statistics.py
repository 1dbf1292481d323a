"""Statistics of a campaign: spread over the angle, trend, law of the force, difference of two campaigns.

Every interval is two-sided with the probability `LEVEL`. What cannot be computed from so few trials is None.

Does the force over the obstacle's angle go as that of T_c? One number with its interval, and a verdict in words.

The law of a linear spring is F = a T_c^(1/2) (MacMahon 2016, 5.2). Asked is the exponent b of F = a T_c^b. Trials of
one angle share their T_c, so that only the angles are independent evidence of a trend: b is fitted to the means of the
angles, by least squares of the logarithms; its interval has as many degrees of freedom as there are angles, less two.

Which trials lie farther from the others of their angle than chance explains. They are named, never left out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FloatArray = NDArray[np.float64]
LEVEL = 0.95
# Up to so many pairs, the p-value of a rank correlation counts all orders (8! = 40320); above, by Student's t.
EXACT_PAIRS = 8


@dataclass(frozen=True)
class SampleSpread:
    """Several values of one quantity."""

    n: int  # how many
    mean: float  # their mean
    mean_absolute_deviation: float  # mean distance from the mean; the bars of MacMahon 2016, fig. 6-11
    standard_deviation: float | None  # of the sample, n - 1; None of one value
    low: float | None  # lower end of the confidence interval of the mean, by Student's t; None of one value
    high: float | None  # upper end


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rank correlation."""

    n: int  # pairs
    rho: float  # -1 to 1
    p: float  # two-sided probability of at least this |rho| without any relation
    exact: bool  # whether p counts all orders; else it is by Student's t


@dataclass(frozen=True)
class Fit:
    """Force as a function of T_c, by least squares of the force."""

    law: str  # `sqrt`: F = a T^(1/2), or `power`: F = a T^b
    a: float  # factor [N/J^b]
    b: float  # exponent; 0.5 of `sqrt`
    b_low: float | None  # lower end of the confidence interval of b; None of `sqrt`, and of two pairs
    b_high: float | None  # upper end
    residuals_N: tuple[float, ...]  # force minus law, in the order of the pairs
    rms_N: float  # root of the mean of their squares

    def force_N(self, energy_J: FloatArray) -> FloatArray:
        """The law's force [N] at energies [J]."""
        return np.asarray(self.a * np.asarray(energy_J, np.float64) ** self.b, np.float64)


@dataclass(frozen=True)
class MeanDifference:
    """Difference of two means, second minus first, with its confidence interval by Welch."""

    value: float  # of the means
    low: float | None  # lower end of its interval; None where one side has a single value
    high: float | None  # upper end
    p: float | None  # two-sided probability of at least this difference between equal means
    freedom: float | None  # degrees of freedom (Welch-Satterthwaite)


def spread_of(values: Sequence[float]) -> SampleSpread:
    """Mean, deviations and confidence interval of at least one value."""
    x = np.asarray(values, np.float64)
    mean = float(x.mean())
    absolute = float(np.abs(x - mean).mean())
    if x.size < 2:
        return SampleSpread(x.size, mean, absolute, None, None, None)
    deviation = float(x.std(ddof=1))
    half = float(stats.t.ppf(0.5 + 0.5 * LEVEL, x.size - 1)) * deviation / math.sqrt(x.size)
    return SampleSpread(x.size, mean, absolute, deviation, mean - half, mean + half)


def over_angle(angles_deg: Sequence[float], values: Sequence[float]) -> dict[float, SampleSpread]:
    """The spread at each angle, in rising order of the angles."""
    at: dict[float, list[float]] = {}
    for angle, value in zip(angles_deg, values, strict=True):
        at.setdefault(angle, []).append(value)
    return {angle: spread_of(at[angle]) for angle in sorted(at)}


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> RankCorrelation | None:
    """Spearman's; None of fewer than three pairs, or where one side never changes."""
    if len(x) < 3 or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    result = stats.spearmanr(x, y)
    exact = len(x) <= EXACT_PAIRS
    p = _p_of_all_orders(stats.rankdata(x), stats.rankdata(y)) if exact else float(result.pvalue)
    return RankCorrelation(len(x), float(result.statistic), p, exact)


def fit_sqrt(energy_J: Sequence[float], force_N: Sequence[float]) -> Fit | None:
    """F = a sqrt(T), the law of a linear spring (MacMahon 2016, 5.2); None without pairs."""
    T, F = _pairs(energy_J, force_N)
    if not T.size:
        return None
    a = float(np.sqrt(T) @ F / T.sum())
    return _fit("sqrt", a, 0.5, None, F, a * np.sqrt(T))


def power_law(found: Exponent, energy_J: Sequence[float], force_N: Sequence[float]) -> Fit | None:
    """F = a T^b with the exponent of the means of the angles, the only one of a report; None where it has none.

    Args:
        found: that exponent.
        energy_J: T_c of the trials (trials,) [J], which give a: on the mean, the logarithms are those of the law.
        force_N: their forces (trials,) [N].
    """
    T, F = _pairs(energy_J, force_N)
    if found.b is None or found.low is None or not T.size:
        return None
    a = float(np.exp((np.log(F) - found.b * np.log(T)).mean()))
    return _fit("power", a, found.b, found.b - found.low, F, a * T**found.b)


def welch(first: Sequence[float], second: Sequence[float]) -> MeanDifference:
    """Difference of the means of two groups, each of at least one value."""
    return stratified_difference([(first, second)])


def stratified_difference(strata: Sequence[tuple[Sequence[float], Sequence[float]]]) -> MeanDifference:
    """Mean over strata (angles) of the difference of the means in each, with Welch's interval.

    Each stratum has the same weight, so that a campaign with more trials at one angle is not compared by that angle.
    """
    value = float(np.mean([np.mean(second) - np.mean(first) for first, second in strata]))
    if any(len(group) < 2 for pair in strata for group in pair):
        return MeanDifference(value, None, None, None, None)
    parts = [(float(np.var(group, ddof=1)) / len(group), len(group) - 1) for pair in strata for group in pair]
    variance = sum(part for part, _ in parts)
    if variance <= 0.0:
        return MeanDifference(value, None, None, None, None)
    freedom = variance**2 / sum(part**2 / n for part, n in parts)
    error = math.sqrt(variance) / len(strata)
    half = float(stats.t.ppf(0.5 + 0.5 * LEVEL, freedom)) * error
    return MeanDifference(
        value, value - half, value + half, float(2.0 * stats.t.sf(abs(value) / error, freedom)), float(freedom)
    )


def paired(rows: Sequence[Mapping[str, object]], *keys: str) -> Iterator[tuple[float, ...]]:
    """The numbers under these keys, of the rows that have all of them."""
    for row in rows:
        values = [row.get(key) for key in keys]
        numbers = [float(value) for value in values if isinstance(value, int | float) and math.isfinite(value)]
        if len(numbers) == len(keys):
            yield tuple(numbers)


def _p_of_all_orders(x: FloatArray, y: FloatArray) -> float:
    """Share of the orders of y whose correlation with x is at least as strong as that of the order found."""
    x, y = x - x.mean(), y - y.mean()
    strength = np.abs(np.array(list(itertools.permutations(y))) @ x)
    return float((strength >= abs(x @ y) * (1.0 - 1e-9)).mean())


def _pairs(energy_J: Sequence[float], force_N: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    pairs = [(t, f) for t, f in zip(energy_J, force_N, strict=True) if t > 0.0 and f > 0.0]
    return np.array([t for t, _ in pairs]), np.array([f for _, f in pairs])


def _fit(law: str, a: float, b: float, half: float | None, F: FloatArray, modelled: FloatArray) -> Fit:
    residuals = F - modelled
    low, high = (None, None) if half is None else (b - half, b + half)
    return Fit(law, a, b, low, high, tuple(residuals.tolist()), float(np.sqrt((residuals**2).mean())))


# Exponent of a linear spring's law.
SPRING = 0.5
# With fewer angles than this b has no interval.
LEAST_ANGLES = 3
_ROUNDING = 1e-9  # means that lie exactly on a law have no interval


class TrendVerdict(StrEnum):
    """What the interval of b allows to be said of the trend."""

    FOLLOWS = "follows T_c"  # holds 1/2, and not 0
    DIFFERS = "differs from T_c"  # does not hold 1/2
    NOT_SHOWN = "does not show a trend"  # holds both: a trend is neither shown nor excluded
    TOO_FEW = "cannot be judged"  # fewer than three angles, or T_c does not change


@dataclass(frozen=True)
class Exponent:
    """How the force goes with T_c from angle to angle."""

    angles: int  # how many
    b: float | None  # exponent of F = a T_c^b; None where there are too few angles, or T_c does not change
    low: float | None  # lower end of its 95 % interval, by Student's t; None likewise
    high: float | None  # upper end
    # probability that the means lie this far from F = a T_c^(1/2) by the scatter of the trials alone (F test of lack of
    # fit); None where no angle has two trials.
    p_of_spring: float | None
    farthest_deg: float | None  # the angle whose mean is farthest from that law; None without angles
    farthest_share: float  # by which part of the law's force

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


# Of two trials nothing tells which is odd.
LEAST_TRIALS = 3
# Trials less means, and less the one that is judged.
LEAST_FREEDOM = 4


@dataclass(frozen=True)
class TrialDeviation:
    """How far a trial lies from the others of its angle."""

    place: int  # of the trial, in what was given
    share: float  # its force over the mean (geometric) of the others at its angle, less 1
    # probability that the farthest of so many trials lies this far by chance, at most (Bonferroni); without the trials
    # before it in the list.
    p: float
    outlying: bool = False  # whether chance does not explain it


def outliers(angles_deg: Sequence[float], force_N: Sequence[float]) -> list[TrialDeviation]:
    """The trials that outlie, farthest first; or else the one that lies farthest. Empty: there are too few to judge.

    Of each trial the logarithm of its force is held against the mean of the others at its angle, by the scatter of all
    other trials about the means of their angles (externally studentised residual). An outlier hides others by the
    scatter that it adds: so up to a fifth of the trials are set aside one by one, the farthest first, and all up to the
    last that was beyond chance outlie (Rosner 1983, generalised extreme studentised deviate).

    Args:
        angles_deg: of the trials (trials,) [deg].
        force_N: their peaks (trials,) [N], positive.
    """
    left, found = list(range(len(force_N))), list[TrialDeviation]()
    while len(found) < max(1, len(force_N) // 5) and (farthest := _farthest(left, angles_deg, force_N)):
        found.append(farthest)
        left.remove(farthest.place)
    last = max((number for number, one in enumerate(found, 1) if one.p < 1.0 - LEVEL), default=0)
    return [replace(one, outlying=True) for one in found[:last]] or found[:1]


def _farthest(places: Sequence[int], angles_deg: Sequence[float], force_N: Sequence[float]) -> TrialDeviation | None:
    angle, log_F = np.array([angles_deg[place] for place in places]), np.log([force_N[place] for place in places])
    _, at, counts = np.unique(angle, return_inverse=True, return_counts=True)
    freedom = len(places) - len(counts) - 1
    if freedom < LEAST_FREEDOM or counts.max() < LEAST_TRIALS:
        return None
    means = np.bincount(at, log_F) / counts
    residual, of_angle = log_F - means[at], counts[at]
    judged = of_angle >= LEAST_TRIALS
    free = np.where(judged, 1.0 - 1.0 / of_angle, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        others = ((residual**2).sum() - residual**2 / free).clip(min=0.0) / freedom
        t = np.where(judged, np.abs(residual) / np.sqrt(others * free), -math.inf)
    if np.isnan(t).any():  # all alike
        return None
    first = int(t.argmax())
    p = min(1.0, 2.0 * float(stats.t.sf(t[first], freedom)) * int(judged.sum()))
    return TrialDeviation(places[first], float(np.expm1(residual[first] / free[first])), p)
