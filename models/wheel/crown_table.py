"""A wheel with a crowned rim in soil: the exact columns under its rim, by quadrature across it, and a table of them.

At a distance y from its middle plane the rim is a circle of radius R - d(y), with d = rho - sqrt(rho^2 - y^2) and rho
the radius of the crown. So a slice of the wheel is a cylinder that sinks z - d(y), and the forces of the wheel are the
integrals over y of those of `exact`, Petersen 2012 (4.26). With rho = b/2 the rim is a torus (3.2.1), with rho without
bound a cylinder.

The table holds three quotients to the cylinder of the same R and b at the same sinkage: vertical force, compaction
resistance, area of the contact. Up to the sinkage z_b at which the rim's edges reach the ground each is sqrt(z/z_b)
times a smooth function of sqrt(z/z_b); from there on it is a smooth function of sqrt(1 - z_b/z). Both are joined by
cubics. Measured against quadrature the quotients are within 1e-4, for crowns from a torus to a cylinder. Beyond a
sinkage of half the radius, where `models.validity` ends a run, the last quotients stay.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss

from models.kernels.compiled import FloatArray, kernel
from models.wheel import hypervolume, packed
from models.wheel.soil import Soil
from models.wheel.table_rows import cubic_weights, extended

DEEPEST = 0.5  # radii
_INTERVALS = 24  # on either side of z_b
_QUOTIENTS = 3  # vertical force, resistance, area
_NODES = 64  # of the quadrature: rounding error for exponents from 0.75 on, 2e-12 at 0.3
_LEAST = 1e-3  # of sqrt(z/z_b): stands for 0, where quotients of forces have no value
# After the rigid wheel's parameters; on either side of z_b one more row beyond each end, for the slopes there.
EDGE = packed.SIZE  # z_b/R [-]
SPAN = EDGE + 1  # one over the largest sqrt(1 - z_b/z) [-]; 0 where the edges stay above the ground
_BELOW = EDGE + 2
_ABOVE = _BELOW + (_INTERVALS + 3) * _QUOTIENTS
SIZE = _ABOVE + (_INTERVALS + 3) * _QUOTIENTS


class _Slices(NamedTuple):
    """Integrals across the rim at sinkages, each of shape (n,).

    Attributes:
        hypervolume: Of the whole, unrelaxed contact, Petersen 2012 (3.4) [m^(eta+2)].
        vertical: Vertical force over k [m^(eta+2)].
        resistance: Compaction resistance over k [m^(eta+2)].
        area: Of the contact, along the rim [m^2].
    """

    hypervolume: FloatArray
    vertical: FloatArray
    resistance: FloatArray
    area: FloatArray


def edge_drop(width: float, crown: float) -> float:
    """Height of the rim's edges above its lowest point [m], of a wheel that stands upright: d(b/2)."""
    return 2.0 * crown * math.sin(0.5 * math.asin(min(0.5 * width / crown, 1.0))) ** 2


def slices(radius: float, width: float, crown: float, exponent: float, rebound: float, sinkage: FloatArray) -> _Slices:
    """Integrates the columns of `exact` across the rim.

    Over y = rho sin(phi), and phi = phi_max sin(psi), which takes the branch points away at which a slice just touches.

    Args:
        radius: R of the middle [m].
        width: b [m].
        crown: rho [m], at least b/2.
        exponent: eta of the soil [-].
        rebound: gamma of the soil [-].
        sinkage: z [m], shape (n,), in (0, R].
    """
    nodes, weights = leggauss(_NODES)
    entry = 2.0 * np.arcsin(np.sqrt(np.minimum(sinkage / (2.0 * crown), 1.0)))
    largest = np.minimum(entry, math.asin(min(0.5 * width / crown, 1.0)))[:, None]
    psi = 0.5 * math.pi * nodes
    phi, step = largest * np.sin(psi), largest * np.cos(psi) * (0.5 * math.pi * weights)
    drop = 2.0 * crown * np.sin(0.5 * phi) ** 2
    cylinder = _columns(radius - drop, np.maximum(sinkage[:, None] - drop, 0.0), exponent, rebound)
    across, along = crown * np.cos(phi) * step, crown * step
    return _Slices(*((part * by).sum(1) for part, by in zip(cylinder, (across, across, across, along), strict=True)))


def _columns(radius: FloatArray, sinkage: FloatArray, eta: float, gamma: float) -> _Slices:
    """The same of a cylinder, for each metre of width."""
    u = np.maximum(sinkage, 1e-300) / radius
    whole = radius ** (eta + 1.0) * hypervolume.integral(u.ravel(), eta).reshape(u.shape)
    relaxed = 0.5 * radius**2 * hypervolume.integral(gamma * u.ravel(), 1.0).reshape(u.shape)
    law = np.where(sinkage > 0.0, np.maximum(sinkage, 1e-300) ** (eta - 1.0), 0.0)
    against = max(0.0, 1.0 / (eta + 1.0) - 0.5 * gamma) * sinkage ** (eta + 1.0)
    area = 2.0 * radius * (np.arcsin(np.sqrt(0.5 * u)) + np.arcsin(np.sqrt(0.5 * gamma * u)))
    return _Slices(whole, 0.5 * whole + law / gamma * relaxed, against, area)


def _quotients(radius: float, width: float, crown: float, exponent: float, rebound: float, u: FloatArray) -> FloatArray:
    """To the cylinder, shape (_QUOTIENTS, n), at relative sinkages."""
    found = slices(radius, width, crown, exponent, rebound, radius * u)
    rigid = _columns(np.full(u.shape, radius), radius * u, exponent, rebound)
    resistance = (1.0 + 0.0 * u) if not rigid.resistance.any() else found.resistance / (width * rigid.resistance)
    return np.array([found.vertical / (width * rigid.vertical), resistance, found.area / (width * rigid.area)])


@lru_cache(maxsize=64)
def _table(radius: float, width: float, crown: float, exponent: float, rebound: float) -> tuple[float, ...]:
    wheel, share = (radius, width, crown, exponent, rebound), np.arange(_INTERVALS + 1) / _INTERVALS
    edge = min(edge_drop(width, crown) / radius, DEEPEST)
    below = np.maximum(share, _LEAST)
    first = _quotients(*wheel, edge * below**2) / below
    largest = math.sqrt(1.0 - edge / DEEPEST)
    above = np.minimum(edge / np.maximum(1.0 - (largest * share) ** 2, edge / DEEPEST), DEEPEST)
    second = _quotients(*wheel, above)
    rows = np.concatenate([extended(first.T), extended(second.T)])
    return (edge, 1.0 / largest if largest > 0.0 else 0.0, *rows.ravel().tolist())


def table(radius: float, width: float, crown: float, soil: Soil) -> FloatArray:
    """Fills the table of a wheel, shape (SIZE - packed.SIZE,); lengths as of `slices`."""
    return np.array(_table(radius, width, crown, soil.exponent, soil.rebound))


@kernel
def quotients(p: FloatArray, u: float) -> tuple[float, float, float]:
    """The table at a sinkage.

    Args:
        p: Packed parameters with the table, shape (SIZE,).
        u: Sinkage over radius [-], > 0.

    Returns:
        Vertical force, compaction resistance and area over those of the cylinder [-].
    """
    start, factor = _ABOVE, 1.0
    if u <= p[EDGE]:
        start, factor = _BELOW, math.sqrt(u / p[EDGE])
        t = _INTERVALS * factor
    else:
        t = _INTERVALS * min(math.sqrt(1.0 - p[EDGE] / u) * p[SPAN], 1.0)
    node = min(int(t), _INTERVALS - 1)
    w_0, w_1, w_2, w_3 = cubic_weights(t - node)
    i = start + node * _QUOTIENTS
    j, k, m = i + _QUOTIENTS, i + 2 * _QUOTIENTS, i + 3 * _QUOTIENTS
    return (
        factor * (w_0 * p[i] + w_1 * p[j] + w_2 * p[k] + w_3 * p[m]),
        factor * (w_0 * p[i + 1] + w_1 * p[j + 1] + w_2 * p[k + 1] + w_3 * p[m + 1]),
        factor * (w_0 * p[i + 2] + w_1 * p[j + 2] + w_2 * p[k + 2] + w_3 * p[m + 2]),
    )
