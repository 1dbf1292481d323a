"""Writes the seeded rough ground of `sim_xu` as CSV: python tools/make_rough_ground.py rig_configs/scans/rough.csv.

Xu's ground (2021, Fig. 7) is a picture only. This one is a sum of waves that grow with their length, about his place of
start.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

SEED, POINTS, NOISE_M = 3, 4000, 0.001
START_M, BEHIND_M, AHEAD_M, BESIDE_M = (200.0, 200.0), 1.4, 2.6, 1.5
WAVES, LONGEST_M, SHORTEST_M, UNEVEN_M = 16, 3.0, 0.5, 0.022


def points(seed: int) -> np.ndarray:
    """Scattered points (POINTS, 3) [m], z up; the ground at the start has the height 0."""
    random = np.random.default_rng(seed)
    length = np.geomspace(LONGEST_M, SHORTEST_M, WAVES)
    direction, phase = random.uniform(0.0, 2.0 * np.pi, (2, WAVES))
    high = length / np.sqrt(0.5 * (length**2).sum()) * UNEVEN_M
    x = np.append(random.uniform(-BEHIND_M, AHEAD_M, POINTS), 0.0)
    y = np.append(random.uniform(-BESIDE_M, BESIDE_M, POINTS), 0.0)
    waves = 2.0 * np.pi / length * (np.cos(direction) * x[:, None] + np.sin(direction) * y[:, None]) + phase
    z = (high * np.sin(waves)).sum(axis=1)
    z = z[:-1] - z[-1] + NOISE_M * random.standard_normal(POINTS)
    return np.column_stack([x[:-1] + START_M[0], y[:-1] + START_M[1], z])


def csv_text(seed: int) -> str:
    """The points with a header, to the millimetre."""
    rows = [",".join(f"{value:.3f}" for value in point) for point in points(seed).tolist()]
    return "\n".join(["x,y,z", *rows, ""])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(csv_text(SEED), encoding="utf-8")
