"""Equilibrium of a placed rover as equations in the normal forces of its wheels, and the loads that follow.

The virtual motions are those that no traction prevents: of the base along the ground's normal and about two axes in the
ground, and of each suspension joint. Wheels do not turn: their drives hold them. The equations are
A N + b = 0, with A N the normal forces' part and b all others': weight, joint torques, tractions, drawbar.
A rover that stands on any ground without play has as many such motions as wheels, so A is square.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.kernels.elimination import solve_in_place
from models.rover.dynamics import Workspace, make_work, place_bodies
from models.rover.factor import fold
from models.rover.points import Direction, cross, dot, spread_wrench, vector
from models.rover.reduction import Chain
from models.rover.rover import Rover

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


LEVEL = (0.0, 0.0, 1.0)


class RoverStatics:
    """Equilibrium of a rover whose wheels all stand on the ground, with given tractions.

    Attributes:
        joint_names: suspension joints, in the order of every vector by joint.

    Args:
        rover: with as many wheels as virtual motions (models.statics.balance): each joint that moves is balanced by
            one wheel more.

    Raises:
        ValueError: a rover whose wheels' loads do not follow from equilibrium, or are not independent.
    """

    def __init__(self, rover: Rover) -> None:
        self._rover = rover
        joint = suspension_joints(rover)
        self.joint_names = tuple(rover.tree_joint_names[k - 6] for k in joint)
        wheels = len(rover.wheel_names)
        if len(joint) + 3 != wheels:
            raise ValueError(
                f"rover {rover.tree.name} has {wheels} wheels and {len(joint)} suspension joints that turn "
                f"({', '.join(self.joint_names)}), needed: three joints fewer than wheels"
            )
        self.balance: Balance = make_balance(rover.chain, np.array(joint, dtype=np.int64))

    def columns(self, joints: Sequence[str]) -> list[int]:
        """Places of these joints in vectors by joint. Raises ValueError with those that this rover lacks."""
        unknown = [name for name in joints if name not in self.joint_names]
        if unknown:
            raise ValueError(
                f"joints {', '.join(unknown)} are not suspension joints of this rover, which has "
                f"{', '.join(self.joint_names)}"
            )
        return [self.joint_names.index(name) for name in joints]

    def influence(self, q: npt.ArrayLike, normal: npt.ArrayLike = LEVEL) -> FloatArray:
        """Change of each wheel's normal force with each joint's torque (wheels, joints) [N/(N m)], tractions constant.

        Args:
            q: configuration (nq,) of the rover.
            normal: of the ground, one (3,) or at each wheel (wheels, 3), unit vectors, world axes.
        """
        tree_q = self._place(q, normal)
        fill_influence(self.balance, tree_q)
        return self.balance.influence.copy()

    def _place(self, q: npt.ArrayLike, normal: npt.ArrayLike) -> FloatArray:
        """Configuration of all joints; notes the normals in base axes."""
        tree_q = self._rover.tree_configuration(q)
        self.balance.normal[:] = np.asarray(normal, dtype=np.float64) @ Rotation.from_quat(tree_q[3:7]).as_matrix()
        return tree_q


def suspension_joints(rover: Rover) -> list[int]:
    """Tree speeds of the independent joints that carry wheels and are none."""
    wheels = set(5 + rover.chain.wheel_body)
    return [int(k) for k in rover.chain.independent[6:] if k not in wheels]
