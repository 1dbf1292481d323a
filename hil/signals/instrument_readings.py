"""Readings of an instrument of motion in a record, their place in the rig's axes, and how far off a good one may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from scipy.special import gammaincinv

Floats = NDArray[np.float64]
Rows = NDArray[np.void]
Triple = tuple[float, float, float]


class Readings(NamedTuple):
    """Each reading once."""

    t_s: Floats  # (n,) when it was taken, 0 at the start of the run [s]
    values: Floats  # (n, channels) in the instrument's own axes, SI
    rows: NDArray[np.int64]  # (n,) the tick in which it was there first


def new_readings(tick: Rows, role: str) -> Readings:
    """The readings of an instrument: one where its time is not that of the tick before."""
    t_ns: NDArray[np.int64] = tick[f"{role}_t_ns"]
    rows = np.flatnonzero((np.diff(t_ns, prepend=-1) != 0) & (t_ns >= 0))
    return Readings(np.asarray(t_ns[rows] * 1e-9, float), np.asarray(tick[f"{role}_reading"][rows], float), rows)


def rotation(turns_deg: Iterable[float]) -> Rotation:
    """The rotation by roll, pitch, yaw [deg], about x first, then y, then z of axes that do not turn."""
    roll, pitch, yaw = turns_deg
    return Rotation.from_euler("ZYX", (yaw, pitch, roll), degrees=True)


def turns_of(turned: Rotation) -> Triple:
    """Roll, pitch, yaw of a rotation [deg]."""
    yaw, pitch, roll = turned.as_euler("ZYX", degrees=True).tolist()
    return roll, pitch, yaw


def unit(direction: Sequence[float]) -> Floats:
    """A vector of that direction, of length 1."""
    vector = np.asarray(direction, float)
    return np.asarray(vector / np.linalg.norm(vector))


def place_in_rig(readings: Readings, section: Any) -> Floats:
    """Where an instrument outside the rover saw the base of the rover, in the rig's axes (n, 3) [m].

    Of a position the body is taken to be turned as at the start, of a distance only its component along its direction
    is known: it is taken to be straight ahead, and y and z are NaN.
    """
    values, origin, point = readings.values, np.asarray(section.origin_m), np.asarray(section.point_m)
    if section.measures == "distance":
        along = unit(section.direction)
        ahead = (values[:, 0] + origin @ along - point @ along) / along[0] if along[0] else np.full(len(values), np.nan)
        return np.column_stack([ahead, np.full((len(values), 2), np.nan)])
    turn = rotation(section.turn_deg)
    places: Floats = origin + turn.apply(values[:, :3])
    if section.measures == "pose" and len(values):
        return np.asarray(places - base_turned(readings, section).apply(point))
    return np.asarray(places - point)


def base_turned(readings: Readings, section: Any) -> Rotation:
    """How the base of the rover was turned in the rig's axes at each reading of a pose."""
    body = Rotation.from_quat(_whole(readings.values[:, 3:7]))
    return rotation(section.turn_deg) * body * rotation(section.body_turn_deg).inv()


def _whole(quaternions: Floats) -> Floats:
    """Those that are not finite as no rotation: their place is not finite either."""
    good = np.isfinite(quaternions).all(axis=1) & (np.linalg.norm(quaternions, axis=1) > 0.5)
    return np.where(good[:, None], quaternions, [0.0, 0.0, 0.0, 1.0])


def speed_of(t_s: Floats, way: Floats, over_s: float) -> Floats:
    """Speed at each time from ways there (n,) [m/s]: slope of a straight line through the readings of that span.

    Times (n,) rise; ways that are not finite give NaN around them.
    """
    first = np.searchsorted(t_s, t_s - 0.5 * over_s - 1e-9)
    end = np.searchsorted(t_s, t_s + 0.5 * over_s + 1e-9)
    counts = end - first

    def sums(values: Floats) -> Floats:
        total = np.concatenate([[0.0], np.cumsum(values)])
        return np.asarray(total[end] - total[first])

    centre = float(t_s.mean()) if len(t_s) else 0.0
    t, x = t_s - centre, way - (np.nanmean(way) if np.isfinite(way).any() else 0.0)
    bad = sums((~np.isfinite(x)).astype(float)) > 0
    x = np.nan_to_num(x)
    spread = sums(t * t) - sums(t) ** 2 / counts
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = (sums(t * x) - sums(t) * sums(x) / counts) / spread
    slope[bad | (counts < 3)] = np.nan
    return np.asarray(slope)


# A reading is believed if its squared normalised innovation is in this part of its chi-square distribution.
BELIEVED = 0.9999


def innovation_bound(values: int) -> float:
    """Largest squared normalised innovation of a reading that is believed, over its number of independent values."""
    return float(2.0 * gammaincinv(0.5 * values, BELIEVED)) / values


def independent_values(channels: int, role: str) -> int:
    """Of a reading of an instrument: a quaternion's four numbers are three turns."""
    return channels - 1 if role == "motion" and channels > 3 else channels
