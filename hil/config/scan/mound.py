"""A seeded stand-in for a scan: loose soil with a mound, as points that a scanner might have seen.

Petersen 2012 (6.3) drove over some 20 m^2 of soil with a mound about 0.5 m high; his scan is not published.
"""

from __future__ import annotations

import numpy as np

from hil.config.scan.grid import Floats

# Ground [m], the rover's start being its origin; place, height and width (standard deviation) of the mound [m].
AHEAD_M, ACROSS_M = (-1.2, 6.2), (-1.5, 1.5)
PLACE_M, HEIGHT_M, WIDTH_M = (2.4, 0.1), 0.5, 0.9
# Waves of the ground around it: number, longest and shortest [m], and the standard deviation of their sum [m].
WAVES, LONGEST_M, SHORTEST_M, UNEVEN_M = 12, 3.0, 0.8, 0.008


def mound_height(x: Floats, y: Floats, seed: int) -> Floats:
    """Height [m] of the ground at places [m] of any shape; the same seed is the same ground."""
    random = np.random.default_rng([seed, 0])
    length = np.geomspace(LONGEST_M, SHORTEST_M, WAVES)
    direction, phase = random.uniform(0.0, 2.0 * np.pi, (2, WAVES))
    # long waves are higher, as of natural ground
    high = length / np.sqrt(0.5 * (length**2).sum()) * UNEVEN_M
    ground = np.zeros(np.broadcast_shapes(x.shape, y.shape))
    for one, turned, at, up in zip(length, direction, phase, high, strict=True):
        ground += up * np.sin(2.0 * np.pi / one * (np.cos(turned) * x + np.sin(turned) * y) + at)
    away = ((x - PLACE_M[0]) ** 2 + (y - PLACE_M[1]) ** 2) / WIDTH_M**2
    return ground + HEIGHT_M * np.exp(-0.5 * away)


def mound_points(seed: int, points: int = 6000, noise_m: float = 0.002, wrong: int = 12) -> Floats:
    """Scattered points (points, 3) [m] of that ground, z up.

    Args:
        seed: of ground and scanner.
        points: how many.
        noise_m: standard deviation of each height [m].
        wrong: so many of them are outliers, 0.3 to 1 m too high: dust, or a cable.
    """
    random = np.random.default_rng([seed, 1])
    x, y = random.uniform(*AHEAD_M, points), random.uniform(*ACROSS_M, points)
    z = mound_height(x, y, seed) + noise_m * random.standard_normal(points)
    z[:wrong] += random.uniform(0.3, 1.0, wrong)
    return np.column_stack([x, y, z])
