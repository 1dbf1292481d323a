"""A soil fitted to windows: weighted least squares in the logs of its parameters, with intervals of confidence.

The measured values have errors of their own and errors that many of them share (gains, zeros, slips, loads). Residuals
are weighted by the covariance of all of them. It depends on the soil: the fit is repeated with that of the soil found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import least_squares
from scipy.special import chdtri

from hil.analysis.identification.forward import (
    MAY_BE_ZERO,
    RANGES,
    STARTS,
    USUAL,
    ForwardModel,
    IdentificationError,
    Window,
    soil_of,
)

FloatArray = NDArray[np.float64]
NORMAL = 1.959964
# What is determined is known within this factor, either way, with 95 % confidence.
DETERMINED_FACTOR = 2.0
_DETERMINED_SD = math.log(DETERMINED_FACTOR) / NORMAL
# A reduced_chi_squared that chance gives more rarely than this widens the intervals.
_CHANCE = 0.01
# Step of the differences, in logs; distance of a bound, in logs, that counts as on it.
_STEP, _ON_BOUND = 1e-5, 1e-4
# Fits with the covariance of the soil before, at most, and the change of a log at which they end.
_ROUNDS, _SETTLED = 6, 1e-3
# Along what the data cannot tell, the search stays near its first start: logs are held there with this standard
# deviation, a factor of 20. A determined direction moves by at most 1.5 % of its distance from there.
_HELD_SD = math.log(20.0)


@dataclass(frozen=True)
class Parameter:
    """One parameter that was searched.

    Attributes:
        name: as in section soil.
        value: found.
        low, high: its 95 % interval, within the range of the search.
        determined: the interval reaches no further than a factor of two, either way.
        on_bound: the search ended at an end of its range.
    """

    name: str
    value: float
    low: float
    high: float
    determined: bool
    on_bound: bool


@dataclass(frozen=True)
class Direction:
    """A combination of parameters, along a singular vector of the weighted residuals' slopes."""

    weights: Mapping[str, float]  # of the log of each parameter, unit length
    sd: float  # standard deviation of the combination's log; infinity: it has no slope
    determined: bool  # its 95 % interval reaches no further than a factor of two
    moves: float  # how much twice or half of it changes a measured value, at most, in standard deviations of that value


@dataclass(frozen=True)
class _Residual:
    """One measured value and that of the soil found; `sd` with shared errors."""

    window: str
    quantity: str
    measured: float
    sd: float
    fitted: float


@dataclass(frozen=True)
class Identification:
    """A soil identified."""

    parameters: tuple[Parameter, ...]  # searched
    given: Mapping[str, float]  # the others, by name
    directions: tuple[Direction, ...]  # from the best determined to the worst; as many as parameters
    residuals: tuple[_Residual, ...]  # of each measured value
    reduced_chi_squared: float | None  # chi-squared over its degrees of freedom; None: there is no value to spare
    widened: float  # factor by which the reduced_chi_squared has widened the intervals; 1: not
    covariance: FloatArray  # (parameters, parameters) of the logs; infinite where a direction has no slope
    windows: tuple[Window, ...]  # fitted

    @property
    def values(self) -> dict[str, float]:
        """All parameters of the soil, by name."""
        return {**self.given, **{one.name: one.value for one in self.parameters}}

    @property
    def determined(self) -> bool:
        """Every direction is determined."""
        return all(one.determined for one in self.directions)

    @property
    def information(self) -> FloatArray:
        """(parameters, parameters) inverse of the covariance, finite in any case."""
        vectors = np.array([list(one.weights.values()) for one in self.directions])
        weight = np.array([0.0 if math.isinf(one.sd) else one.sd**-2 for one in self.directions])
        information: FloatArray = (vectors.T * weight) @ vectors
        return information


def identify(
    windows: Sequence[Window],
    start: Mapping[str, float],
    find: Iterable[str] = USUAL,
    starts: Sequence[Mapping[str, float]] = STARTS,
    spread: Executor | None = None,
    done: Callable[[int, int], object] = lambda *_: None,
) -> Identification:
    """Fit a soil.

    Args:
        windows: steady states, at least one.
        start: all parameters by name: what is not searched keeps its value, the search begins at the others.
        find: names of those that are searched.
        starts: further places where the search begins.
        spread: searches from these, one task each, with the same result; None: here, one after the other.
        done: gets how many searches are over, and of how many; further ones are made where the first does not fit.

    Raises:
        IdentificationError: nothing to fit, a wrong name, or no soil near any start gives finite forces.
    """
    names = tuple(find)
    _check(windows, names)
    forward = ForwardModel(windows)
    first = {**start, **{name: min(max(start[name], low), high) for name, (low, high) in _ranges(names).items()}}
    for name in MAY_BE_ZERO.keys() & names:  # a soil that starts without cohesion would keep none
        if start[name] <= RANGES[name][0]:
            first[name] = MAY_BE_ZERO[name]
    fit = _Fit(forward, names, first)
    found = fit.best(
        [first, *({**first, **{k: v for k, v in one.items() if k in names}} for one in starts)], spread, done
    )
    return _described(fit, found, {name: value for name, value in start.items() if name not in names})


class _Fit:
    """Searches in logs."""

    def __init__(self, forward: ForwardModel, names: tuple[str, ...], fixed: Mapping[str, float]) -> None:
        self.forward, self.names, self.fixed = forward, names, dict(fixed)
        ranges = _ranges(names)
        self.low, self.high = (np.log([ranges[name][side] for name in names]) for side in (0, 1))

    def values(self, x: FloatArray) -> dict[str, float]:
        return {**self.fixed, **dict(zip(self.names, np.exp(x).tolist(), strict=True))}

    def predict(self, x: FloatArray) -> FloatArray:
        return self.forward.predict(soil_of(self.values(np.clip(x, self.low, self.high))))

    def factor(self, x: FloatArray) -> FloatArray:
        """Lower triangular factor of the covariance of the measured values."""
        return np.asarray(np.linalg.cholesky(self.forward.covariance(soil_of(self.values(x)))), dtype=np.float64)

    def slopes(self, x: FloatArray) -> FloatArray:
        """(values, parameters) of the predictions over the logs."""
        base, columns = self.predict(x), []
        for place in range(len(x)):
            step = _STEP if x[place] + _STEP <= self.high[place] else -_STEP
            moved = x.copy()
            moved[place] += step
            columns.append((self.predict(moved) - base) / step)
        return np.column_stack(columns)

    def squares(self, x: FloatArray, factor: FloatArray) -> float:
        """Sum of the weighted squares."""
        return float(np.sum(solve_triangular(factor, self.predict(x) - self.forward.value, lower=True) ** 2))

    def search(self, x: FloatArray, held: FloatArray, factor: FloatArray) -> FloatArray:
        """Where the weighted squares are least, from a start."""
        count = len(x)

        def residuals(at: FloatArray) -> FloatArray:
            own = solve_triangular(factor, self.predict(at) - self.forward.value, lower=True)
            return np.concatenate([own, (at - held) / _HELD_SD])

        def jacobian(at: FloatArray) -> FloatArray:
            return np.vstack([solve_triangular(factor, self.slopes(at), lower=True), np.eye(count) / _HELD_SD])

        inside = np.clip(x, self.low + 1e-6, self.high - 1e-6)
        found: Any = least_squares(
            residuals, inside, jacobian, (self.low, self.high), xtol=1e-6, ftol=1e-7, max_nfev=60
        )
        at: FloatArray = found.x
        return at

    def best(
        self, starts: Sequence[Mapping[str, float]], spread: Executor | None, done: Callable[[int, int], object]
    ) -> FloatArray:
        """The soil that fits best; the further starts are tried where that of the first does not fit."""
        places = [np.log([one[name] for name in self.names]) for one in starts]
        held = places[0]
        best, least = self.settled(held, held)
        further = places[1:] if least > chdtri(len(self.forward.value), _CHANCE) else []
        done(1, 1 + len(further))
        each = map if spread is None else spread.map
        for count, (x, squares) in enumerate(each(self.settled, further, repeat(held)), 2):
            done(count, 1 + len(further))
            if squares < least:
                best, least = x, squares
        return best

    def settled(self, x: FloatArray, held: FloatArray) -> tuple[FloatArray, float]:
        """The soil found from a start, weighted by the covariance of that soil; and its weighted squares."""
        factor = self.factor(x)
        for _ in range(_ROUNDS):
            before, x = x, self.search(x, held, factor)
            factor = self.factor(x)
            if np.abs(x - before).max() < _SETTLED:
                break
        return x, self.squares(x, factor)


def _ranges(names: Sequence[str]) -> dict[str, tuple[float, float]]:
    return {name: RANGES[name] for name in names}


def _check(windows: Sequence[Window], names: tuple[str, ...]) -> None:
    unknown = [name for name in names if name not in RANGES]
    if unknown or not names or len(set(names)) < len(names):
        raise IdentificationError(
            f"parameters to find: {', '.join(names) or 'none'}; allowed: one or more of {', '.join(RANGES)}, each once"
        )
    if not windows:
        raise IdentificationError("no windows: give runs of hil drawbar, or a table of tests")


def _described(fit: _Fit, x: FloatArray, given: Mapping[str, float]) -> Identification:
    """Intervals, directions and residuals of the soil found."""
    forward, names = fit.forward, fit.names
    factor, predicted = fit.factor(x), fit.predict(x)
    squares = fit.squares(x, factor)
    spare = len(forward.value) - len(names)
    widened = 1.0
    if spare > 0 and squares > chdtri(spare, _CHANCE):
        widened = math.sqrt(squares / spare)
    sd, vectors = spread_along(solve_triangular(factor, fit.slopes(x), lower=True) / widened)
    finite = np.minimum(sd, 1e6)  # an infinite one would turn 0 times it into NaN
    covariance = (vectors.T * finite**2) @ vectors
    each = np.sqrt(np.diag(covariance))
    total = np.sqrt(np.diag(forward.covariance(soil_of(fit.values(x)))))
    twice = math.log(2.0) * vectors
    moves = [
        max(float((np.abs(fit.predict(x + step) - predicted) / total).max()) for step in (one, -one)) for one in twice
    ]
    low, high = np.exp(np.maximum(x - NORMAL * each, fit.low)), np.exp(np.minimum(x + NORMAL * each, fit.high))
    on_bound = (x - fit.low < _ON_BOUND) | (fit.high - x < _ON_BOUND)
    return Identification(
        parameters=tuple(
            Parameter(
                name, math.exp(x[i]), float(low[i]), float(high[i]), bool(each[i] <= _DETERMINED_SD), bool(on_bound[i])
            )
            for i, name in enumerate(names)
        ),
        given=dict(given),
        directions=tuple(
            Direction(dict(zip(names, vector.tolist(), strict=True)), float(one), bool(one <= _DETERMINED_SD), move)
            for one, vector, move in zip(sd, vectors, moves, strict=True)
        ),
        residuals=tuple(
            _Residual(forward.windows[place].name, quantity, *map(float, numbers))
            for (place, quantity), *numbers in zip(forward.names, forward.value, total, predicted, strict=True)
        ),
        reduced_chi_squared=squares / spare if spare > 0 else None,
        widened=widened,
        covariance=covariance,
        windows=forward.windows,
    )


def spread_along(slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Standard deviations along the singular vectors of weighted slopes, smallest first, and the vectors in rows.

    Slopes (values, parameters), each row over the standard deviation of its value.
    """
    columns = slopes.shape[1]
    whole = np.vstack([slopes, np.zeros((max(columns - len(slopes), 0), columns))])
    _, singular, vectors = np.linalg.svd(whole, full_matrices=False)
    with np.errstate(divide="ignore"):
        sd = np.where(singular > 1e-9 * max(singular[0], 1e-300), 1.0 / singular, np.inf)
    signs = np.sign(vectors[np.arange(columns), np.abs(vectors).argmax(axis=1)])
    return sd, vectors * signs[:, None]
