"""The quadratic program of the wheels' loads, as arrays: how it is filled in a tick, and its solution read.

Unknown are the cylinders' torques x. Loads N = c + B x, with c the passive loads; to be minimised is
sum w (N - T)^2 / 2 plus a trace of x^2, so x is unique. Torques have bounds, loads soft bounds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.points import cross, dot, vector
from models.statics.balance import BASE_MOTIONS, Balance, fill_influence, unit

# Part of the torques in the cost, against the loads' part.
TRACE = 1e-6


class Program(NamedTuple):
    """Arrays of the program (n: cylinders, w: wheels), written by the tick or by `fill_program`.

    Attributes:
        balance: equilibrium of the rover, for the influence.
        tree_q: (speeds + 1,) configuration with the base in the world's axes.
        column: (n,) place of each cylinder's joint among the suspension joints.
        open_joint: (joints without a cylinder,) places of the others.
        ground: (3,) normal of the ground, world axes with x in the rover's heading.
        angle: (n,) of the cylinders' joints [rad].
        gravity: (3,) direction in base axes.
        load: (w,) present loads [N].
        torque: (n,) present torques [N m].
        slip: (w,) present.
        target: (w,) wanted loads T [N].
        weight: (w,) of each wheel's deviation.
        H, f: (n, n), (n,) cost.
        A: (w, n) influence B of the cylinders.
        upper, lower: (n + w,) bounds of torques and loads; lower and upper of the loads are in passive loads' terms.
        load_limit: (2,) least and most load [N].
        passive: (w,) loads without torques [N].
        free: (joints, w) scratch: orthonormal directions that the joints can move the loads in, cylinders' first.
        rest: (w,) scratch: what is left of the target [N].
        aimed: (w,) loads of the solution [N].
        missed: (2,) largest deviation from the target [N] by equilibrium, and by joints without a cylinder.
    """

    balance: Balance
    tree_q: FloatArray
    column: IntArray
    open_joint: IntArray
    ground: FloatArray
    angle: FloatArray
    gravity: FloatArray
    load: FloatArray
    torque: FloatArray
    slip: FloatArray
    target: FloatArray
    weight: FloatArray
    H: FloatArray
    f: FloatArray
    A: FloatArray
    upper: FloatArray
    lower: FloatArray
    load_limit: FloatArray
    passive: FloatArray
    free: FloatArray
    rest: FloatArray
    aimed: FloatArray
    missed: FloatArray


def make_program(balance: Balance, column: list[int], ground: FloatArray, load_limit: FloatArray) -> Program:
    """Allocate the program of a rover; `column` says which of its suspension joints have cylinders."""
    n, w, joints = len(column), balance.matrix.shape[0], balance.joint.size
    tree_q = np.zeros(balance.chain.speed_parent.size + 1)
    tree_q[6] = 1.0
    others = [j for j in range(joints) if j not in column]
    return Program(
        balance, tree_q, np.array(column, dtype=np.int64), np.array(others, dtype=np.int64), ground, np.zeros(n),
        np.array((0.0, 0.0, -1.0)), np.zeros(w), np.zeros(n), np.zeros(w), np.zeros(w),
        np.ones(w), np.zeros((n, n)), np.zeros(n),
        np.zeros((w, n)), np.zeros(n + w), np.zeros(n + w), load_limit, np.zeros(w), np.zeros((joints, w)), np.zeros(w),
        np.zeros(w), np.zeros(2),
    )  # fmt: skip


@kernel
def fill_program(bound: BoundArguments[Program]) -> None:
    """Influence, passive loads, cost and bounds of the loads, from the present state and the target."""
    p = unpack(bound)
    _place(p)
    n, w = p.column.size, p.load.size
    for wheel in range(w):
        p.passive[wheel] = p.load[wheel]
        for c in range(n):
            p.A[wheel, c] = p.balance.influence[wheel, p.column[c]]
            p.passive[wheel] -= p.A[wheel, c] * p.torque[c]
        p.lower[n + wheel] = p.load_limit[0] - p.passive[wheel]
        p.upper[n + wheel] = p.load_limit[1] - p.passive[wheel]
    trace = 0.0
    for c in range(n):
        p.f[c] = 0.0
        for wheel in range(w):
            p.f[c] += p.A[wheel, c] * p.weight[wheel] * (p.passive[wheel] - p.target[wheel])
        for d in range(n):
            p.H[c, d] = 0.0
            for wheel in range(w):
                p.H[c, d] += p.A[wheel, c] * p.weight[wheel] * p.A[wheel, d]
        trace += p.H[c, c]
    for c in range(n):
        p.H[c, c] += TRACE * trace


@kernel
def _place(p: Program) -> None:
    """Influence at the present angles; a joint that is not measured is taken as keeping its wheels level."""
    _find_normal(p)
    for c in range(p.column.size):
        p.tree_q[1 + p.balance.joint[p.column[c]]] = p.angle[c]
    for j in p.open_joint:
        p.tree_q[1 + p.balance.joint[j]] = 0.0
    fill_influence(p.balance, p.tree_q)
    if p.open_joint.size > 0:
        for j in p.open_joint:
            p.tree_q[1 + p.balance.joint[j]] = _levelling(p, j)
        fill_influence(p.balance, p.tree_q)


@kernel
def _find_normal(p: Program) -> None:
    """The ground's normal in base axes, from the direction of gravity there; the rover heads along x."""
    up = unit((-p.gravity[0], -p.gravity[1], -p.gravity[2]))
    left = unit(cross(up, (1.0, 0.0, 0.0)))
    ahead = cross(left, up)
    for a in range(3):
        component = p.ground[0] * ahead[a] + p.ground[1] * left[a] + p.ground[2] * up[a]
        for wheel in range(p.load.size):
            p.balance.normal[wheel, a] = component


@kernel
def _levelling(p: Program, joint: int) -> float:
    """Angle [rad] of a joint at which its wheels are level with the ground, to first order."""
    rise, work, chain = p.balance.matrix[BASE_MOTIONS + joint], p.balance.work, p.balance.chain
    count, height, lift = 0.0, 0.0, 0.0
    for wheel in range(rise.size):
        if rise[wheel] != 0.0:
            count += 1.0
            height += dot(vector(p.balance.normal[wheel], 0), vector(work.place[chain.wheel_body[wheel]], 0))
            lift += rise[wheel]
    height, lift = height / count, lift / count
    both, square = 0.0, 0.0
    for wheel in range(rise.size):
        if rise[wheel] != 0.0:
            at = dot(vector(p.balance.normal[wheel], 0), vector(work.place[chain.wheel_body[wheel]], 0))
            both += (rise[wheel] - lift) * (at - height)
            square += (rise[wheel] - lift) ** 2
    return -both / square if square > 0.0 else 0.0


@kernel
def hold_torques(H: FloatArray, f: FloatArray, torque: tuple[float, ...]) -> None:
    """The cost of a distance from these torques [N m]."""
    for c in range(f.size):
        f[c] = -torque[c]
        for d in range(f.size):
            H[c, d] = 1.0 if c == d else 0.0


@kernel
def read_solution(bound: BoundArguments[Program], x: FloatArray) -> None:
    """Loads at the torques x, and what no torque could give."""
    p = unpack(bound)
    for wheel in range(p.load.size):
        p.aimed[wheel] = p.passive[wheel]
        for c in range(p.column.size):
            p.aimed[wheel] += p.A[wheel, c] * x[c]
    _find_missed(p)


@kernel
def _find_missed(p: Program) -> None:
    """Split the target less the passive loads: what the cylinders reach, what all joints would, what no joint does."""
    rest, n, joints = p.rest, p.column.size, p.balance.joint.size
    for wheel in range(p.load.size):
        rest[wheel] = p.target[wheel] - p.passive[wheel]
    p.missed[1] = 0.0
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
                p.missed[1] = max(p.missed[1], abs(along * direction[wheel]))
    p.missed[0] = 0.0
    for wheel in range(rest.size):
        p.missed[0] = max(p.missed[0], abs(rest[wheel]))


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
