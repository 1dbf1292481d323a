"""Which wheels push on rigid ground and which lift off: a complementarity problem, solved by trying all sets.

Impulses >= 0, speeds off the ground >= 0, and for no wheel both above zero. At most 2^wheels small factorisations, 64
for six wheels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.dynamics import Workspace
from models.rover.factor import half_solve
from models.rover.reduction import Chain
from models.rover.rover import Rover

# A row counts as dependent on those before it where less than this share of its mobility is independent of them.
DEPENDENT = 1e-10
# Relative tolerance: by rounding, a push this small may be a pull, and a speed into the ground this small zero.
ROUNDING = 1e-9
# The sets to try double with each wheel: 1024 here.
MOST_WHEELS = 10


class RigidGround(NamedTuple):
    """Constraint rows of a rover, and scratch to find the active ones: `first` always active rows, then wheels.

    Attributes:
        first: number of rows that are always active.
        per_wheel: 1 for the normal (5.27), or 3 for rolling without slip as well (5.28)-(5.29), normal first.
        row: (rows, speeds) Jacobian, of all joints that turn.
        half: (rows, speeds) the same, half solved.
        mobility: (rows, rows) row M^-1 row^T.
        speed: (rows,) before, minus the wanted speed after [m/s].
        impulse: (rows,) [N s].
        factor: (rows, rows) scratch.
        right: (rows,) scratch.
        chosen: (rows,) scratch.
        active: (wheels,) 1 where a wheel's constraint acts.
    """

    first: int
    per_wheel: int
    row: FloatArray
    half: FloatArray
    mobility: FloatArray
    speed: FloatArray
    impulse: FloatArray
    factor: FloatArray
    right: FloatArray
    chosen: IntArray
    active: IntArray


def make_rigid_ground(rover: Rover, *, first: int = 0, rolling: bool = False) -> RigidGround:
    """Allocate for a rover; `first` rows are always active, `rolling` adds (5.28) to the normals.

    Raises:
        ValueError: more than MOST_WHEELS wheels.
    """
    wheels, per_wheel, speeds = len(rover.wheel_names), 3 if rolling else 1, rover.chain.speed_parent.size
    if wheels > MOST_WHEELS:
        raise ValueError(f"rover has {wheels} wheels, allowed on rigid ground: at most {MOST_WHEELS}")
    m = first + per_wheel * wheels
    return RigidGround(
        first, per_wheel, np.zeros((m, speeds)), np.zeros((m, speeds)), np.zeros((m, m)), np.zeros(m), np.zeros(m),
        np.zeros((m, m)), np.zeros(m), np.zeros(m, dtype=np.int64), np.zeros(wheels, dtype=np.int64),
    )  # fmt: skip


@kernel
def find_active(chain: Chain, rigid: RigidGround, work: Workspace) -> bool:
    """From row and speed, find the active wheels and their impulses; needs the factored mass matrix.

    Returns:
        Whether a consistent set was found. With normals alone there always is one. With rolling, whose friction has
        no limit, there may be none; impulses are then those of the normals alone.
    """
    rows = rigid.row.shape[0]
    largest = 0.0
    for i in range(rows):
        for a in range(rigid.row.shape[1]):
            rigid.half[i, a] = rigid.row[i, a]
        half_solve(chain, work.mass_matrix, rigid.half[i])
        for j in range(i + 1):
            total = 0.0
            for a in range(rigid.row.shape[1]):
                total += rigid.half[i, a] * rigid.half[j, a]
            rigid.mobility[i, j] = rigid.mobility[j, i] = total
        largest = max(largest, abs(rigid.speed[i]))
    last, wheels = 0, rigid.active.size
    for wheel in range(wheels):
        last += rigid.active[wheel] << wheel
    for used in range(rigid.per_wheel, 0, -2):  # 3 rows of each wheel and then 1, or 1 alone
        # first the last active set, then large sets first: rolling makes rows dependent, so that a wheel may seem
        # unnecessary; it is active all the same
        for left_out in range(-1, wheels + 1):
            for mask in range(1 << wheels):
                count = 0
                for wheel in range(wheels):
                    count += (mask >> wheel) & 1
                wanted = mask == last and rigid.per_wheel == 1 if left_out < 0 else count == wheels - left_out
                if wanted and _holds(rigid, mask, used, ROUNDING * largest):
                    return used == rigid.per_wheel
    return False


@kernel
def _holds(rigid: RigidGround, mask: int, used: int, slowest: float) -> bool:
    """Solve for the impulses of a set of wheels, the first `used` rows of each; whether none pulls or is driven in."""
    strongest = 0.0
    for i in range(rigid.speed.size):
        rigid.impulse[i] = 0.0
    for i in range(rigid.first):
        rigid.chosen[i] = i
    count = rigid.first
    # normals first: where rows are dependent, it is a lateral one that gets no impulse
    for k in range(used):
        for wheel in range(rigid.active.size):
            if (mask >> wheel) & 1:
                rigid.chosen[count] = rigid.first + wheel * rigid.per_wheel + k
                count += 1
    _solve_chosen(rigid, count)
    for k in range(count):
        strongest = max(strongest, abs(rigid.impulse[rigid.chosen[k]]))
    for wheel in range(rigid.active.size):
        i = rigid.first + wheel * rigid.per_wheel
        rigid.active[wheel] = (mask >> wheel) & 1
        if rigid.active[wheel] and rigid.impulse[i] < -ROUNDING * strongest:
            return False
        after = rigid.speed[i]
        for k in range(count):
            after += rigid.mobility[i, rigid.chosen[k]] * rigid.impulse[rigid.chosen[k]]
        if after < -slowest:
            return False
    return True


@kernel
def _solve_chosen(rigid: RigidGround, count: int) -> None:
    """Impulses that bring the speeds of the chosen rows to zero, by Cholesky; a dependent row gets none."""
    L, y = rigid.factor, rigid.right
    for i in range(count):
        own = rigid.chosen[i]
        for j in range(i + 1):
            total = rigid.mobility[own, rigid.chosen[j]]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if j < i:
                L[i, j] = total / L[j, j] if L[j, j] > 0.0 else 0.0
            else:
                L[i, i] = np.sqrt(total) if total > DEPENDENT * rigid.mobility[own, own] else 0.0
        total = -rigid.speed[own]
        for k in range(i):
            total -= L[i, k] * y[k]
        y[i] = total / L[i, i] if L[i, i] > 0.0 else 0.0
    for i in range(count - 1, -1, -1):
        total = y[i]
        for k in range(i + 1, count):
            total -= L[k, i] * rigid.impulse[rigid.chosen[k]]
        rigid.impulse[rigid.chosen[i]] = total / L[i, i] if L[i, i] > 0.0 else 0.0
