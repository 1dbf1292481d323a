"""A flexible wheel in a tick: what its deflected shape makes of a rigid wheel's forces, tabled when a rig is set up.

As in Petersen 2012, 5.3, the balanced shape counts as rigid in the hypervolume model. What deflects a wheel is its load
and its traction. So the table runs over the hub's sinkage and over the share of the shear limit that the tangential
force takes, tanh(slip/K) of (4.30) in steady motion; at rest and when braking the share is defined as well, a slip is
not. It holds four quotients to the undeflected wheel at the same height: vertical force, compaction resistance, area of
the contact, depth in the soil. All are 1 for a stiff ring.

Along the sinkage nodes are spaced evenly in (z/(0.5 R))^(1/4), and the quotients are joined by cubics with a continuous
derivative. Over the share they are parabolas. Beyond a sinkage of half the radius, where `models.validity` ends a run,
the last quotients stay.
"""

import math
from functools import lru_cache

import numpy as np

from models.kernels.compiled import FloatArray, kernel
from models.wheel import packed
from models.wheel.flexible_ring import Ring, balance, resultants_of, rims
from models.wheel.soil import Soil
from models.wheel.table_rows import cubic_weights

LEVELS = 24
DEEPEST = 0.5  # radii
QUOTIENTS = 4  # vertical force, resistance, area, depth
_SHARES = np.array([-1.0, 0.0, 1.0])
_ROW = 3 * QUOTIENTS
# After the rigid wheel's parameters; two more rows than nodes, one beyond each end, for the slopes there.
TABLE = packed.SIZE
SIZE = TABLE + (LEVELS + 3) * _ROW


@lru_cache(maxsize=64)
def nodes(radius: float, width: float, soil: Soil, ring: Ring) -> FloatArray:
    """Quotients at the nodes, shape (LEVELS, QUOTIENTS, shares)."""
    found, shape = np.empty((LEVELS, QUOTIENTS, _SHARES.size)), np.zeros((_SHARES.size, ring.coordinates))
    before, share = shape, _SHARES[:, None]
    for level in range(LEVELS):
        sinkage = DEEPEST * radius * ((level + 1) / LEVELS) ** 4
        wheels = rims(ring, radius, width, soil, np.full(_SHARES.size, sinkage))
        # from one sinkage to the next the shape grows on; the start is only a guess
        shape, before = balance(wheels, share, shape + 0.5 * (shape - before)), shape
        bent, rigid = resultants_of(wheels, shape, share), resultants_of(wheels, 0.0 * shape, share)
        found[level] = (
            bent.vertical / rigid.vertical,
            bent.resistance / rigid.resistance,
            bent.area / rigid.area,
            bent.deepest / rigid.deepest,
        )
    return found


def table(radius: float, width: float, soil: Soil, ring: Ring) -> FloatArray:
    """Fills the table of a wheel.

    Args:
        radius: R [m].
        width: b [m].
        soil: The soil.
        ring: The ring.

    Returns:
        Shape ((LEVELS + 3) * 12,): for each node the coefficients of 1, share and share^2 of each quotient.

    Raises:
        NoEquilibriumError: The ring is too soft for this soil.
    """
    found = nodes(radius, width, soil, ring)
    low, middle, high = found[..., 0], found[..., 1], found[..., 2]
    rows = np.stack((middle, 0.5 * (high - low), 0.5 * (high + low) - middle), axis=-1).reshape(LEVELS, _ROW)
    # the first node stands for a sinkage of 0 as well: it lies at 1.5e-6 radii
    start, end = rows[:1], 2.0 * rows[-1:] - rows[-2:-1]
    return np.concatenate((start, start, rows, end)).ravel()


@kernel
def quotients(p: FloatArray, u: float, share: float) -> tuple[float, float, float, float]:
    """The table at a sinkage and a share of the shear limit.

    Args:
        p: Packed parameters with the table, shape (SIZE,).
        u: Hub sinkage over radius [-], > 0.
        share: Tangential force over its limit, -1 to 1, positive in the direction of travel.

    Returns:
        Vertical force, compaction resistance, area and depth over those of the undeflected wheel [-].
    """
    t = LEVELS * math.sqrt(math.sqrt(u / DEEPEST)) if u < DEEPEST else float(LEVELS)
    node = min(int(t), LEVELS - 1)
    w_0, w_1, w_2, w_3 = cubic_weights(t - node)
    first = TABLE + node * _ROW
    return (
        _quotient(p, first, w_0, w_1, w_2, w_3, share),
        _quotient(p, first + 3, w_0, w_1, w_2, w_3, share),
        _quotient(p, first + 6, w_0, w_1, w_2, w_3, share),
        _quotient(p, first + 9, w_0, w_1, w_2, w_3, share),
    )


@kernel
def _quotient(p: FloatArray, at: int, w_0: float, w_1: float, w_2: float, w_3: float, share: float) -> float:
    total = 0.0
    for power in range(2, -1, -1):
        i = at + power
        here = w_0 * p[i] + w_1 * p[i + _ROW] + w_2 * p[i + 2 * _ROW] + w_3 * p[i + 3 * _ROW]
        total = total * share + here
    return total
