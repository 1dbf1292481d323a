"""Forces of a trial around its impact, as few points as a screen can show without losing a peak."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.messages.layout import Layout
from hil.recording import OpenRecord
from hil.recording.stored_rows import between

FloatArray = NDArray[np.floating[Any]]
# Shown before and after the impact [s].
BEFORE_S, AFTER_S = 0.1, 0.6
# Stretches of a trace; two points each.
BINS = 1400
_BESIDE_NS = 100_000_000


@dataclass(frozen=True)
class Trace:
    """Forces over time, equally spaced.

    Attributes:
        start_s: time of the first point, from the impact.
        step_s: between two points.
        names: of the series: the channels, their sum, the corrected sum.
        values: (series, points) [N], or [V] where no sensitivity is known.
        unit: N or V.
    """

    start_s: float
    step_s: float
    names: tuple[str, ...]
    values: NDArray[np.float32]
    unit: str

    @property
    def times_s(self) -> FloatArray:
        """Of the points (points,)."""
        return self.start_s + self.step_s * np.arange(self.values.shape[1])

    def header(self) -> dict[str, Any]:
        """What a page has to know beside the values."""
        return {
            "start": self.start_s,
            "step": self.step_s,
            "points": self.values.shape[1],
            "names": list(self.names),
            "unit": self.unit,
        }

    def base64(self) -> str:
        """The values as little-endian 4-byte floats, series after series."""
        return base64.b64encode(self.values.astype("<f4").tobytes()).decode("ascii")


def trace_of(record: OpenRecord, summary: Mapping[str, Any], bins: int = BINS) -> Trace | None:
    """The forces of a trial from 0.1 s before to 0.6 s after its impact; the last 0.7 s if there was none.

    None: there are no samples.
    """
    if not len(record.daq_t_ns):
        return None
    impact_s = summary.get("impact_time_s")
    origin = float(record.daq_t_ns[-1] * 1e-9) - AFTER_S if impact_s is None else float(impact_s)
    near = between(record.daq_t_ns, *_around_ns(origin))
    times = record.daq_t_ns[near] * 1e-9
    inside = (times >= origin - BEFORE_S) & (times <= origin + AFTER_S)
    t, volts = times[inside] - origin, record.raw[near][inside]
    if len(t) < 2:
        return None
    names = Layout.from_json(str(record.meta["layout"])).channels
    forces, unit = _newtons(record, volts)
    start, step, points = min_max(t, np.column_stack([forces, forces.sum(axis=1)]), bins)
    series = [*points.T]
    shown = [*(name.replace("_", " ") for name in names), "sum"]
    if unit == "N" and len(record.tick):
        at = start + step * np.arange(len(points))
        ticks = record.tick[between(record.tick, *_around_ns(origin), "t_ns")]
        series.append(np.interp(at, ticks["t_ns"] * 1e-9 - origin, ticks["force_sum_N"]))
        shown.append("sum, corrected")
    return Trace(start, step, tuple(shown), np.array(series, np.float32), unit)


def _around_ns(origin_s: float) -> tuple[float, float]:
    """What is shown about an impact, and a tick or more beside it on both sides [ns]."""
    return 1e9 * (origin_s - BEFORE_S) - _BESIDE_NS, 1e9 * (origin_s + AFTER_S) + _BESIDE_NS


def min_max(t: FloatArray, values: FloatArray, bins: int) -> tuple[float, float, FloatArray]:
    """Smallest and largest value of each stretch of time, in the order in which they came.

    Args:
        t: rising, equally spaced times (samples,) [s].
        values: (samples, series).
        bins: stretches at most.

    Returns:
        Time of the first point, time between two, and points (2 a stretch, or all samples; series).
    """
    size = -(-len(t) // bins)
    spacing = float(t[-1] - t[0]) / (len(t) - 1)
    if size < 3:
        return float(t[0]), spacing, values
    whole = -(-len(t) // size)
    padded = np.concatenate([values, np.repeat(values[-1:], whole * size - len(t), axis=0)])
    stretches = padded.reshape(whole, size, values.shape[1])
    order = np.sort(np.stack([stretches.argmin(axis=1), stretches.argmax(axis=1)], axis=1), axis=1)
    points = np.take_along_axis(stretches, order, axis=1).reshape(2 * whole, values.shape[1])
    return float(t[0]) + 0.25 * size * spacing, 0.5 * size * spacing, points


def _newtons(record: OpenRecord, volts: FloatArray) -> tuple[FloatArray, str]:
    try:
        sensitivity = np.array([float(item) for item in str(record.meta["sensitivity_VpN"]).split(",")])
        return volts / sensitivity, "N"
    except (KeyError, ValueError):
        return volts, "V"
