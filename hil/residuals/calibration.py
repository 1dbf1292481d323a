"""Thresholds from good runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hil.config import Config
from hil.config.good_runs import NotAlikeError, conditions
from hil.residuals.evidence import Floats
from hil.residuals.table import RESIDUALS, Residual
from hil.signals.calibration import CalibrationError

# Good runs that are marked, of all: what the thresholds are made for. It is shared by all values of a run.
FALSE_MARKS = 3e-4
LEAST_RUNS = 5
# No threshold is nearer to the mean than this multiple of the largest distance in the good runs themselves.
BEYOND_LARGEST = 1.1
_DIGITS = 5

Values = Mapping[str, Mapping[str, float]]


def thresholds(configs: Sequence[Config], values: Sequence[Values]) -> dict[str, Any]:
    """The content of a calibration file (`hil.config.schema.residuals.ResidualSheet`).

    Each value gets the interval in which that of one more good run lies, by Student's t for so many runs, with the
    probability that leaves FALSE_MARKS for all values of the run together. It is wider where a good run was further
    away than a normal distribution has it, and never narrower than the residual's resolution.

    Args:
        configs: of the good runs.
        values: of the same, by residual and element (`hil.residuals.table.measured`).

    Raises:
        CalibrationError: too few runs, or runs of different rigs or experiments.
    """
    from scipy.stats import t as student  # brings a third of a second, which no run has need of

    count = len(values)
    if count < LEAST_RUNS:
        raise CalibrationError(f"found {count} runs, allowed: {LEAST_RUNS} or more")
    try:
        sections, between = conditions(configs)
    except NotAlikeError as error:
        raise CalibrationError(f"the runs are not alike: {error}") from None
    by_name = {name: each for name in RESIDUALS if (each := _by_element(name, values))}
    share = FALSE_MARKS / max(sum(len(samples) for samples in by_name.values()), 1)

    def times(count: int) -> float:
        return float(student.ppf(1.0 - 0.5 * share, count - 1)) * math.sqrt(1.0 + 1.0 / count)

    return {
        "runs": count,
        "sections": sections,
        "between": {key: list(pair) for key, pair in between.items()},
        "thresholds": {
            name: {element: _pair(RESIDUALS[name], samples, times(len(samples))) for element, samples in each.items()}
            for name, each in by_name.items()
        },
    }


def _by_element(name: str, values: Sequence[Values]) -> dict[str, Floats]:
    """Values of a residual by element, of the runs that have it, if they are enough."""
    elements = {element for run in values for element in run.get(name, {})}
    by_element = {
        element: [run[name][element] for run in values if element in run.get(name, {})] for element in elements
    }
    return {
        element: np.array(by_element[element])
        for element in sorted(by_element)
        if len(by_element[element]) >= LEAST_RUNS
    }


def _pair(residual: Residual, values: Floats, times: float) -> list[float]:
    """Smallest and largest allowed value. The largest mean of a run has either sign: its limits are symmetric."""
    if residual.in_tick:
        high = _half(residual, np.abs(values), times) + float(np.abs(values).mean())
        return [_rounded(-high), _rounded(high)]
    mean, half = float(values.mean()), _half(residual, values, times)
    return [_rounded(mean - half), _rounded(mean + half)]


def _half(residual: Residual, values: Floats, times: float) -> float:
    largest = float(np.abs(values - values.mean()).max())
    return max(times * float(values.std(ddof=1)), BEYOND_LARGEST * largest, residual.resolution)


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
