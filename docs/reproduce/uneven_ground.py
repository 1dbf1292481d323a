"""Figures of uneven-ground.md: what counting the ground under a wheel as flat does to its normal force.

The reference is a fine quadrature in the wheel's plane: columns of soil between the rim and ground that is an arc. Ours
is the same quadrature between the rim and the tangent plane at the foot point, at the same sinkage.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from models.terrain import make_height_map
from models.terrain.height_map import foot

sys.path.append(str(Path(__file__).resolve().parents[1] / "figures"))
from outputs import outputs

PAGE, NAME = "docs/reproduce/uneven-ground.md", "plane"
HEAD = "ground's radius over the wheel's", "force in a hollow", "force on a crest"

RADIUS_M, SINKAGE_M, EXPONENT = 0.2794, 0.028, 0.501
COLUMNS = 400_001
RATIOS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)


def force(bend: float) -> float:
    """Integral of depth^n over the contact [m^(n + 1)] on ground of this curvature [1/m], positive in a hollow."""
    x = np.linspace(-RADIUS_M, RADIUS_M, COLUMNS)
    # the arc through the origin, exact; the rim's lowest point is SINKAGE_M below it
    ground = np.where(
        np.abs(bend * x) < 1.0, bend * x * x / (1.0 + np.sqrt(np.maximum(1.0 - (bend * x) ** 2, 0.0))), 0.0
    )
    rim = RADIUS_M - SINKAGE_M - np.sqrt(RADIUS_M**2 - x * x)
    return float(np.trapezoid(np.maximum(ground - rim, 0.0) ** EXPONENT, x))


def rows() -> list[tuple[float, float, float]]:
    """Radius of the ground over the wheel's; error of the force in a hollow and on a crest, ours over exact less 1."""
    flat = force(0.0)
    return [
        (ratio, flat / force(1.0 / (ratio * RADIUS_M)) - 1.0, flat / force(-1.0 / (ratio * RADIUS_M)) - 1.0)
        for ratio in RATIOS
    ]


def foot_errors() -> list[tuple[float, float]]:
    """Radius of a hollow over the wheel's; error of the distance found [m] beside it, by a search on a fine grid."""
    found = []
    for ratio in RATIOS:
        bend, one = 1.0 / (ratio * RADIUS_M), 0.05
        x = one * np.arange(-12, 13)
        relief = make_height_map(0.5 * bend * x[:, None] ** 2 + 0.0 * x[None], x[0], x[0], one)
        fine = np.linspace(-0.4, 0.4, COLUMNS)
        worst = 0.0
        for at in np.linspace(0.0, 0.1, 5):
            slope = bend * at
            size = np.hypot(1.0, slope)
            height = RADIUS_M - SINKAGE_M
            centre = (at - height * slope / size, 0.0, 0.5 * bend * at * at + height / size)
            nearest = np.sqrt((fine - centre[0]) ** 2 + (0.5 * bend * fine**2 - centre[2]) ** 2).min()
            worst = max(worst, abs(foot(relief, centre)[0] - float(nearest)))
        found.append((ratio, worst))
    return found


if __name__ == "__main__":
    cells = [(f"{ratio:g}", f"{hollow:+.1%}", f"{crest:+.1%}") for ratio, hollow, crest in rows()]
    outputs(__doc__).table(PAGE, NAME, HEAD, cells)
    print(f"foot point to {max(distance_m for _, distance_m in foot_errors()):.0e} m")
