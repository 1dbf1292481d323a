"""A shield that snaps back when what bent it slips off an edge, and rings on the sensors (MacMahon 2016, 6.2.6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, kernel


class SnapBack(NamedTuple):
    """The shields of both front wheels.

    Attributes:
        share: part of the force at the slip with which the shield comes back; 1: a spring let go.
        frequency: of the shields [Hz].
        damping: ratio of critical.
        slipped: (wheels,) of models.contact.plate.Plate, taken and set back to 0.
        swing: (wheels, 2) force of each shield that rings [N], and its rate [N/s].
        first: (wheels, 2) time of the first slip [s], -1 before, and its force [N].
    """

    share: float
    frequency: float
    damping: float
    slipped: FloatArray
    swing: FloatArray
    first: FloatArray


def make_snap_back(slipped: FloatArray, share: float, frequency: float, damping: float) -> SnapBack:
    """Shields at rest."""
    first = np.zeros((len(slipped), 2))
    first[:, 0] = -1.0
    return SnapBack(share, frequency, damping, slipped, np.zeros((len(slipped), 2)), first)


@kernel
def snapped(snap: SnapBack | None, wheel: int, force: float, t: float, dt: float) -> float:
    """Force on the sensors [N] of a load `force`; a shield that rings cannot pull on them.

    Args:
        snap: or None.
        wheel: index.
        force: of the wheel on the shield [N].
        t: time of the sample [s].
        dt: since the last one [s].
    """
    if snap is None:
        return force
    swing = snap.swing[wheel]
    if snap.slipped[wheel] > 0.0:
        if snap.first[wheel, 0] < 0.0:
            snap.first[wheel, 0], snap.first[wheel, 1] = t, snap.slipped[wheel]
        swing[0] += snap.share * snap.slipped[wheel]
        snap.slipped[wheel] = 0.0
    omega = 2.0 * np.pi * snap.frequency
    swing[1] -= dt * (omega * omega * swing[0] + 2.0 * snap.damping * omega * swing[1])
    swing[0] += dt * swing[1]
    return max(force + swing[0], 0.0)
