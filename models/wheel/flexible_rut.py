"""A flexible wheel in the rut of earlier wheels: its deflected shape, tabled over the depth of the rut as well.

The shape is balanced on the soil of `models.wheel.rut`: each column is loaded along the line on which it was relieved,
up to the depth z_0 of the rut, and by the law of fresh soil from there on. Depths that a rut keeps are the rim's, not
the hub's. As in `models.wheel.flexible_table` the table holds quotients to an undeflected wheel, here to one in the
same rut at the depth D: load and area of the contact. The resistance is that wheel's: of columns it depends on the
depths alone. With z_y the hub's sinkage at which the rim reaches z_0,

- up to z_y, where the soil is elastic, D takes the same part of the range below z_0 as z does of that below z_y;
- beyond it, D is the depth of the rim, and the table holds (D - z_0)/(z - z_y), too.

Of a stiff ring all quotients are 1. Nodes are evenly spaced in the roots of z_0 and of the parts of both ranges, up to
a hub's sinkage of half the radius, and joined by cubics. The largest z_0 is the rim's depth there; in a deeper rut, of
a stiffer wheel, the last quotients stay.
"""

import math
from functools import lru_cache

import numpy as np

from models.kernels.compiled import FloatArray, kernel
from models.wheel import flexible_table, rut
from models.wheel.flexible_ring import NoEquilibriumError, Rims, Ring, balance, resultants_of, rims
from models.wheel.flexible_table import DEEPEST, quotients
from models.wheel.kernels import flexible_resultant, relative_sinkage
from models.wheel.packed import RADIUS
from models.wheel.soil import Soil
from models.wheel.table_rows import cubic_weights, extended

RUTS, ELASTIC, BEYOND = 10, 12, 16  # intervals
_SHARES = np.array([-1.0, 0.0, 1.0])
_TERMS, _QUOTIENTS = 3, 3  # 1, share, share^2; of depth, load, area
_NODE = _TERMS * _QUOTIENTS
_POINTS = 129  # of the rim, one of them the lowest
_LARGEST = 0.98  # of the rim's depth at a hub's sinkage of half the radius
_FEWEST = 5  # tenths of that, to which a table goes at least
_STEPS = 40
_FRESH = 1e-9  # radii: a rut of less depth is none
# After the table of fresh soil: the largest z_0 [m]; then for each z_0 terms of z_y/R, elastic nodes, nodes beyond.
# Each kind has one more node beyond either end, for the slopes there.
LAST = flexible_table.SIZE
_FIRST_ROW = LAST + 1
_ELASTIC = _TERMS
_BEYOND = _ELASTIC + (ELASTIC + 3) * _NODE
_ROW = _BEYOND + (BEYOND + 3) * _NODE
SIZE = _FIRST_ROW + (RUTS + 3) * _ROW


def _deepest(wheels: Rims, shape: FloatArray) -> FloatArray:
    """Depth of each rim's deepest point under the undisturbed ground [m], shape (n,)."""
    place, _, _ = wheels.at(shape)
    depth: FloatArray = wheels.sinkage - wheels.radius - place.imag.min(1)
    return depth


def _reach(at: "_Rutted") -> FloatArray:
    """Sinkages of the hub at which the rims are as deep as the ruts [m], by regula falsi; shape (n,)."""
    low, high = at.before, np.full_like(at.before, DEEPEST * at.radius)
    missing = at.depth_over(low)
    for part in (0.2, 0.4, 0.6, 0.8):  # shapes grow on
        at.balanced(low + part * (high - low))
    over = at.depth_over(high)
    for _ in range(40):
        place = low - missing * (high - low) / np.maximum(over - missing, 1e-300)
        found = at.depth_over(place)
        if np.abs(found).max() < 1e-6 * at.radius:
            return place
        beyond = found > 0.0
        # Illinois: an end that stays counts half
        missing, over = np.where(beyond, 0.5 * missing, found), np.where(beyond, found, 0.5 * over)
        low, high = np.where(beyond, low, place), np.where(beyond, place, high)
    raise NoEquilibriumError(
        "flexible wheel: no sinkage of the hub brings the rim to the bottom of a rut; take a stiffer ring"
    )


class _Rutted:
    """Wheels of one ring in ruts of the depths `before` (n,) [m], with the shares (n,) of the shear limit."""

    def __init__(
        self, radius: float, width: float, soil: Soil, ring: Ring, before: FloatArray, share: FloatArray
    ) -> None:
        self.radius, self.before = radius, before
        self._wheel, self._share = (ring, radius, width, soil), share[:, None]
        self._shape = np.zeros((before.size, ring.coordinates))

    def _at(self, sinkage: FloatArray) -> Rims:
        return rims(*self._wheel, sinkage, _POINTS, self.before)

    def balanced(self, sinkage: FloatArray) -> tuple[Rims, FloatArray]:
        """Rims with the hub at the sinkages (n,) [m] and their shapes; they grow on from the last ones."""
        wheels = self._at(sinkage)
        self._shape = balance(wheels, self._share, self._shape, steps=_STEPS)
        return wheels, self._shape

    def depth_over(self, sinkage: FloatArray) -> FloatArray:
        """Depth of the rims under the bottoms of the ruts [m]."""
        return _deepest(*self.balanced(sinkage)) - self.before

    def quotients(self, sinkage: FloatArray, depth: FloatArray | None = None) -> FloatArray:
        """Depth of the rims [m], and logarithms of load and area over those of undeflected wheels, shape (3, n).

        Args:
            sinkage: Of the hubs [m], shape (n,).
            depth: D of the undeflected wheels [m] up to z_y; None: beyond it, that of the rims.
        """
        wheels, shape = self.balanced(sinkage)
        deepest = _deepest(wheels, shape)
        bent = resultants_of(wheels, shape, self._share)
        round_one = resultants_of(self._at(deepest if depth is None else depth), 0.0 * shape, self._share)
        return np.array([deepest, np.log(bent.vertical / round_one.vertical), np.log(bent.area / round_one.area)])


def _largest(radius: float, width: float, soil: Soil, ring: Ring) -> float:
    """Depth [m] of the deepest rut whose bottom the rim reaches at one sinkage of the hub, up to half the radius.

    Deeper, the middle of a soft rim bends up again as the hub sinks.
    """
    most = DEEPEST * radius
    deepest = most * float(flexible_table.nodes(radius, width, soil, ring)[-1, -1].min())
    ruts = _LARGEST * deepest * np.arange(1, RUTS + 1) / RUTS
    before, share = np.repeat(ruts, _SHARES.size), np.tile(_SHARES, RUTS)
    found, over = _Rutted(radius, width, soil, ring, before, share), []
    for node in range(1, BEYOND + 1):
        floor = (1.0 - soil.rebound) * before
        over.append(found.depth_over(floor + (most - floor) * (node / BEYOND) ** 2) > 0.0)
    again = (np.diff(np.array(over).astype(int), axis=0) < 0).any(0).reshape(RUTS, _SHARES.size).any(1)
    once = int(again.argmax()) if again.any() else RUTS
    if once < _FEWEST:
        deep = f"flexible wheel: in a rut of {1e3 * ruts[once]:.2g} mm"
        raise NoEquilibriumError(f"{deep} the middle of the rim bends up as the hub sinks; take a stiffer ring")
    return float(ruts[once - 1])


@lru_cache(maxsize=16)
def table(radius: float, width: float, soil: Soil, ring: Ring) -> FloatArray:
    """Fills the table of a wheel, shape (SIZE - LAST,); the arguments are those of `flexible_table.table`.

    Raises:
        NoEquilibriumError: The ring is too soft for this soil.
    """
    gamma, most = soil.rebound, DEEPEST * radius
    deepest = _largest(radius, width, soil, ring)
    ruts = deepest * (np.arange(RUTS + 1) / RUTS) ** 2
    before, share = np.repeat(ruts, _SHARES.size), np.tile(_SHARES, RUTS + 1)
    rutted = before > 0.0
    reach, elastic = np.zeros_like(before), np.ones((ELASTIC + 1, _QUOTIENTS, before.size))
    found = _Rutted(radius, width, soil, ring, before[rutted], share[rutted])
    reach[rutted] = _reach(found)
    found = _Rutted(radius, width, soil, ring, before[rutted], share[rutted])
    floor = (1.0 - gamma) * found.before
    own, whole = gamma * found.before, reach[rutted] - floor
    elastic[0, 1:, rutted] = np.array([1.5 * np.log(whole / own), 0.5 * np.log(whole / own)]).T
    for node in range(1, ELASTIC + 1):
        part = (node / ELASTIC) ** 2
        elastic[node, 1:, rutted] = found.quotients(floor + part * whole, floor + part * own)[1:].T
    elastic[..., ~rutted] = elastic[..., _SHARES.size : 2 * _SHARES.size]
    beyond = np.empty((BEYOND + 1, _QUOTIENTS, before.size))
    found = _Rutted(radius, width, soil, ring, before, share)
    for node in range(1, BEYOND + 1):
        run = (most - reach) * (node / BEYOND) ** 2
        depth, load, area = found.quotients(reach + run)
        beyond[node] = (depth - before) / run, load, area
    beyond[0] = extended(beyond[1:])[0]
    beyond[0, 1:, rutted] = elastic[-1, 1:, rutted]
    rows = np.concatenate(
        [(reach / radius)[None], *(extended(part).reshape(-1, before.size) for part in (elastic, beyond))]
    )
    low, middle, high = (rows[:, i :: _SHARES.size] for i in range(_SHARES.size))
    terms = np.stack((middle, 0.5 * (high - low), 0.5 * (high + low) - middle), axis=1).reshape(_ROW, RUTS + 1)
    return np.concatenate(([deepest], extended(terms.T).ravel()))


@kernel
def _undeflected(p: FloatArray, z: float, deepest: float, share: float) -> tuple[float, float, float]:
    """D [m], and load and area over those of an undeflected wheel there [-], where the wheel touches."""
    m = RUTS * math.sqrt(min(deepest / p[LAST], 1.0))
    row = min(int(m), RUTS - 1)
    across = cubic_weights(m - row)
    first = _FIRST_ROW + row * _ROW
    reach = p[RADIUS] * _between(p, first, 0, across, (1.0, 0.0, 0.0, 0.0), share)
    reach = max(reach, deepest) + max(deepest - p[LAST], 0.0)
    floor = rut.ground(p, deepest)
    if z < reach:
        part = (z - floor) / (reach - floor)
        t, most, depth, run = ELASTIC * math.sqrt(part), ELASTIC, floor, part * (deepest - floor)
        first += _ELASTIC
    else:
        depth, run = deepest, z - reach
        whole = DEEPEST * p[RADIUS] - reach
        t, most = BEYOND * (math.sqrt(run / whole) if run < whole else 1.0), BEYOND
        first += _BEYOND
    node = min(int(t), most - 1)
    along = cubic_weights(t - node)
    first += node * _NODE
    depth += run * _between(p, first, _NODE, across, along, share)
    load = math.exp(_between(p, first + _TERMS, _NODE, across, along, share))
    return depth, load, math.exp(_between(p, first + 2 * _TERMS, _NODE, across, along, share))


@kernel
def _between(
    p: FloatArray,
    first: int,
    step: int,
    across: tuple[float, float, float, float],
    along: tuple[float, float, float, float],
    share: float,
) -> float:
    """One number of the table between four rows, and four nodes of each, `step` apart."""
    total = 0.0
    for row in range(4):
        for node in range(4):
            i = first + row * _ROW + node * step
            total += across[row] * along[node] * (p[i] + share * (p[i + 1] + share * p[i + 2]))
    return total


@kernel
def resultant(p: FloatArray, z: float, deepest: float, share: float) -> tuple[float, float, float, float, float]:
    """Size and direction of the normal resultant and the shear limit in a rut, like `models.wheel.kernels.resultant`.

    Args:
        p: Packed parameters with both tables, shape (SIZE,).
        z: Sinkage of the hub below the undisturbed ground [m].
        deepest: z_0, to which the rims of earlier wheels have pressed the soil [m]; <= 0 is fresh soil.
        share: Tangential force over its limit, -1 to 1, positive in the direction of travel.

    Returns:
        F_n [N], cos(phi), sin(phi) [-], F_shear_max [N], and the depth to which the soil is pressed then [m];
        (0, 1, 0, 0, z_0) where the wheel does not reach the rut.
    """
    if z <= rut.ground(p, deepest):
        return 0.0, 1.0, 0.0, 0.0, max(deepest, 0.0)
    u = relative_sinkage(p, z)
    if deepest <= _FRESH * p[RADIUS]:
        _, _, _, less = quotients(p, u, share)
        force, cosine, sine, limit = flexible_resultant(p, z, share)
        return force, cosine, sine, limit, u * p[RADIUS] * less
    depth, load, area = _undeflected(p, u * p[RADIUS], deepest, share)
    vertical, horizontal = rut.normal_resultants(p, depth, deepest)
    force, cosine, sine, limit = rut.composed(p, load * vertical, horizontal, area * rut.patch(p, depth, deepest))
    return force, cosine, sine, limit, max(depth, deepest)
