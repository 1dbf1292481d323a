"""Whether the instrument outside drifts: what its readings move by while the rover stands, after its drives are cut.

While the rover drives, a drift of a few mm/s looks like wheels that are larger than the config says. At rest nothing
else looks like it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hil.config.schema.instruments import MotionConfig
from hil.messages.layout import INSTRUMENTS
from hil.recording.stored_rows import Recorded, in_blocks, per_part
from hil.signals.innovation import innovation_bound

# So long the drives are cut after a drive whose way is measured, so that a drift shows itself.
STANDS_NS = 3_000_000_000
# A rover has settled on its ground so long after the last rim was faster than this [m/s], within the distance [m] that
# it still creeps. Soil that was sheared by a pull goes on giving way once the pull has ended.
_RIM_MPS, _SETTLES_NS, _SETTLES_PULLED_NS, _CREEPS_M = 0.005, 300_000_000, 1_000_000_000, 1e-4
# Shorter than this [s], or with fewer readings, a rest says nothing.
_LEAST_S, _LEAST_READINGS = 0.5, 8


class Drift(NamedTuple):
    """How fast the readings of a standing rover move.

    Attributes:
        rate_mps: of the measured place.
        sd_mps: standard deviation of each coordinate's rate.
        channels: coordinates of the place.
    """

    rate_mps: float
    sd_mps: float
    channels: int

    @property
    def sure(self) -> bool:
        """Whether it is more than the noise of the readings explains, but for one run in 10 000."""
        return self.rate_mps**2 > self.channels * innovation_bound(self.channels) * self.sd_mps**2


def source_drift(
    motion: MotionConfig | None, radii_m: Sequence[float], ticks: Recorded, *, pulled: bool, moved: bool
) -> Drift | None:
    """The drift of `motion` at the end of a run; None: not known, as where the rover did not stand there.

    Args:
        motion: the instrument; None: there is none.
        radii_m: of the wheels; none: nothing says whether the rover stands.
        ticks: rows of the record.
        pulled: a winch holds the rover back while it drives.
        moved: its cylinders distribute the wheels' loads. They give way after the cut, and move the body.
    """
    if motion is None or not radii_m or moved:
        return None
    count = 1 if motion.measures == "distance" else 3
    settles_ns = _SETTLES_PULLED_NS if pulled else _SETTLES_NS
    found, newest, moved_ns = [np.zeros((0, 1 + count + 4))], -1, -settles_ns
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
        kept = np.concatenate([*found, np.column_stack([read_ns * 1e-9, read, per_part(rows, "pose")[:, 3:]])[fresh]])
        found = [kept[kept[:, 0] > (moved_ns + settles_ns) * 1e-9]]
    (at,) = found
    at = at[np.isfinite(at).all(axis=1)]
    if len(at) < _LEAST_READINGS or np.ptp(at[:, 0]) < _LEAST_S:
        return None
    t_s = at[:, 0] - at[:, 0].mean()
    places = at[:, 1 : 1 + count] - _turned(motion, at[:, 1 + count :])  # a body that settles moves the point
    centred = places - places.mean(axis=0)
    rates = t_s @ centred / (t_s @ t_s)
    left = centred - np.outer(t_s, rates)
    scatter = math.sqrt(float((left**2).sum()) / (count * (len(at) - 2)))
    sd = math.hypot(max(scatter, motion.noise_m) / math.sqrt(float(t_s @ t_s)), _CREEPS_M / float(np.ptp(t_s)))
    return Drift(float(np.linalg.norm(rates)), sd, count)


def _turned(motion: MotionConfig, attitudes: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the body's turns (n, 4) alone move a reading by (n, 1 or 3) [m], from some place."""
    moved = Rotation.from_quat(attitudes).apply(motion.point_m)
    if motion.measures == "distance":
        along: NDArray[np.float64] = moved @ (np.array(motion.direction) / math.hypot(*motion.direction))
        return along[:, None]
    found: NDArray[np.float64] = Rotation.from_euler("xyz", motion.turn_deg, degrees=True).inv().apply(moved)
    return found


def drift_reasons(summary: Mapping[str, Any]) -> list[str]:
    """Why places and speeds of a run do not count; none where `motion` did not drift, or was left out.

    Args:
        summary: with the key `estimation`.
    """
    source = summary.get("estimation", {}).get("sources", {}).get(INSTRUMENTS[0], {})
    if source.get("left_out") or not source.get("drifts"):
        return []
    rate, sd = 1e3 * source["drift_mps"], 1e3 * source["drift_sd_mps"]
    return [
        f"the readings of motion moved by {rate:.2f} mm/s while the rover stood after its drive (standard deviation "
        f"{sd:.2f}); allowed: what their noise explains, because a drift is taken for speed. Look for a stand, a "
        "reflector or a calibration that moves"
    ]
