"""Influence of a rover whose joints are measured only in part, from the direction of gravity in its base."""

from __future__ import annotations

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.points import cross, dot, vector
from models.statics.balance import BASE_MOTIONS, Balance, fill_influence, unit


@kernel
def fill_present_influence(
    balance: Balance,
    tree_q: FloatArray,
    measured: IntArray,
    others: IntArray,
    angle: FloatArray,
    gravity: FloatArray,
    ground: FloatArray,
) -> None:
    """Influence at the present angles; a joint that is not measured is taken as keeping its wheels level.

    Args:
        balance: of the rover; its `influence` is filled.
        tree_q: (speeds + 1,) configuration with the base in the world's axes; its joints are set.
        measured: places of the measured joints among the suspension joints.
        others: places of the others.
        angle: of the measured ones [rad].
        gravity: (3,) direction in base axes.
        ground: (3,) normal of the ground, world axes with x in the rover's heading.
    """
    _find_normal(balance, gravity, ground)
    for c in range(measured.size):
        tree_q[1 + balance.joint[measured[c]]] = angle[c]
    for j in others:
        tree_q[1 + balance.joint[j]] = 0.0
    fill_influence(balance, tree_q)
    if others.size > 0:
        for j in others:
            tree_q[1 + balance.joint[j]] = _levelling(balance, j)
        fill_influence(balance, tree_q)


@kernel
def _find_normal(balance: Balance, gravity: FloatArray, ground: FloatArray) -> None:
    """The ground's normal in base axes, from the direction of gravity there; the rover heads along x."""
    up = unit((-gravity[0], -gravity[1], -gravity[2]))
    left = unit(cross(up, (1.0, 0.0, 0.0)))
    ahead = cross(left, up)
    for a in range(3):
        component = ground[0] * ahead[a] + ground[1] * left[a] + ground[2] * up[a]
        for wheel in range(balance.normal.shape[0]):
            balance.normal[wheel, a] = component


@kernel
def _levelling(balance: Balance, joint: int) -> float:
    """Angle [rad] of a joint at which its wheels are level with the ground, to first order."""
    rise, work, chain = balance.matrix[BASE_MOTIONS + joint], balance.work, balance.chain
    count, height, lift = 0.0, 0.0, 0.0
    for wheel in range(rise.size):
        if rise[wheel] != 0.0:
            count += 1.0
            height += dot(vector(balance.normal[wheel], 0), vector(work.place[chain.wheel_body[wheel]], 0))
            lift += rise[wheel]
    height, lift = height / count, lift / count
    both, square = 0.0, 0.0
    for wheel in range(rise.size):
        if rise[wheel] != 0.0:
            at = dot(vector(balance.normal[wheel], 0), vector(work.place[chain.wheel_body[wheel]], 0))
            both += (rise[wheel] - lift) * (at - height)
            square += (rise[wheel] - lift) ** 2
    return -both / square if square > 0.0 else 0.0
