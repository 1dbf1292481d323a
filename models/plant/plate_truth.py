"""The true load of the force sensors over the first contact: what an analysis of their samples is compared with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, kernel
from models.sensors.piezo import TRIANGLE, Piezo, bearing_shares, has_one_plate, left_share

# The contact is over when the load has stayed below this share of its largest value for this time.
OVER_SHARE, OVER_S = 0.05, 0.02

# slots of the array; the largest load of each channel follows from CHANNELS on
ONSET, FIRST, PEAK, RUNNING, IMPULSE, END, BELOW, CHANNELS = range(8)


class PlateTruth(NamedTuple):
    """Load of the instrumented plate, or of both bumpers together, over the first contact.

    Attributes:
        onset_s: when the load began [s].
        peak_N: largest load [N].
        sum_of_peaks_N: sum of the largest loads of the sensors [N]; of rear links, of the plate's load on each side.
        impulse_Ns: from the onset to the end [N s].
        end_s: when the load last was at least OVER_SHARE of its peak [s].
    """

    onset_s: float
    peak_N: float
    sum_of_peaks_N: float
    impulse_Ns: float
    end_s: float


def make_plate_truth(channels: int) -> FloatArray:
    """Allocate the array before the first contact."""
    plate = np.zeros(CHANNELS + channels)
    plate[[ONSET, END]] = np.nan
    return plate


def plate_truth(plate: FloatArray) -> PlateTruth | None:
    """The load so far; None: there was none, or no sensors."""
    if np.isnan(plate[ONSET]):
        return None
    onset, peak, impulse, end = plate[[ONSET, PEAK, IMPULSE, END]].tolist()
    return PlateTruth(onset, peak, float(plate[CHANNELS:].sum()), impulse, end)


@kernel
def note_plate(
    plate: FloatArray,
    piezo: Piezo,
    across: float,
    up: float,
    loads: tuple[float, float],
    last: tuple[float, float],
    end_s: float,
    dt: float,
) -> None:
    """Add one sub-step of the plant.

    Args:
        plate: see the slots above.
        piezo: the sensors; those of a triangle and of rear links bear the load of one plate.
        across: where the load acts on the plate [m], from the triangle's origin.
        up: the same.
        loads: of the front wheels, left and right, at the end of the sub-step [N].
        last: at its beginning [N].
        end_s: its end [s].
        dt: its length [s].
    """
    pair = not has_one_plate(piezo, plate.size - CHANNELS)
    now = loads[1] + (loads[0] if pair else 0.0)
    before = last[1] + (last[0] if pair else 0.0)
    if np.isnan(plate[ONSET]):
        if now > 0.0:
            plate[ONSET], plate[FIRST] = end_s, now
    elif plate[FIRST] > 0.0:
        # back along the first rise to the load's zero, which lies within the sub-step before
        rise = now - plate[FIRST]
        plate[ONSET] -= dt * (min(plate[FIRST] / rise, 1.0) if rise > 0.0 else 0.0)
        plate[FIRST] = 0.0
    if np.isnan(plate[ONSET]) or plate[BELOW] >= OVER_S:
        return
    plate[RUNNING] += 0.5 * (now + before) * dt
    plate[PEAK] = max(plate[PEAK], now)
    if now >= OVER_SHARE * plate[PEAK] and now > 0.0:
        plate[BELOW], plate[END], plate[IMPULSE] = 0.0, end_s, plate[RUNNING]
    else:
        plate[BELOW] += dt
    if pair:
        plate[CHANNELS] = max(plate[CHANNELS], loads[0])
        plate[CHANNELS + 1] = max(plate[CHANNELS + 1], loads[1])
    elif piezo.rear_reach > 0.0:
        left = left_share(piezo.place, across)
        plate[CHANNELS] = max(plate[CHANNELS], now * left)
        plate[CHANNELS + 1] = max(plate[CHANNELS + 1], now * (1.0 - left))
    elif now > 0.0:
        for i in range(TRIANGLE):
            plate[CHANNELS + i] = max(plate[CHANNELS + i], now * bearing_shares(piezo.place, across, up)[i])
