"""Continuous contact-force laws: depth and its rate in, compression out."""

from __future__ import annotations

from models.compiled import kernel

# Below this approach speed [m/s] a contact counts as laid on, not hit: it keeps the damping factor finite.
SLOWEST_ONSET = 1e-3


@kernel
def hunt_crossley(
    stiffness: float, exponent: float, restitution: float, depth: float, rate: float, onset_rate: float
) -> float:
    """Hunt-Crossley force, MacMahon 2016 (5.5), positive in compression and never pulling.

    Args:
        stiffness: k [N/m^p].
        exponent: p; 3/2 for spheres (Hertz), 1 for a lumped structure.
        restitution: e asked for, close to 1.
        depth: delta [m].
        rate: its time derivative [m/s].
        onset_rate: the rate when contact began [m/s].

    Returns:
        Force [N].
    """
    if depth <= 0.0:
        return 0.0
    elastic = stiffness * depth if exponent == 1.0 else stiffness * depth**exponent
    return max(0.0, elastic * (1.0 + 1.5 * (1.0 - restitution) * rate / max(onset_rate, SLOWEST_ONSET)))
