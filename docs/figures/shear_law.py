"""Table of docs/explanation/wheel.md: how far lumped laws of the shear are from the stresses over the contact.

Run: python docs/figures/shear_law.py    (seconds)

Reference: the law at the displacement of each point of the contact, weighted with the pressure there (Petersen 2012,
(4.2), (4.5), with the pressure of (4.26)). The lumped law that the wheels have has one number that is fitted, the slip
modulus; a deviation is the largest over slips of 0.05 to 0.9, of the largest torque.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.polynomial.legendre import leggauss
from outputs import Outputs, outputs
from scipy.optimize import minimize_scalar

from models.kernels.compiled import FloatArray
from models.wheel import RigidWheel, Soil
from models.wheel.packed import SHEAR_HUMP, SHEAR_RATE, SHEAR_RESIDUAL
from models.wheel.shear_law import share_of_limit

PAGE = "docs/explanation/wheel.md"
RADIUS_M, EXPONENT, REBOUND = 0.125, 0.75, 0.025
SLIPS = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9])
SINKAGES_M = (0.002, 0.004, 0.006, 0.012, 0.025)  # loads of 1 to 24
DISPLACEMENTS_M = (0.002, 0.004, 0.008)  # of the peak, or of Janosi and Hanamoto's modulus
LAWS: tuple[tuple[str, float | None], ...] = (
    ("janosi_hanamoto", None), ("exponential", None), ("oida", 0.0), ("oida", 0.3), ("oida", 0.6), ("oida", 0.9),
    ("wong", 0.0), ("wong", 0.3), ("wong", 0.6), ("wong", 0.9),
)  # fmt: skip
# Share of the limit at slips (n,) for a slip modulus.
Share = Callable[[float], FloatArray]


def packed(law: str, residual: float | None, modulus: float) -> FloatArray:
    """Parameters of a wheel on such a soil."""
    soil = Soil(1e6, EXPONENT, friction_angle=0.5, rebound=REBOUND, slip_modulus=modulus, shear=law,
                shear_residual=residual)  # fmt: skip
    return np.asarray(RigidWheel(RADIUS_M, 0.1, soil).parameters)


def mobilised(law: str, residual: float | None) -> Callable[[FloatArray], FloatArray]:
    """Share of the limit over displacement, over that of the peak."""
    p = packed(law, residual, 1.0)
    if residual is None:
        return lambda x: -np.expm1(-x)
    at_peak = math.log(0.5 * (1.0 + math.exp(2.0)))
    rate, k_r, hump = p[SHEAR_RATE] * at_peak, p[SHEAR_RESIDUAL], p[SHEAR_HUMP]
    return lambda x: -np.expm1(-rate * x) * (k_r + hump * np.exp(-rate * x))


def integrated(law: str, residual: float | None, sinkage_m: float, displacement_m: float) -> FloatArray:
    """The reference at `SLIPS`."""
    entry = 2.0 * math.asin(math.sqrt(0.5 * sinkage_m / RADIUS_M))
    leave = 2.0 * math.asin(math.sqrt(0.5 * REBOUND * sinkage_m / RADIUS_M))
    x, w = leggauss(80)
    ahead, behind = 0.5 * entry * (x + 1.0), -0.5 * leave * (x + 1.0)
    pressure = np.concatenate([
        0.5 * entry * w * (RADIUS_M * (np.cos(ahead) - math.cos(entry))) ** EXPONENT,
        0.5 * leave * w * sinkage_m ** (EXPONENT - 1.0) / REBOUND * RADIUS_M * (np.cos(behind) - math.cos(leave)),
    ])  # fmt: skip
    angle, pressure = np.concatenate([ahead, behind]), pressure / pressure.sum()
    moved = RADIUS_M * (entry - angle - (1.0 - SLIPS[:, None]) * (math.sin(entry) - np.sin(angle)))
    return np.asarray(mobilised(law, residual)(moved / displacement_m) @ pressure)


def lumped(law: str, residual: float | None) -> Share:
    """The law that the wheels have."""

    def share(modulus: float) -> FloatArray:
        p = packed(law, residual, modulus)
        return np.array([share_of_limit(p, slip) for slip in SLIPS])

    return share


def deviation(share: Share, sinkages_m: Sequence[float], expected: Sequence[FloatArray], power: float = 0.0) -> float:
    """Largest deviation of the best slip modulus, which is in proportion to this power of the sinkage."""

    def worst(log: float) -> float:
        return max(
            float(np.abs(share(math.exp(log) * (z / sinkages_m[0]) ** power) - one).max() / one.max())
            for z, one in zip(sinkages_m, expected, strict=True)
        )

    logs = np.linspace(math.log(0.005), math.log(5.0), 50)  # there may be several minima
    near = min(logs, key=worst)
    step = logs[1] - logs[0]
    return float(
        minimize_scalar(worst, bounds=(near - step, near + step), method="bounded", options={"xatol": 0.01}).fun
    )


def table(out: Outputs) -> None:
    """A row for each law."""
    rows = []
    for law, residual in out.some(LAWS, 1):
        numbers: list[list[float]] = []
        for displacement_m in out.some(DISPLACEMENTS_M, 1):
            expected = [integrated(law, residual, z, displacement_m) for z in SINKAGES_M]
            share = lumped(law, residual)
            each = max(deviation(share, [z], [one]) for z, one in zip(SINKAGES_M, expected, strict=True))
            pairs = (0, 1), (2, 3)  # of twice the sinkage
            twice = max(deviation(share, [SINKAGES_M[i] for i in pair], [expected[i] for i in pair]) for pair in pairs)
            whole = (deviation(share, SINKAGES_M, expected, power) for power in (0.0, -0.5))
            numbers.append([each, twice, *whole])
        worst = np.max(numbers, axis=0)
        rows.append([law.replace("_", " "), "-" if residual is None else f"{residual:g}",
                     *(f"{100.0 * one:.0f} %" for one in worst)])  # fmt: skip
    columns = ("one load", "loads of 1 to 2.4", "loads of 1 to 24", "the same, K as 1 over the contact's length")
    out.table(PAGE, "shear law", ("law", "residual", *columns), rows)


if __name__ == "__main__":
    table(outputs(__doc__))
