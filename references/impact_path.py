"""Poisson's impact of one contact in a plane, along its path: sections in which it slides one way or sticks (Routh).

The normal impulse grows from zero. Of each growth dp the velocity changes by W (1, k) dp, where k is -mu or mu where
the contact slides, and the ratio that holds it where it sticks. Each section is a straight line with closed ends.
While it slides, friction may press the contact in faster than the normal impulse pushes it out; then the end of the
sliding stops it.
"""

from __future__ import annotations

import numpy as np

from models.kernels.compiled import FloatArray

_STOPPED_MPS = 1e-12


def poisson_path(W: FloatArray, u: FloatArray, friction: float, restitution: float) -> FloatArray:
    """Velocity (2,) [m/s] after the impact, normal and tangential.

    Args:
        W: (2, 2) inverse mass of the contact [1/kg], normal first.
        u: (2,) velocity before it [m/s]; the normal one is below zero.
        friction: Coulomb's.
        restitution: normal impulse of the second phase over that of the first.

    Raises:
        ValueError: nothing stops the contact: its normal velocity does not rise, and its sliding does not end.
    """
    u, given, whole = np.array(u, float), 0.0, np.inf
    while given < whole:
        if abs(u[1]) > _STOPPED_MPS:
            ratio = -friction * np.sign(u[1])
        else:
            ratio = np.clip(-W[1, 0] / W[1, 1], -friction, friction)
        rate = W @ (1.0, ratio)
        first = whole == np.inf
        until_phase = whole - given
        if first and rate[0] > 0.0:
            until_phase = -u[0] / rate[0]
        slides_to_rest = abs(u[1]) > _STOPPED_MPS and u[1] * rate[1] < 0.0
        until_stop = -u[1] / rate[1] if slides_to_rest else np.inf
        piece = min(until_phase, until_stop)
        if piece == np.inf:
            change = f"impact: normal velocity changes by {rate[0]:g} 1/kg while the contact slides on"
            raise ValueError(f"{change}, allowed: above 0")
        u, given = u + piece * rate, given + piece
        if until_stop <= until_phase:
            u[1] = 0.0
        elif first:
            whole = (1.0 + restitution) * given
        else:
            break
    return u
