"""The obstacle's frame: how it stands at an angle, and where the wheel meets its plate (MacMahon 2016, App. C.2)."""

from __future__ import annotations

import math
from typing import NamedTuple

from models.sensors.rear_frame import REAR_LINK_M, contact_lever, rear_link_angle

# Under this angle a wheel meets the plate so near the ground that a rover driven into it cannot be measured (MacMahon
# 2016, 6.2.3 and 6.2.4) [deg]. Computing such an impact is fine; arming a real rig for it is not.
LEAST_ANGLE_DEG = 40.0
LARGEST_ANGLE_DEG = 90.0


class _FrameSettings(NamedTuple):
    """What to set on the frame for an angle.

    Attributes:
        bottom_link_m: L_3, the length to set between the feet of the two links [m].
        rear_angle_deg: alpha, of the rear link to the ground [deg].
        contact_height_m: d, of the contact point of a smooth wheel over the ground [m].
        along_plate_m: the same point, from the foot of the plate along the plate [m].
    """

    bottom_link_m: float
    rear_angle_deg: float
    contact_height_m: float
    along_plate_m: float


def frame_settings(angle_deg: float, wheel_radius_m: float) -> _FrameSettings:
    """Frame and sensors of the obstacle at an angle.

    The three links are a triangle with the plate's angle beta opposite the rear link L_2, alpha opposite the front link
    L_1 and theta opposite the bottom link L_3.

    Args:
        angle_deg: beta, of the plate to the ground [deg], above 0 and at most 90.
        wheel_radius_m: rolling radius of the wheel [m].
    """
    beta = math.radians(angle_deg)
    alpha, along_m = rear_link_angle(beta), contact_lever(beta, wheel_radius_m)
    bottom_link_m = REAR_LINK_M * math.sin(alpha + beta) / math.sin(beta)
    return _FrameSettings(bottom_link_m, math.degrees(alpha), along_m * math.sin(beta), along_m)
