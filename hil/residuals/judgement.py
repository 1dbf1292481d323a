"""Judges a run by the thresholds of its config, and measures thresholds from good runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.config import Config
from hil.config.residual_conditions import NotAlikeError, conditions, unlike
from hil.messages.fault import Fault
from hil.messages.schema import event_row
from hil.residuals.evidence import Floats, RunEvidence
from hil.residuals.table import RESIDUALS, Residual, measured
from hil.signals.calibration_fits import CalibrationError

# Name of the event of a mark at the end of a run; that of a tick has the name of its fault.
MARK = "implausible value, whole run"
# How the reason of a mark begins.
IMPLAUSIBLE = "implausible value"


class JudgedValue(NamedTuple):
    """One value that a threshold is known of."""

    name: str
    element: str
    value: float
    low: float
    high: float

    @property
    def ok(self) -> bool:
        """Within its threshold."""
        return self.low <= self.value <= self.high

    @property
    def limit(self) -> float:
        """The threshold that it is nearer to."""
        return self.low if abs(self.value - self.low) < abs(self.value - self.high) else self.high

    @property
    def excess(self) -> float:
        """Its distance from the middle of the good runs, in distances of the threshold."""
        return abs(self.value - 0.5 * (self.low + self.high)) / (0.5 * (self.high - self.low) or 1.0)

    def short(self) -> str:
        """Found and expected, as in an event."""
        unit = RESIDUALS[self.name].unit
        unit = "" if unit == "1" else f" {unit}"
        text = f"{self.name} {self.element}: {self.value:.4g}{unit}"
        return f"{text}, expected {0.5 * (self.low + self.high):.4g}, allowed {self.low:.4g} to {self.high:.4g}"

    def sentence(self) -> str:
        """The same with what it compares and what to look at."""
        row = RESIDUALS[self.name]
        return f"{IMPLAUSIBLE}, {self.short()} ({row.compares}); look at: {row.look_at}"


def judge(config: Config, values: Mapping[str, Mapping[str, float]]) -> list[JudgedValue]:
    """Hold the residuals of a run against the thresholds of its config.

    Returns:
        Each value that there is a threshold of; none where the thresholds are of other runs (`unlike`).
    """
    sheet = config.residuals.calibration
    if sheet is None or unlike(config):
        return []
    return [
        JudgedValue(name, element, values[name][element], *pair)
        for name, pairs in sheet.thresholds.items()
        for element, pair in pairs.items()
        if element in values.get(name, {})
    ]


def marks(judged: list[JudgedValue]) -> list[JudgedValue]:
    """Of each residual that is over a threshold, the element that is furthest over; the furthest first.

    A wrong sensor of three moves the shares of all: the one that it is in moves furthest.
    """
    worst: dict[str, JudgedValue] = {}
    for residual in judged:
        if not residual.ok and (residual.name not in worst or residual.excess > worst[residual.name].excess):
            worst[residual.name] = residual
    return sorted(worst.values(), key=lambda residual: -residual.excess)


def residual_summary(evidence: RunEvidence) -> tuple[dict[str, Any] | None, list[JudgedValue]]:
    """Key `residuals` of the summary, and the marks; None and none where the config has no thresholds.

    A run that did not come to its end is not judged: what ended it is its reason.
    """
    config = evidence.config
    if config.residuals.calibration is None:
        return None, []
    why = "the run did not come to its end" if evidence.summary.get("aborted") else unlike(config)
    judged = [] if why else judge(config, measured(evidence))
    rows = [{**residual._asdict(), "ok": residual.ok} for residual in judged]
    return {"not_judged": why, "values": rows}, marks(judged)


def marks_of(residuals: Mapping[str, Any] | None) -> list[JudgedValue]:
    """The marks of the key `residuals` of a summary."""
    values = residuals["values"] if residuals else ()
    return marks([JudgedValue(row["name"], row["element"], row["value"], row["low"], row["high"]) for row in values])


def mark_events(summary: Mapping[str, Any], tick: int, t_ns: int) -> list[NDArray[np.void]]:
    """The marks of a summary as rows of `EVENT`, at the last tick of its run."""
    return [
        event_row(Fault.IMPLAUSIBLE_VALUE, MARK, tick, t_ns, mark.value, mark.limit, detail=mark.short())
        for mark in marks_of(summary["residuals"])
    ]


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

    Raises CalibrationError: too few runs, or runs of different rigs or experiments.
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
