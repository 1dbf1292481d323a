"""Bending modes of a beam that is clamped at one end and carries a rigid body at the other (Euler and Bernoulli).

With xi = x/L, a free vibration of frequency omega = beta^2 sqrt(EI/(rho A L^4)) has the shape

    phi = cosh(beta xi) - cos(beta xi) - s (sinh(beta xi) - sin(beta xi)),

and at the free end, where a body of mass mu rho A L and of inertia j rho A L^3 about that end sits,

    phi'' = beta^4 j phi',    phi''' = -beta^4 mu phi.

Shapes here are 1 at the free end, so their coordinate is its deflection [m].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.optimize import brentq

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray

_NOT_NEGATIVE = Range(0.0, 1e5, "")
_STEP, _FARTHEST = 0.02, 40.0
MOST_MODES = 8


@dataclass(frozen=True)
class BendingMode:
    """One shape.

    Attributes:
        beta: wave number [-].
        share: s of the module.
        mass_ratio: mu, of the end body for which it is a free vibration.
        inertia_ratio: j, likewise.
    """

    beta: float
    share: float
    mass_ratio: float
    inertia_ratio: float

    def value(self, xi: float | FloatArray) -> FloatArray:
        """Phi at xi from 0 to 1."""
        return _shape(self, np.asarray(xi), 0) / _shape(self, np.asarray(1.0), 0)

    def slope(self, xi: float | FloatArray) -> FloatArray:
        """Phi' by xi."""
        return self.beta * _shape(self, np.asarray(xi), 1) / _shape(self, np.asarray(1.0), 0)

    def curvature(self, xi: float | FloatArray) -> FloatArray:
        """Phi'' by xi."""
        return self.beta**2 * _shape(self, np.asarray(xi), 2) / _shape(self, np.asarray(1.0), 0)

    @property
    def stiffness(self) -> float:
        """Integral of phi''^2: the coordinate's stiffness is EI/L^3 times this."""
        nodes, weights = leggauss(24)
        return float(0.5 * weights @ self.curvature(0.5 + 0.5 * nodes) ** 2)

    @property
    def frequency(self) -> float:
        """beta^2: omega is sqrt(EI/(rho A L^4)) times this."""
        return self.beta**2


def bending_modes(count: int, mass_ratio: float = 0.0, inertia_ratio: float = 0.0) -> tuple[BendingMode, ...]:
    """The first modes.

    Args:
        count: how many, 1 to 8.
        mass_ratio: mu [-] of the body at the free end, 0 or more.
        inertia_ratio: j [-] of that body about the free end, 0 or more.

    Raises:
        ValueError: a number out of range.

    Example:
        A clamped beam with nothing at its end, and one with its own mass there:

        >>> [round(mode.beta, 4) for mode in bending_modes(3)]
        [1.8751, 4.6941, 7.8548]
        >>> round(bending_modes(1, mass_ratio=1.0)[0].beta, 4)
        1.2479
    """
    refuse(
        "bending modes",
        [
            None if count in range(1, MOST_MODES + 1) else f"count is {count}, allowed: 1 to {MOST_MODES}",
            problem("mass_ratio", mass_ratio, _NOT_NEGATIVE),
            problem("inertia_ratio", inertia_ratio, _NOT_NEGATIVE),
        ],
    )

    def excess(beta: float) -> float:
        (a, b), (c, d) = _end(beta, mass_ratio, inertia_ratio)
        return (a * d - b * c) * math.exp(-2.0 * beta) / (1.0 + beta**3 * inertia_ratio) / (1.0 + beta * mass_ratio)

    found: list[BendingMode] = []
    low, before = _STEP, excess(_STEP)
    while len(found) < count and low < _FARTHEST:
        high = low + _STEP
        after = excess(high)
        if before * after < 0.0:
            beta = float(brentq(excess, low, high, xtol=1e-14))
            (a, b), _ = _end(beta, mass_ratio, inertia_ratio)
            found.append(BendingMode(beta, a / b, mass_ratio, inertia_ratio))
        low, before = high, after
    if len(found) < count:
        raise ValueError(f"bending modes: count is {count}, found: {len(found)} below beta {_FARTHEST:g}")
    return tuple(found)


def _end(beta: float, mu: float, j: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """(a, b) of a - s b = 0 for the moment and for the force at the free end."""
    cosh, cos, sinh, sin = math.cosh(beta), math.cos(beta), math.sinh(beta), math.sin(beta)
    inertia, mass = beta**3 * j, beta * mu
    return (
        (cosh + cos - inertia * (sinh + sin), sinh + sin - inertia * (cosh - cos)),
        (sinh - sin + mass * (cosh - cos), cosh + cos + mass * (sinh - sin)),
    )


def _shape(mode: BendingMode, xi: FloatArray, order: int) -> FloatArray:
    """Derivative of that order by beta xi, before it is made 1 at the end."""
    z = mode.beta * xi
    even, odd = (np.cosh, np.sinh) if order % 2 == 0 else (np.sinh, np.cosh)
    waves = ((-np.cos(z), np.sin(z)), (np.sin(z), np.cos(z)), (np.cos(z), -np.sin(z)))[order]
    out: FloatArray = even(z) + waves[0] - mode.share * (odd(z) - waves[1])
    return out
