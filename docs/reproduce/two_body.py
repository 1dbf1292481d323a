"""Fig. 3-4: how the place of the chassis parts the kinetic energy of two bodies at an impact, and (3.16) mended."""

from __future__ import annotations

import math

import numpy as np
from trials import Row, Section, parameters

from models.impact import effective_kinetic_energy

_BETA = math.pi / 2  # a vertical plate
_SPEED = 0.07


def two_bodies(theta: float, beta: float) -> tuple[np.ndarray, np.ndarray]:
    """Mass matrix (4, 4) of (3.5) and A (2, 4) of (3.9), in x_1, y_1, theta_1 and the wheel's own angle.

    (3.3) counts the wheel's spin as theta_1' + theta_2', and (3.9) drops theta_1' from it: kept as printed, for (3.16)
    is made for it, and the normal direction does not depend on it.
    """
    p = parameters()["two_body"]
    m1, m2, i1, i2, l, r = (
        p[k] for k in ("chassis_kg", "wheel_kg", "chassis_kgm2", "wheel_kgm2", "link_m", "radius_m")
    )
    s, c = math.sin(theta), math.cos(theta)
    m = np.array([
        [m1 + m2, 0.0, -m2 * l * s, 0.0],
        [0.0, m1 + m2, m2 * l * c, 0.0],
        [-m2 * l * s, m2 * l * c, i1 + i2 + m2 * l * l, i2],
        [0.0, 0.0, i2, i2],
    ])  # fmt: skip
    x, y = r * math.cos(beta), r * math.sin(beta)
    return m, np.array([[1.0, 0.0, -l * s, x], [0.0, 1.0, l * c, y]])


def share(theta: float) -> float:
    """Part of the kinetic energy that is constrained when the wheel hits a vertical plate without friction."""
    m, a = two_bodies(theta, _BETA)
    v = np.array([_SPEED, 0.0, 0.0, 0.0])
    normal = np.array([[math.sin(_BETA), -math.cos(_BETA)]]) @ a
    return effective_kinetic_energy(m, normal, v) / float(0.5 * v @ m @ v)


def coupling(theta: float, beta: float, *, printed: bool) -> float:
    """Largest entry of A M^-1 B^T over its scale: 0 where (3.16)'s coordinates are orthogonal to the contact's.

    Args:
        theta: of the link [rad].
        beta: of the plate [rad].
        printed: B with the wheel centre's velocity, as (3.16) has it; else with the contact point's.
    """
    p = parameters()["two_body"]
    m1, m2, i1, i2, l, r = (
        p[k] for k in ("chassis_kg", "wheel_kg", "chassis_kgm2", "wheel_kgm2", "link_m", "radius_m")
    )
    m, a = two_bodies(theta, beta)
    alpha, delta = i1 + i2 + l * l * m1, i2 + (m1 + m2) * r * r
    gamma, kappa = i2 + m1 * l * r * math.sin(beta - theta), r * (m1 + m2) * math.sin(beta)
    rest = alpha * delta - gamma * gamma
    s, c, x = math.sin(theta), math.cos(theta), (m1 + m2) * r * math.cos(beta)
    to = np.array([
        [(x * gamma + l * m1 * delta * s) / rest, -(l * m1 * delta * c - gamma * kappa) / rest],
        [-(x * alpha + l * m1 * gamma * s) / rest, -(alpha * kappa - l * m1 * gamma * c) / rest],
    ])  # fmt: skip
    moved = np.array([[1.0, 0.0, -l * s, 0.0], [0.0, 1.0, l * c, 0.0]]) if printed else a
    b = np.hstack([np.zeros((2, 2)), np.eye(2)]) + to @ moved
    product = a @ np.linalg.solve(m, b.T)
    size = np.sqrt(np.outer(np.diag(a @ np.linalg.solve(m, a.T)), np.diag(b @ np.linalg.solve(m, b.T))))
    return float(np.abs(product / size).max())


def two_body_impact() -> Section:
    """Fig. 3-4, and (3.16)."""
    p = parameters()["two_body"]
    low, high = (share(math.radians(p[key])) for key in ("low_deg", "high_deg"))
    grid = [(t, b) for t in (-0.4, 0.2, 2.5) for b in (0.6, 1.2, 1.5)]
    printed, mended = (max(coupling(t, b, printed=is_printed) for t, b in grid) for is_printed in (True, False))
    rows = [
        Row(
            "3-4",
            "(a) chassis behind the wheel: all kinetic energy is constrained; (b) chassis higher: part of it stays",
            f"(a) {100 * low:.1f} %, (b) {100 * high:.1f} % of it is constrained",
            "none",
            f"bodies and link are assumptions; (b) has the chassis {p['high_deg']} degrees above the line of motion",
        ),
        Row(
            "(3.16)",
            "coordinates of admissible motion orthogonal to those of the contact",
            f"largest cosine {printed:.2f} as printed, {mended:.0e} corrected",
            "as printed it is wrong",
            "the velocities in it must be those of the contact point, x_c and y_c, not of the wheel centre",
        ),
    ]
    return Section(rows)
