"""Net pull of a rover's wheels over their loads, ruts included, and how loads are moved to gain from it.

Tabulated once: the sinkage for a load has no closed form, and in a rut the normal force needs quadrature.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from models.contact.ground import Ground
from models.contact.ruts import NOBODY
from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.wheel import kernels, rut
from models.wheel.kernels import RADIUS, SLIP_MODULUS

SLIPS, LOADS, DEPTHS = 21, 33, 13
# Sinkages at which the forces are taken, as shares of the way to the deepest; dense where a wheel begins to bear.
_SINKAGES = np.linspace(0.0, 1.0, 151)[1:] ** 2
_DEEPEST = 0.6  # radii
# Curvature of the pull [1/N] below which its slope over load counts as constant: 20 N more load then gain 4e-4 less.
LEAST_CURVATURE = 2e-5


class PullTable(NamedTuple):
    """Net pull and sinkage of a wheel by slip, load and depth of the rut that it meets, [slip, load, depth].

    Attributes:
        per_slip: places per unit of slip, from 0 on.
        per_load: places per load [1/N], from 0 on.
        per_depth: places per depth of the rut [1/m], from 0 on.
        pull: F_x [N], Petersen 2012 (4.31).
        sinkage: below the undisturbed ground [m].
        ahead: (wheels,) the wheel that each follows, which comes before it in order, or NOBODY: fresh soil.
        moved: (wheels,) scratch: loads of a trial [N].
        depth: (wheels,) scratch: of the soil that each wheel leaves [m].
    """

    per_slip: float
    per_load: float
    per_depth: float
    pull: FloatArray
    sinkage: FloatArray
    ahead: IntArray
    moved: FloatArray
    depth: FloatArray


def wheel_on_soil(parameters: FloatArray, sinkage: float, rut_depth: float, slip: float) -> tuple[float, float, float]:
    """Load, net pull and tractive force F_t of a wheel [N], Petersen 2012 (4.30)-(4.32), on fresh soil or in a rut.

    Args:
        parameters: packed wheel and soil (models.wheel.RigidWheel.parameters).
        sinkage: below the undisturbed ground [m].
        rut_depth: of the soil that wheels ahead have compacted [m]; 0: fresh soil, else variant "exact" only.
        slip: 1 - v_x/(R omega) when driving [-].
    """
    normal, cosine, sine, limit = resultant_in_rut(parameters, sinkage, rut_depth)
    tractive = limit * math.tanh(slip / parameters[SLIP_MODULUS])
    return normal * cosine + tractive * sine, tractive * cosine - normal * sine, tractive


def resultant_in_rut(parameters: FloatArray, sinkage: float, rut_depth: float) -> tuple[float, float, float, float]:
    """models.wheel.kernels.resultant, or models.wheel.rut.resultant in a rut."""
    if rut_depth > 0.0:
        return rut.resultant(parameters, sinkage, rut_depth)
    return kernels.resultant(parameters, sinkage)


def make_pull_table(ground: Ground, wheels: int, most_load: float) -> PullTable:
    """The table of a rover's wheels on soil, up to a load [N].

    Raises:
        ValueError: a wheel that comes before the one that it follows.
    """
    ahead = np.full(wheels, NOBODY, dtype=np.int64) if ground.ruts is None else ground.ruts.ahead
    if any(ahead >= np.arange(wheels)):
        raise ValueError(f"wheels follow {ahead.tolist()}, needed: each one that comes before it")
    p, slips = ground.wheel, np.linspace(0.0, 1.0, SLIPS)
    deepest = _sinkage_for(p, most_load)
    loads = np.linspace(0.0, most_load, LOADS)
    pull, sinkage = np.zeros((2, SLIPS, LOADS, DEPTHS))
    for m in range(DEPTHS if ground.ruts is not None else 1):
        depth = deepest * m / (DEPTHS - 1.0)
        start = rut.ground(p, depth)
        places = start + _SINKAGES * (_DEEPEST * p[RADIUS] - start)
        normal, cosine, sine, limit = np.array([resultant_in_rut(p, z, depth) for z in places]).T
        for s, slip in enumerate(slips):
            tractive = limit * np.tanh(slip / p[SLIP_MODULUS])
            bears = np.concatenate([[0.0], normal * cosine + tractive * sine])
            last = int(np.argmax(np.append(np.diff(bears) <= 0.0, True))) + 1  # it bears more, the deeper, up to here
            found = np.stack([np.concatenate([[0.0], tractive * cosine - normal * sine]), [start, *places]])
            spline = CubicSpline(bears[:last], found[:, :last], axis=1)
            pull[s, :, m], sinkage[s, :, m] = spline(np.minimum(loads, bears[last - 1]))
    if ground.ruts is None:
        pull[:], sinkage[:] = pull[:, :, :1], sinkage[:, :, :1]
    per_depth = (DEPTHS - 1.0) / deepest
    scratch = np.zeros((2, wheels))
    return PullTable(SLIPS - 1.0, (LOADS - 1.0) / most_load, per_depth, pull, sinkage, ahead, scratch[0], scratch[1])


def _sinkage_for(parameters: FloatArray, load: float) -> float:
    """Sinkage [m] of a wheel at rest on fresh soil under a load [N]; at most the deepest of the table."""
    places = _SINKAGES * _DEEPEST * parameters[RADIUS]
    return float(np.interp(load, [kernels.normal_resultants(parameters, z)[0] for z in places], places))


@kernel
def aim_at_traction(
    bound: BoundArguments[PullTable], load: FloatArray, slip: FloatArray, target: FloatArray, weight: FloatArray
) -> None:
    """Loads and weights (wheels,) whose weighted squares have the slope and curvature of the whole pull at `load`.

    Differences over one place of the table. What the load of one wheel does to the pull of those behind it is in the
    slopes, and in the curvature of each wheel by itself.
    """
    table, mean = unpack(bound), 0.0
    step = 1.0 / table.per_load
    for wheel in range(load.size):
        table.moved[wheel] = load[wheel]
    here = _whole_pull(table, slip)
    for wheel in range(load.size):
        table.moved[wheel] = load[wheel] + step
        more = _whole_pull(table, slip)
        table.moved[wheel] = load[wheel] - step
        less = _whole_pull(table, slip)
        table.moved[wheel] = load[wheel]
        weight[wheel] = max((2.0 * here - more - less) / (step * step), LEAST_CURVATURE)
        target[wheel] = load[wheel] + 0.5 * (more - less) / (step * weight[wheel])
        mean += weight[wheel] / load.size
    for wheel in range(load.size):
        weight[wheel] /= mean


@kernel
def _whole_pull(table: PullTable, slip: FloatArray) -> float:
    """Pull [N] of all wheels under the loads `moved`, each in the rut of those ahead."""
    total = 0.0
    for wheel in range(slip.size):
        before = 0.0 if table.ahead[wheel] == NOBODY else table.depth[table.ahead[wheel]]
        s, n, d = slip[wheel] * table.per_slip, table.moved[wheel] * table.per_load, before * table.per_depth
        total += _between(table.pull, s, n, d)
        table.depth[wheel] = max(before, _between(table.sinkage, s, n, d))
    return total


@kernel
def _between(values: FloatArray, a: float, b: float, c: float) -> float:
    """Value between the places of a table, linear in all three; at its edge beyond it."""
    a = min(max(a, 0.0), values.shape[0] - 1.0)
    b = min(max(b, 0.0), values.shape[1] - 1.0)
    c = min(max(c, 0.0), values.shape[2] - 1.0)
    i, j, k = min(int(a), values.shape[0] - 2), min(int(b), values.shape[1] - 2), min(int(c), values.shape[2] - 2)
    u, v, w = a - i, b - j, c - k
    total = 0.0
    for di in range(2):
        for dj in range(2):
            share = (u if di == 1 else 1.0 - u) * (v if dj == 1 else 1.0 - v)
            row = values[i + di, j + dj]
            total += share * ((1.0 - w) * row[k] + w * row[k + 1])
    return total
