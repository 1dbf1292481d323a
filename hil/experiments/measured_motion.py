"""Slip, forward speed and pull of a window of a run, from what is measured, with 95 % intervals.

The mean forward speed is the observed way of the base over the window by its length, along its heading: its error is
that of the two places. The mean of the observed speeds themselves would have an error that lasts as long as the
observer remembers. The slip is that of the rims, 1 - v / (R omega), of the means: as a simulated rig knows it.
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
from hil.experiments.summary_table import quantity
from hil.experiments.window_mean import NORMAL, window_mean
from hil.messages.layout import INSTRUMENTS

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


def with_interval(summary: Mapping[str, Any], key: str, u95: str, unit: str, digits: int) -> str:
    """A value with its interval, for the terminal; without one the value alone."""
    half = summary.get(u95)
    text = quantity(summary.get(key), unit, digits)
    return text if half is None else f"{quantity(summary.get(key), '', digits)} ± {quantity(half, unit, digits)}"


def _ahead(quaternion: NDArray[np.float32]) -> NDArray[np.float64]:
    """The base's x axis in the world, by its quaternion x y z w."""
    x, y, z, w = map(float, quaternion)
    return np.array([1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)])
