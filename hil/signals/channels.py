"""What the analysis of samples knows of the sensors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.signals.vibration import ShieldResonance

Floats = NDArray[np.float64]


class SensorChannels(NamedTuple):
    """The sensors and their calibration.

    Attributes:
        rate_hz: samples a second and channel.
        newton_per_volt: (channels,), newtons on the plate.
        droop_s: (channels,) time constant of each AC coupling [s].
        sensitivity_u95: (channels,) half-width of the 95 % interval of each sensitivity, relative.
        droop_u95: (channels,) the same of each time constant.
        place: (channels, 2) sensors on the plate, across and up [m]; NaN of a bumper's, and for up of links'.
        each: every channel has a shield of its own (bumpers); else all stand behind one plate.
        ring: of the shield, as stated; what the samples show goes before it.
        lever_u95: half-width of the 95 % interval of what all channels alike are scaled with, relative: the lever of
            the hit on links of the frame, which nothing measures.
    """

    rate_hz: int
    newton_per_volt: Floats
    droop_s: Floats
    sensitivity_u95: Floats
    droop_u95: Floats
    place: Floats
    each: bool
    ring: ShieldResonance
    lever_u95: float = 0.0
