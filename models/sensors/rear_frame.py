"""The obstacle's frame with force sensors in its rear links (MacMahon 2016, App. C.2, the statics of Fig. C-3).

The plate's link stands on the front foot at the angle beta, the rear link holds its top, and the sensor measures the
rear link's compression. Moments about the front foot: the plate's force has the lever of the contact point along the
plate, d / sin(beta), for Table C-1's d is the height of that point; the rear link has the lever L_3 sin(alpha). The
ratios 0.079 and 0.74 that the thesis prints for 40 and 90 degrees follow from neither lever.
"""

from __future__ import annotations

import math

import numpy as np

# Table C-1: beta [deg], alpha [deg] of the rear link to the ground, L_3 [m] between the feet, d [m].
TABLE_C1 = np.array(
    [
        (40.0, 32.0, 0.91, 0.041),
        (50.0, 39.0, 0.79, 0.062),
        (60.0, 46.0, 0.67, 0.086),
        (70.0, 51.0, 0.55, 0.115),
        (80.0, 55.0, 0.44, 0.144),
        (90.0, 56.0, 0.34, 0.175),
    ]
)


def rear_link_share(angle: float) -> float:
    """Compression of the rear link over the normal force on the plate, without the frame's weight.

    Args:
        angle: beta of the plate to the ground [rad], 40 to 90 degrees; between the lines of Table C-1 its numbers are
            interpolated.

    Raises:
        ValueError: an angle that Table C-1 does not cover.
    """
    beta = math.degrees(angle)
    low, high = TABLE_C1[0, 0], TABLE_C1[-1, 0]
    if not low - 1e-9 <= beta <= high + 1e-9:
        raise ValueError(f"rear frame: angle is {beta:g} deg, allowed: {low:g} to {high:g}, as in Table C-1")
    alpha, base, height = (float(np.interp(beta, TABLE_C1[:, 0], TABLE_C1[:, column])) for column in (1, 2, 3))
    return height / math.sin(angle) / (base * math.sin(math.radians(alpha)))
