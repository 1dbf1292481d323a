"""Residuals judged at the end of a run, or in the tick."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.config import Config
from hil.config.checks.sensor_cross_checks import NotAlikeError, conditions, unlike
from hil.config.schema.residuals import ResidualsConfig
from hil.messages.fault import STOOD_RADPS, STOOD_S, Fault
from hil.messages.layout import Layout
from hil.messages.link_messages import event_row
from hil.messages.stages import Command, Estimate, Prediction
from hil.residuals.evidence import Floats, RunEvidence, window_ticks
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
    from scipy.special import stdtrit  # brings a tenth of a second, which no run has need of

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
        return float(stdtrit(count - 1, 1.0 - 0.5 * share)) * math.sqrt(1.0 + 1.0 / count)

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


class _Mean:
    """Mean of the newest values of one element, once there are enough of them in a row."""

    def __init__(self, count: int) -> None:
        self._values: deque[float] = deque(maxlen=count)
        self._count, self._sum = count, 0.0
        self.newest = math.nan

    def add(self, value: float) -> float:
        """The mean with this value. One that is not finite ends the row."""
        values = self._values
        if not math.isfinite(value):
            values.clear()
            self._sum, self.newest = 0.0, math.nan
            return math.nan
        if len(values) == self._count:
            self._sum -= values[0]
        values.append(value)
        self._sum += value
        self.newest = self._sum / self._count if len(values) == self._count else math.nan
        return self.newest


class TickResiduals:
    """Compares running means with the thresholds that the end of a run compares its largest ones with."""

    def __init__(self, residuals: ResidualsConfig, layout: Layout, rate_hz: int) -> None:
        sheet = residuals.calibration
        known = sheet.thresholds if sheet is not None and residuals.reaction == "safe" else {}
        self._pairs = {name: known[name] for name, row in RESIDUALS.items() if row.in_tick and name in known}
        #: whether anything is: `residuals.reaction` is safe, and there are thresholds of such a residual
        self.watched = bool(self._pairs)
        count = window_ticks(rate_hz)
        self._elements = {name: RESIDUALS[name].elements(layout) for name in self._pairs}
        #: of each element, by residual
        self.means = {name: [_Mean(count) for _ in names] for name, names in self._elements.items()}
        none = (math.nan,) * len(layout.wheels)
        self._commands: deque[tuple[float, ...]] = deque(
            [none] * (round(STOOD_S * rate_hz) + 1), maxlen=round(STOOD_S * rate_hz) + 1
        )
        self._none = none

    def record_command(self, command: Command) -> None:
        """Store the command of a tick; the next one compares with it."""
        if command.cut:
            self._commands.append(self._none)
        elif command.duty:
            pairs = zip(command.speed_radps, command.duty, strict=True)
            self._commands.append(tuple([math.nan if math.isfinite(duty) else speed for speed, duty in pairs]))
        else:
            self._commands.append(command.speed_radps)

    def check(self, estimate: Estimate, prediction: Prediction) -> JudgedValue | None:
        """What is furthest over a threshold in this tick; None: nothing is."""
        worst = None
        for name, pairs in self._pairs.items():
            values = self._speeds(estimate) if name == "wheel_speed" else _load_sum(estimate, prediction)
            for element, mean, value in zip(self._elements[name], self.means[name], values, strict=True):
                average = mean.add(value)
                if element in pairs and math.isfinite(average):
                    judged = JudgedValue(name, element, average, *pairs[element])
                    if not judged.ok and (worst is None or judged.excess > worst.excess):
                        worst = judged
        return worst

    def _speeds(self, estimate: Estimate) -> Sequence[float]:
        """As `hil.residuals.table.wheel_speed`, before its mean."""
        then, now = self._commands[0], self._commands[-1]
        return [
            measured - commanded if abs(commanded - before) <= STOOD_RADPS else math.nan
            for measured, commanded, before in zip(estimate.wheel_speed_radps, now, then, strict=True)
        ]


def _load_sum(estimate: Estimate, prediction: Prediction) -> Sequence[float]:
    """As `hil.residuals.table.load_sum`, before its mean."""
    twin = sum(prediction.normal_force_N)
    return (sum(estimate.wheel_load_N) / twin - 1.0 if twin else math.nan,)
