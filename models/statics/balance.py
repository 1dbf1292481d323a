"""Equilibrium of a placed rover as equations in the normal forces of its wheels.

The virtual motions are those that no traction prevents: of the base along the ground's normal and about two axes in the
ground, and of each suspension joint. Wheels do not turn: their drives hold them. The equations are
A N + b = 0, with A N the normal forces' part and b all others': weight, joint torques, tractions, drawbar.
A rover that stands on any ground without play has as many such motions as wheels, so A is square.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.kernels.elimination import solve_in_place
from models.rover.dynamics import Workspace, make_work, place_bodies
from models.rover.factor import fold
from models.rover.points import Direction, cross, dot, spread_wrench, vector
from models.rover.reduction import Chain

# Motions of the base: along the normal, about the axis ahead, about the axis to the left.
BASE_MOTIONS = 3


class Balance(NamedTuple):
    """The equations of one rover, and scratch.

    Attributes:
        chain: the rover.
        joint: (joints,) tree speed of each suspension joint; wheels = joints + BASE_MOTIONS.
        normal: (wheels, 3) ground's normal at each wheel, base axes.
        matrix: (wheels, wheels) A: of motion [row] by wheel [column].
        factor: (wheels, wheels) scratch of the solution.
        influence: (wheels, joints) normal force [N] by joint torque [N m].
        row: (speeds,) scratch.
        work: of the chain.
    """

    chain: Chain
    joint: IntArray
    normal: FloatArray
    matrix: FloatArray
    factor: FloatArray
    influence: FloatArray
    row: FloatArray
    work: Workspace


def make_balance(chain: Chain, joint: IntArray) -> Balance:
    """Allocate the equations of a rover, on level ground parallel to its base."""
    wheels = joint.size + BASE_MOTIONS
    return Balance(
        chain, joint, np.tile((0.0, 0.0, 1.0), (wheels, 1)), np.zeros((wheels, wheels)), np.zeros((wheels, wheels)),
        np.zeros((wheels, joint.size)), np.zeros(chain.speed_parent.size), make_work(chain),
    )  # fmt: skip


@kernel
def fill_influence(balance: Balance, tree_q: FloatArray) -> None:
    """Matrix and influence for a configuration (speeds + 1,): A dN + dtau = 0."""
    fill_matrix(balance, tree_q)
    A, out = balance.factor, balance.influence
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = -1.0 if i == BASE_MOTIONS + j else 0.0
        for w in range(A.shape[1]):
            A[i, w] = balance.matrix[i, w]
    solve_in_place(A, out)


@kernel
def fill_matrix(balance: Balance, tree_q: FloatArray) -> None:
    """Matrix A for a configuration (speeds + 1,) and the normals; places the bodies."""
    chain, work, row = balance.chain, balance.work, balance.row
    place_bodies(chain, tree_q, work)
    for wheel in range(chain.wheel_body.size):
        for a in range(row.size):
            row[a] = 0.0
        body, normal = chain.wheel_body[wheel], vector(balance.normal[wheel], 0)
        spread_wrench(chain, work, body, normal, cross(vector(work.place[body], 0), normal), row)
        take_motions(balance, row, balance.matrix[:, wheel])


@kernel
def take_motions(balance: Balance, force: FloatArray, out: FloatArray) -> None:
    """Parts (wheels,) of a generalised force (speeds,) on the virtual motions; folds the force."""
    fold(balance.chain, force)
    ahead, left, up = ground_axes(balance.normal)
    push, moment = vector(force, 0), vector(force, 3)
    out[0], out[1], out[2] = dot(up, push), dot(ahead, moment), dot(left, moment)
    for j in range(balance.joint.size):
        out[BASE_MOTIONS + j] = force[balance.joint[j]]


@kernel
def ground_axes(normal: FloatArray) -> tuple[Direction, Direction, Direction]:
    """Axes ahead, left and along the mean of the normals (wheels, 3), in the same axes."""
    x, y, z = 0.0, 0.0, 0.0
    for wheel in range(normal.shape[0]):
        x, y, z = x + normal[wheel, 0], y + normal[wheel, 1], z + normal[wheel, 2]
    up = unit((x, y, z))
    left = unit(cross(up, (1.0, 0.0, 0.0)))
    return cross(left, up), left, up


@kernel
def unit(v: Direction) -> Direction:
    """A vector of length 1 in that direction."""
    per_length = 1.0 / math.sqrt(dot(v, v))
    return v[0] * per_length, v[1] * per_length, v[2] * per_length
