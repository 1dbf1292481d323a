"""An impact of one contact in a plane, along its path: sections in which it slides in one direction or sticks (Routh).

The normal impulse grows from zero. Of each growth dp the velocity changes by W (1, k) dp, where k is -mu or mu where
the contact slides, and the ratio that holds it where it sticks. Each section is a straight line with closed ends.
While it slides, friction may press the contact in faster than the normal impulse pushes it out; then the end of the
sliding stops it.
"""

from __future__ import annotations

import math

import numpy as np

from models.kernels.compiled import FloatArray

_STOPPED_MPS = 1e-12


def impact_path(W: FloatArray, u: FloatArray, friction: float, restitution: float, law: str = "poisson") -> FloatArray:
    """Velocity (2,) [m/s] after the impact, normal and tangential.

    Args:
        W: (2, 2) inverse mass of the contact [1/kg], normal first.
        u: (2,) velocity before it [m/s]; the normal one is below zero.
        friction: Coulomb's.
        restitution: of `law`.
        law: "poisson": it is the normal impulse of the second phase over that of the first; "stronge": the root of that
            ratio of the works of the normal impulse.

    Raises:
        ValueError: nothing stops the contact: its normal velocity does not rise, and its sliding does not end.
    """
    u, given, work, left = np.array(u, float), 0.0, 0.0, math.inf  # left: impulse or work of the second phase
    while left > 0.0:
        if abs(u[1]) > _STOPPED_MPS:
            ratio = -friction * np.sign(u[1])
        else:
            ratio = np.clip(-W[1, 0] / W[1, 1], -friction, friction)
        rate, first = W @ (1.0, ratio), left == math.inf
        until_phase = left
        if first:
            until_phase = -u[0] / rate[0] if rate[0] > 0.0 else math.inf
        elif law == "stronge":  # u p + rate p^2/2 = left
            root = u[0] ** 2 + 2.0 * rate[0] * left
            until_phase = 2.0 * left / (u[0] + math.sqrt(root)) if root >= 0.0 else math.inf
        slides_to_rest = abs(u[1]) > _STOPPED_MPS and u[1] * rate[1] < 0.0
        until_stop = -u[1] / rate[1] if slides_to_rest else math.inf
        piece = min(until_phase, until_stop)
        if piece == math.inf:
            change = f"impact: normal velocity changes by {rate[0]:g} 1/kg while the contact slides on"
            raise ValueError(f"{change}, allowed: above 0")
        done = piece * (u[0] + 0.5 * piece * rate[0])
        u, given, work = u + piece * rate, given + piece, work + done
        if not first:
            left -= done if law == "stronge" else piece
        if until_stop <= until_phase:
            u[1] = 0.0
        elif first:
            left = restitution * given if law == "poisson" else -(restitution**2) * work
        else:
            break
    return u
