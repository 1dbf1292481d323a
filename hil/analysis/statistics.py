"""Statistics of a campaign: spread over the angle, trend, law of the force, difference of two campaigns.

Every interval is two-sided with the probability `LEVEL`. What cannot be computed from so few trials is None.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

FloatArray = NDArray[np.float64]
LEVEL = 0.95
# Up to so many pairs, the p-value of a rank correlation counts all orders (8! = 40320); above, by Student's t.
EXACT_PAIRS = 8


@dataclass(frozen=True)
class SampleSpread:
    """Several values of one quantity.

    Attributes:
        n: how many.
        mean: their mean.
        mean_absolute_deviation: mean distance from the mean; the bars of MacMahon 2016, fig. 6-11.
        standard_deviation: of the sample, n - 1; None of one value.
        low: lower end of the confidence interval of the mean, by Student's t; None of one value.
        high: upper end.
    """

    n: int
    mean: float
    mean_absolute_deviation: float
    standard_deviation: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rank correlation.

    Attributes:
        n: pairs.
        rho: -1 to 1.
        p: two-sided probability of at least this |rho| without any relation.
        exact: whether p counts all orders; else it is by Student's t.
    """

    n: int
    rho: float
    p: float
    exact: bool


@dataclass(frozen=True)
class Fit:
    """Force as a function of T_c, by least squares of the force.

    Attributes:
        law: `sqrt`: F = a T^(1/2), or `power`: F = a T^b.
        a: factor [N/J^b].
        b: exponent; 0.5 of `sqrt`.
        b_low: lower end of the confidence interval of b; None of `sqrt`, and of two pairs.
        b_high: upper end.
        residuals_N: force minus law, in the order of the pairs.
        rms_N: root of the mean of their squares.
    """

    law: str
    a: float
    b: float
    b_low: float | None
    b_high: float | None
    residuals_N: tuple[float, ...]
    rms_N: float

    def force_N(self, energy_J: FloatArray) -> FloatArray:
        """The law's force [N] at energies [J]."""
        return np.asarray(self.a * np.asarray(energy_J, np.float64) ** self.b, np.float64)


@dataclass(frozen=True)
class MeanDifference:
    """Difference of two means, second minus first, with its confidence interval by Welch.

    Attributes:
        value: of the means.
        low: lower end of its interval; None where one side has a single value.
        high: upper end.
        p: two-sided probability of at least this difference between equal means.
        freedom: degrees of freedom (Welch-Satterthwaite).
    """

    value: float
    low: float | None
    high: float | None
    p: float | None
    freedom: float | None


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


def fit_power(energy_J: Sequence[float], force_N: Sequence[float]) -> Fit | None:
    """F = a T^b; None of fewer than two pairs, or where the energy never changes."""
    T, F = _pairs(energy_J, force_N)
    if len(set(T.tolist())) < 2:
        return None
    middle = float(np.exp(np.log(T).mean()))  # about it, factor and exponent are nearly independent

    def beside(parameters: FloatArray) -> FloatArray:
        return np.asarray(parameters[0] * (T / middle) ** parameters[1] - F, np.float64)

    slope, level = np.polyfit(np.log(T / middle), np.log(F), 1)
    fit = optimize.least_squares(beside, (math.exp(level), slope), x_scale="jac", method="lm")
    factor, b = (float(value) for value in fit.x)
    half = None
    if T.size > 2:
        slopes = np.asarray(fit.jac, np.float64)
        variance = float(np.linalg.inv(slopes.T @ slopes)[1, 1]) * 2.0 * fit.cost / (T.size - 2)
        half = float(stats.t.ppf(0.5 + 0.5 * LEVEL, T.size - 2) * math.sqrt(variance))
    return _fit("power", factor * middle**-b, b, half, F, beside(fit.x) + F)


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
