"""The obstacle's frame: how it stands at an angle, and where the wheel meets its plate (MacMahon 2016, App. C.2)."""

from __future__ import annotations

import math
from typing import NamedTuple

# Under this angle a wheel meets the plate so near the ground that a rover driven into it cannot be measured (MacMahon
# 2016, 6.2.3 and 6.2.4) [deg]. Computing such an impact is fine; arming a real rig for it is not.
LEAST_ANGLE_DEG = 40.0
LARGEST_ANGLE_DEG = 90.0
# The front link with the plate, and the rear link [m]: Table C-1 fits these two by the sine rule at all six angles.
FRONT_LINK_M, REAR_LINK_M = 0.50, 0.605


class FrameSettings(NamedTuple):
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


def frame_settings(angle_deg: float, wheel_radius_m: float) -> FrameSettings:
    """Frame and sensors of the obstacle at an angle.

    The three links are a triangle with the plate's angle beta opposite the rear link L_2, alpha opposite the front link
    L_1 and theta opposite the bottom link L_3. A wheel of radius r on level ground touches the plate at the height
    d = r (1 - cos beta); Table C-1 prints the same d for r = 0.175 m.

    Args:
        angle_deg: beta, of the plate to the ground [deg], above 0 and at most 90.
        wheel_radius_m: rolling radius of the wheel [m].
    """
    beta = math.radians(angle_deg)
    alpha = math.asin(FRONT_LINK_M * math.sin(beta) / REAR_LINK_M)
    bottom_link_m = REAR_LINK_M * math.sin(alpha + beta) / math.sin(beta)
    height_m = wheel_radius_m * (1.0 - math.cos(beta))
    return FrameSettings(bottom_link_m, math.degrees(alpha), height_m, height_m / math.sin(beta))
