"""What a run has measured: all that a residual is worked out from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hil.config import Config
from hil.config.schema.instruments import JointEncoder
from hil.messages.fault import RESIDUAL_WINDOW_S, STOOD_RADPS, STOOD_S
from hil.signals.alignment import new_readings

Floats = NDArray[np.float64]


class _Columns(Protocol):
    """Rows by field: an array, or rows that stay in their file."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of a row."""

    def __len__(self) -> int: ...

    def __getitem__(self, key: Any, /) -> Any: ...


class RunEvidence:
    """A finished run."""

    def __init__(self, config: Config, ticks: _Columns, summary: Mapping[str, Any]) -> None:
        self.config, self.ticks, self.summary = config, ticks, summary

    @cached_property
    def t_s(self) -> Floats:
        """(ticks,) [s]."""
        return np.asarray(self.ticks["t_ns"] * 1e-9, np.float64)

    @cached_property
    def commanded(self) -> Floats:
        """(ticks, wheels) wheel speed commanded in the tick before [rad/s]; NaN where it was a cut or a duty."""
        speeds = np.full(self.ticks["set_speed_radps"].shape, np.nan)
        speeds[1:] = self.ticks["set_speed_radps"][:-1]
        speeds[1:][self.ticks["cut"][:-1] == 1] = np.nan
        if self.has("duty"):
            speeds[1:][np.isfinite(self.ticks["duty"][:-1])] = np.nan
        return speeds

    @cached_property
    def steady(self) -> Floats:
        """(ticks, wheels) the same where it has stood; elsewhere NaN."""
        count, speeds = round(STOOD_S * self.config.loop.rate_hz), self.commanded
        steady = np.full(speeds.shape, np.nan)
        stood = np.abs(speeds[count:] - speeds[:-count]) <= STOOD_RADPS
        steady[count:] = np.where(stood, speeds[count:], np.nan)
        return steady

    @cached_property
    def driven(self) -> NDArray[np.bool_]:
        """(ticks,) not cut in the tick before."""
        return np.concatenate([[False], self.ticks["cut"][:-1] == 0])

    @cached_property
    def pressure_commanded_Pa(self) -> Floats:
        """(ticks, cylinders, 2) gauge pressure that valves and regulators were commanded to give in the tick before."""
        on = self.ticks["valves"].astype(np.float64)
        supply = np.full(on.shape[:2], self.config.cylinders.supply_kPa * 1e3)
        if self.has("regulator_Pa"):
            supply = np.broadcast_to(self.ticks["regulator_Pa"], on.shape[:2])
        pressures = on * supply[:, :, None]
        return np.concatenate([pressures[:1], pressures[:-1]])

    def has(self, field: str) -> bool:
        """Whether the rig's rows have a field."""
        return field in (self.ticks.dtype.names or ())

    def number(self, key: str) -> float:
        """A number of the summary; NaN: it has none."""
        value = self.summary.get(key)
        return float(value) if isinstance(value, int | float) else float("nan")

    def numbers(self, key: str, count: int) -> Floats:
        """A list of the summary; NaN: it has none."""
        values = self.summary.get(key)
        given = values if isinstance(values, list | tuple) and len(values) == count else [None] * count
        return np.array([np.nan if value is None else float(value) for value in given])


def extreme_mean(values: Floats, rate_hz: int) -> Floats:
    """Largest mean over `RESIDUAL_WINDOW_S` of a quantity, either sign.

    Args:
        values: (ticks, elements); NaN where a tick has none.
        rate_hz: of the ticks.

    Returns:
        (elements,); NaN: it was never there for so long.
    """
    count = window_ticks(rate_hz)
    known = np.isfinite(values)
    sums = _summed(np.where(known, values, 0.0), count)
    whole = _summed(known.astype(np.float64), count) > count - 0.5
    means = np.where(whole, sums / count, 0.0)
    extremes: Floats = np.full(values.shape[1], np.nan)
    if len(means):
        at = np.abs(means).argmax(axis=0)
        extremes = np.where(whole.any(axis=0), means[at, np.arange(values.shape[1])], np.nan)
    return extremes


def window_ticks(rate_hz: int) -> int:
    """Ticks in `RESIDUAL_WINDOW_S`."""
    return max(round(RESIDUAL_WINDOW_S * rate_hz), 1)


def _summed(values: Floats, count: int) -> Floats:
    """Sums of so many rows in a row."""
    total = np.cumsum(np.concatenate([np.zeros((1, values.shape[1])), values]), axis=0)
    sums: Floats = total[count:] - total[:-count] if len(total) > count else total[:0]
    return sums


def lag_s(measured: Floats, commanded: Floats, rate_hz: int) -> Floats:
    """How late a measured quantity follows a commanded one, by least squares over the whole run.

    With a gain a and late by T, it lacks T times a times the command in the integral since the start, and 1 - a of the
    command's own integral: steps and ramps alike.

    Args:
        measured: (ticks, elements).
        commanded: (ticks, elements), NaN where there is no command.
        rate_hz: of the ticks.

    Returns:
        (elements,) T [s]; NaN: there was no command.
    """
    known = np.isfinite(commanded) & np.isfinite(measured)
    wanted, reached = np.where(known, commanded, 0.0), np.where(known, measured, 0.0)
    lacking, whole = np.cumsum(wanted - reached, axis=0) / rate_hz, np.cumsum(wanted, axis=0) / rate_hz
    products = [[(one * other * known).sum(axis=0) for other in (wanted, whole, lacking)] for one in (wanted, whole)]
    (wants, both, late), (_, wholes, rest) = products
    size = wants * wholes - both**2
    late_by, gain = late * wholes - rest * both, size - (rest * wants - late * both)
    seconds: Floats = np.full(size.shape, np.nan)
    np.divide(late_by, gain, out=seconds, where=(size > 1e-9 * wants * wholes) & (gain > 0.0))
    return seconds


def wheel_turn(ticks: Any, encoder: JointEncoder, place: int) -> tuple[Floats, Floats]:
    """How far a wheel has rolled forward from the zero of the encoder at its axle (readings,) [rad], and when [s].

    An encoder that begins again after each turn is followed. Without readings both are empty.

    Args:
        ticks: rows of a record.
        encoder: of the config.
        place: of it among the values of a reading.
    """
    readings = new_readings(ticks, "joints")
    seen = np.isfinite(readings.values[:, place])
    turned = np.unwrap(readings.values[seen, place]) - math.radians(encoder.zero_deg)
    return readings.t_s[seen], -turned if encoder.reversed else turned
