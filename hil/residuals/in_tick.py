"""The residuals that a tick can judge, where the config asks for Safe."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from hil.config.schema.residuals import ResidualsConfig
from hil.messages.fault import STOOD_RADPS, STOOD_S
from hil.messages.layout import Layout
from hil.messages.stages import Command, Estimate, Prediction
from hil.residuals.evidence import window_ticks
from hil.residuals.judgement import JudgedValue
from hil.residuals.table import RESIDUALS


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
