"""The quadratic program of the wheels' loads: how it is filled in a tick, solved, and its solution read.

Unknown are the cylinders' torques x. Loads N = c + B x, with c the passive loads; to be minimised is
sum w (N - T)^2 / 2 plus a trace of x^2, so x is unique. Torques have bounds, loads soft limits. B is the change of the
loads once slip and tractions have followed: with that of equilibrium at constant tractions the loads would come to rest
where the program has its optimum, and the rover has not.
All of it is one call of compiled code: what is called in Python, once in 10 ms, is out of the caches each time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hil.messages import loads as load_limits
from models.actuators.linkage import CylinderForces, fill_pressures, reachable
from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.statics.balance import Balance, fill_present_influence
from models.statics.quadratic_program import QuadraticProgram, make_quadratic_program, solve_quadratic_program

# Part of the torques in the cost, against the loads' part.
TRACE = 1e-6
# Of the limits of the loads: they give way by 1e-6 of what would undo the multiplier.
SOFTNESS = 1e-6
# Deviation from a goal, over the mean load, from which on it counts as missed.
_MISSED = 0.01


class _LimitBits(NamedTuple):
    """The bits of hil.messages.loads; as arguments, because cached code would keep the values of constants."""

    equilibrium: int = load_limits.EQUILIBRIUM
    cylinders: int = load_limits.CYLINDERS
    torque: int = load_limits.TORQUE
    pressure: int = load_limits.PRESSURE
    slew: int = load_limits.SLEW
    least_load: int = load_limits.LEAST_LOAD
    most_load: int = load_limits.MOST_LOAD
    solver: int = load_limits.SOLVER


class _Program(NamedTuple):
    """Arrays of the program (n: cylinders, w: wheels), written by the tick or by the functions below."""

    balance: Balance  #: equilibrium of the rover, for the influence
    forces: CylinderForces  #: of the cylinders
    bits: _LimitBits  #: of the limits that bind
    most_torque: float  #: of each cylinder, either way [N m]
    step: float  #: largest change of a wanted torque from call to call [N m]
    tree_q: FloatArray  #: (speeds + 1,) configuration with the base in the world's axes
    column: IntArray  #: (n,) place of each cylinder's joint among the suspension joints
    open_joint: IntArray  #: (joints without a cylinder,) places of the others
    ground: FloatArray  #: (3,) normal of the ground, world axes with x in the rover's heading
    traction: FloatArray  #: (w, joints) what tractions add to the influence of the joints' torques
    #: all inputs of a tick, one after the other: `load` (w,) [N], `torque` (n,) [N m] and `angle` (n,) [rad] of the
    #: cylinders' joints, and `gravity` (3,) direction in base axes, all of them present
    state: FloatArray
    load: FloatArray
    torque: FloatArray
    angle: FloatArray
    gravity: FloatArray
    share: FloatArray  #: (w,) wanted shares of the whole load
    target: FloatArray  #: (w,) wanted loads T [N]
    weight: FloatArray  #: (w,) of each wheel's deviation
    #: torques as unknowns, loads less the passive ones as A x: A is the influence B of the cylinders
    qp: QuadraticProgram
    load_limit: FloatArray  #: (2,) least and most load [N]
    passive: FloatArray  #: (w,) loads without torques [N]
    #: (joints, w) scratch: orthonormal directions that the joints can move the loads in, cylinders' first
    free: FloatArray
    rest: FloatArray  #: (w,) scratch: what is left of the target [N]
    last: FloatArray  #: (n,) wanted torques of the last call [N m]; NaN: there was none
    held: FloatArray  #: (n,) torques to hold [N m]; NaN: none are held
    #: all results, one after the other: `aimed` (w,) loads of the solution [N], `wanted` (n,) torques on the way there
    #: [N m], `pressure` (2 n,) that gives them [Pa]
    result: FloatArray
    aimed: FloatArray
    wanted: FloatArray
    pressure: FloatArray


def make_program(
    balance: Balance,
    forces: CylinderForces,
    column: list[int],
    ground: FloatArray,
    limits: load_limits.LoadLimits,
    step: float,
    traction: FloatArray,
) -> _Program:
    """Allocate the program of a rover; `column` says which of its suspension joints have cylinders."""
    n, w, joints = len(column), balance.matrix.shape[0], balance.joint.size
    tree_q = np.zeros(balance.chain.speed_parent.size + 1)
    tree_q[6] = 1.0
    others = [j for j in range(joints) if j not in column]
    state, result = np.zeros(w + 2 * n + 3), np.zeros(w + 3 * n)
    load, torque, angle, gravity = np.split(state, np.cumsum((w, n, n)))
    gravity[2] = -1.0
    return _Program(
        balance, forces, _LimitBits(), limits.torque_Nm, step, tree_q,
        np.array(column, dtype=np.int64), np.array(others, dtype=np.int64), ground,
        traction, state, load, torque, angle, gravity, np.full(w, 1.0 / w), np.zeros(w), np.ones(w),
        make_quadratic_program(n, w, SOFTNESS),
        np.array((limits.least_load_N, limits.most_load_N)), np.zeros(w), np.zeros((joints, w)), np.zeros(w),
        np.full(n, math.nan), np.full(n, math.nan), result, *np.split(result, (w, w + n)),
    )  # fmt: skip


@kernel
def find_torques(bound: BoundArguments[_Program], passive: bool, hold: bool, named: bool) -> int:
    """Fill the results; the limits that bind, a bit each, or only that of the solver if there is no solution."""
    p = unpack(bound)
    _fill(p, hold)
    if passive:
        p.qp.x[:] = 0.0
        p.qp.multiplier[:] = 0.0
    elif not solve_quadratic_program(p.qp):
        return p.bits.solver
    return _read(p, named)


@kernel
def _fill(p: _Program, hold: bool) -> None:
    """Influence, passive loads, cost and bounds, from the present state."""
    qp = p.qp
    fill_present_influence(p.balance, p.tree_q, p.column, p.open_joint, p.angle, p.gravity, p.ground)
    n, w = p.column.size, p.load.size
    whole = 0.0
    for wheel in range(w):
        whole += p.load[wheel]
        for joint in range(p.traction.shape[1]):
            p.balance.influence[wheel, joint] += p.traction[wheel, joint]
    for wheel in range(w):
        p.target[wheel] = p.share[wheel] * whole
        p.passive[wheel] = p.load[wheel]
        for c in range(n):
            qp.A[wheel, c] = p.balance.influence[wheel, p.column[c]]
            p.passive[wheel] -= qp.A[wheel, c] * p.torque[c]
        qp.lower[n + wheel] = p.load_limit[0] - p.passive[wheel]
        qp.upper[n + wheel] = p.load_limit[1] - p.passive[wheel]
    trace = 0.0
    for c in range(n):
        least, most = reachable(p.forces, c, p.angle[c])
        qp.lower[c], qp.upper[c] = max(least, -p.most_torque), min(most, p.most_torque)
        if math.isnan(p.last[c]):
            p.last[c] = p.torque[c]
        if not hold:
            p.held[c] = math.nan
        elif math.isnan(p.held[c]):
            p.held[c] = p.last[c]
        qp.f[c] = -p.held[c] if hold else 0.0
        for wheel in range(w if not hold else 0):
            qp.f[c] += qp.A[wheel, c] * p.weight[wheel] * (p.passive[wheel] - p.target[wheel])
        for d in range(n):
            qp.H[c, d] = 1.0 if hold and c == d else 0.0
            for wheel in range(w if not hold else 0):
                qp.H[c, d] += qp.A[wheel, c] * p.weight[wheel] * qp.A[wheel, d]
        trace += qp.H[c, c]
    for c in range(n if not hold else 0):
        qp.H[c, c] += TRACE * trace


@kernel
def _read(p: _Program, named: bool) -> int:
    """Loads of the solution, the torques and pressures on the way there, and the limits that bind, a bit each."""
    qp, bits, binding = p.qp, p.bits, 0
    n, w = p.column.size, p.load.size
    for c in range(n):
        if qp.multiplier[c] > 0.0:
            binding |= bits.pressure if qp.upper[c] < p.most_torque else bits.torque
        elif qp.multiplier[c] < 0.0:
            binding |= bits.pressure if qp.lower[c] > -p.most_torque else bits.torque
    whole = 0.0
    for wheel in range(w):
        whole += p.load[wheel]
        if qp.multiplier[n + wheel] > 0.0:
            binding |= bits.most_load
        elif qp.multiplier[n + wheel] < 0.0:
            binding |= bits.least_load
        p.aimed[wheel] = p.passive[wheel]
        for c in range(n):
            p.aimed[wheel] += qp.A[wheel, c] * qp.x[c]
    if named:
        by_equilibrium, by_cylinders = _missed(p)
        binding |= bits.equilibrium if by_equilibrium > _MISSED * whole / w else 0
        binding |= bits.cylinders if by_cylinders > _MISSED * whole / w else 0
    if _step_towards(p, qp.x):
        binding |= bits.slew
    fill_pressures(p.forces, p.wanted, p.angle, p.pressure)
    return binding


@kernel
def _step_towards(p: _Program, x: FloatArray) -> bool:
    """Wanted torques as far towards x as no part moves more than a step; whether that is short of x.

    The way is straight: between two distributions within the limits, all are.
    """
    farthest = 0.0
    for c in range(x.size):
        farthest = max(farthest, abs(x[c] - p.last[c]))
    short = farthest > p.step
    for c in range(x.size):
        p.wanted[c] = p.last[c] + p.step / farthest * (x[c] - p.last[c]) if short else x[c]
        p.last[c] = p.wanted[c]
    return short


@kernel
def _missed(p: _Program) -> tuple[float, float]:
    """Largest deviation from the target [N] by equilibrium, and by joints without a cylinder.

    The target less the passive loads has a part that the cylinders reach, one that all joints would, and the rest.
    """
    rest, n, joints = p.rest, p.column.size, p.balance.joint.size
    for wheel in range(p.load.size):
        rest[wheel] = p.target[wheel] - p.passive[wheel]
    by_cylinders = 0.0
    for i in range(joints):
        direction = p.free[i]
        joint = p.column[i] if i < n else p.open_joint[i - n]
        for wheel in range(direction.size):
            direction[wheel] = p.balance.influence[wheel, joint]
        for k in range(i):
            _take_away(direction, p.free[k])
        length = math.sqrt(_product(direction, direction))
        for wheel in range(direction.size):
            direction[wheel] /= length
        along = _take_away(rest, direction)
        if i >= n:
            for wheel in range(direction.size):
                by_cylinders = max(by_cylinders, abs(along * direction[wheel]))
    by_equilibrium = 0.0
    for wheel in range(rest.size):
        by_equilibrium = max(by_equilibrium, abs(rest[wheel]))
    return by_equilibrium, by_cylinders


@kernel
def _take_away(x: FloatArray, direction: FloatArray) -> float:
    """Remove from x its part along a unit vector; the length of that part."""
    along = _product(x, direction)
    for i in range(x.size):
        x[i] -= along * direction[i]
    return along


@kernel
def _product(x: FloatArray, y: FloatArray) -> float:
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total
