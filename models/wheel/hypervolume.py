"""The integral behind the normal force of a cylinder in soil, by quadrature and as a short polynomial.

With u = z/R the column depth in units of R is f(x) = sqrt(1 - x^2) - (1 - u), and the hypervolume of Petersen 2012
(3.4) is b R^(eta+1) I(u, eta) with I the integral of f^eta over the contact. I = u^(eta+1/2) P(u), where P is analytic
up to its first singularity at u = 2 (the wheel's top), so 14 coefficients made once per exponent serve all of (0, 1].
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray
from scipy.special import roots_jacobi

# Measured against quadrature over u in (0, 1]: 1.4e-13 at exponent 0.3, less above; 12 would give 6e-12.
COEFFICIENTS = 14
NODES = 32  # 16 are enough for rounding error over the same range
# Of the contact cut off at the rear: 1 - t = s^4 leaves s^(4 eta + 3) of the branch point, and 20 nodes give 2e-13.
GRADING = 4


@lru_cache(maxsize=64)
def _rule(exponent: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights of Gauss-Jacobi quadrature on [-1, 1] with weight (1 - t^2)^exponent."""
    nodes, weights = roots_jacobi(NODES, exponent, exponent)
    return np.asarray(nodes, dtype=np.float64), np.asarray(weights, dtype=np.float64)


def smooth_part(relative_sinkage: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    """Integrates the smooth factor P(u) = I(u, eta) / u^(eta + 1/2) of the hypervolume by quadrature.

    Over the contact angle, x = sin(theta) and theta = theta_1 t, the depth is a product and not a difference,
    f = cos(theta) - cos(theta_1) = 2 sin(theta_1 (1+t)/2) sin(theta_1 (1-t)/2), so no digits are lost as u -> 0. Its
    two zeros go into the weight (1 - t^2)^eta; the rest is smooth at both ends, at u = 1 too.

    Args:
        relative_sinkage: u = sinkage / radius [-], shape (n,), in (0, 1].
        exponent: eta [-], > -1; 0 gives the contact length and 1 the segment's area.

    Returns:
        P [-], shape (n,); sqrt(2) B(1/2, eta + 1) in the limit u -> 0.
    """
    nodes, weights = _rule(exponent)
    root = np.sqrt(relative_sinkage)
    angle = 2.0 * np.arcsin(root / np.sqrt(2.0))  # arccos(1 - u) without its cancellation
    half = angle[:, None] / (2.0 * np.pi)  # numpy's sinc carries the pi
    depth = np.sinc(half * (1.0 + nodes)) * np.sinc(half * (1.0 - nodes))
    integral = (depth**exponent * np.cos(angle[:, None] * nodes)) @ weights
    return np.asarray((angle / root) ** (2.0 * exponent + 1.0) * 2.0**-exponent * integral, dtype=np.float64)


def integral(relative_sinkage: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    """Integrates f^eta over the whole symmetric contact, Petersen 2012 (3.4) with (3.8), by quadrature.

    Args:
        relative_sinkage: u = sinkage / radius [-], shape (n,), in (0, 1].
        exponent: eta [-], > -1.

    Returns:
        I(u, eta) [-], shape (n,); times width * radius^(eta + 1) it is the hypervolume in m^(eta + 2).
    """
    return relative_sinkage ** (exponent + 0.5) * smooth_part(relative_sinkage, exponent)


def smooth_part_of_cut(relative_sinkage: NDArray[np.float64], exponent: float, rebound: float) -> NDArray[np.float64]:
    """Integrates the rear half of Tire I, cut off where the depth is (1 - gamma) z, as a smooth factor of u.

    Petersen 2012 (4.17), from the lowest point to x_D. Both ends lie at fixed fractions of the contact, so the integral
    over u^(eta + 1/2) is smooth like P. Towards the cut the integrand comes near the branch point at depth 0.

    Args:
        relative_sinkage: u = sinkage / radius [-], shape (n,), in (0, 1].
        exponent: eta [-], > -1.
        rebound: gamma [-], in (0, 1].

    Returns:
        Integral of f^eta from 0 to x_D over u^(eta + 1/2) [-], shape (n,); half of `smooth_part` at gamma = 1.
    """
    nodes, weights = leggauss(NODES)
    root = np.sqrt(relative_sinkage)
    angle = 2.0 * np.arcsin(root / np.sqrt(2.0))
    leave = 2.0 * np.arcsin(np.sqrt(0.5 * rebound * relative_sinkage))
    start = np.clip(1.0 - leave / angle, 0.0, 1.0) ** (1.0 / GRADING)
    s = start[:, None] + (1.0 - start[:, None]) * 0.5 * (nodes + 1.0)
    rest = s**GRADING  # 1 - t
    half = angle[:, None] / (2.0 * np.pi)
    depth = rest * (2.0 - rest) * np.sinc(half * (2.0 - rest)) * np.sinc(half * rest)
    steps = GRADING * s ** (GRADING - 1) * 0.5 * (1.0 - start[:, None])
    integral = (depth**exponent * np.cos(angle[:, None] * (1.0 - rest)) * steps) @ weights
    return np.asarray((angle / root) ** (2.0 * exponent + 1.0) * 2.0**-exponent * integral, dtype=np.float64)


def _in_powers(function: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> tuple[float, ...]:
    """Interpolates a smooth function on (0, 1] at Chebyshev's points and returns it in powers of u."""
    nodes = Chebyshev.interpolate(function, COEFFICIENTS - 1, domain=[0.0, 1.0])
    powers = nodes.convert(kind=Polynomial, domain=[-1.0, 1.0], window=[-1.0, 1.0])
    coefficients = np.zeros(COEFFICIENTS)  # trailing zeros are cut off by the conversion
    coefficients[: powers.coef.size] = powers.coef
    return tuple(coefficients.tolist())


@lru_cache(maxsize=64)
def fit(exponent: float) -> tuple[float, ...]:
    """Fits P(u) on (0, 1] by Chebyshev interpolation and returns it in powers of u.

    Powers of u are well-conditioned here (all coefficients but the first stay well below it), and a polynomial in
    gamma u then is one in u with other coefficients: both halves of the wheel cost one evaluation together.

    Args:
        exponent: eta [-], 0.3 to 1.75.

    Returns:
        Coefficients of u^0, u^1, ... [-], COEFFICIENTS of them.
    """
    return _in_powers(lambda u: smooth_part(u, exponent))


@lru_cache(maxsize=64)
def fit_of_cut(exponent: float, rebound: float) -> tuple[float, ...]:
    """Fits `smooth_part_of_cut` like `fit`; exponent 0.3 to 1.75, rebound in (0, 1]."""
    return _in_powers(lambda u: smooth_part_of_cut(u, exponent, rebound))
