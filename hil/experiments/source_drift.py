"""Whether the instrument outside drifts: what its readings move by while the rover stands, after its drives are cut.

While the rover drives, a drift of a few mm/s looks like wheels that are larger than the config says. At rest only a
rover that still creeps, or a body that settles, looks like it. What is found bounds the drift; it makes no run invalid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.config.schema.instruments import MotionConfig
from hil.messages.layout import INSTRUMENTS
from hil.recording.stored_rows import Recorded, in_blocks

# Time recorded after a drive, drives cut; where the way is measured it is long enough for a drift to show itself.
_AFTER_NS, _STANDS_NS = 200_000_000, 3_000_000_000
# A rover has settled on its ground so long after the last rim was faster than this [m/s], within the distance [m] that
# it still creeps. Soil that was sheared by a pull or a stop goes on giving way for a moment.
_RIM_MPS, _SETTLES_NS, _CREEPS_M = 0.005, 1_000_000_000, 1e-4
# Shorter than this [s], or with fewer readings, a rest says nothing.
_LEAST_S, _LEAST_READINGS = 0.5, 8


class Drift(NamedTuple):
    """How fast the readings of a standing rover move.

    Attributes:
        rate_mps: of the measured place.
        sd_mps: standard deviation of each coordinate's rate.
    """

    rate_mps: float
    sd_mps: float


def rest_ns(motion: MotionConfig | None) -> int:
    """How long the drives are cut at the end of a run in which the rover may be measured by `motion`."""
    return _AFTER_NS if motion is None else _STANDS_NS


def source_drift(
    motion: MotionConfig | None, radii_m: Sequence[float], ticks: Recorded, *, moved: bool
) -> Drift | None:
    """The drift of `motion` at the end of a run; None: not known, as where the rover did not stand there.

    Args:
        motion: the instrument; None: there is none.
        radii_m: of the wheels; none: nothing says whether the rover stands.
        ticks: rows of the record.
        moved: its cylinders distribute the wheels' loads. They give way after the cut, and move the body.
    """
    if motion is None or not radii_m or moved:
        return None
    count = 1 if motion.measures == "distance" else 3
    found, newest, moved_ns = [np.zeros((0, 1 + count))], -1, -_SETTLES_NS
    for rows in in_blocks(ticks):
        if not len(rows):
            continue
        rims = np.abs(rows["wheel_speed_radps"] * np.array(radii_m)).max(axis=1)
        moves = rows["t_ns"][(rims > _RIM_MPS) | (rows["cut"] == 0)]
        moved_ns = int(moves[-1]) if len(moves) else moved_ns
        read_ns = rows[f"{INSTRUMENTS[0]}_t_ns"]
        fresh = np.diff(read_ns, prepend=newest) != 0
        newest = int(read_ns[-1])
        read: NDArray[Any] = rows[f"{INSTRUMENTS[0]}_reading"][:, :count]
        kept = np.concatenate([*found, np.column_stack([read_ns * 1e-9, read])[fresh]])
        found = [kept[kept[:, 0] > (moved_ns + _SETTLES_NS) * 1e-9]]
    (at,) = found
    at = at[np.isfinite(at).all(axis=1)]
    if len(at) < _LEAST_READINGS or np.ptp(at[:, 0]) < _LEAST_S:
        return None
    t_s = at[:, 0] - at[:, 0].mean()
    centred = at[:, 1:] - at[:, 1:].mean(axis=0)
    rates = t_s @ centred / (t_s @ t_s)
    left = centred - np.outer(t_s, rates)
    scatter = math.sqrt(float((left**2).sum()) / (count * (len(at) - 2)))
    sd = math.hypot(max(scatter, motion.noise_m) / math.sqrt(float(t_s @ t_s)), _CREEPS_M / float(np.ptp(t_s)))
    return Drift(float(np.linalg.norm(rates)), sd)
