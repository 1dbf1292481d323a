"""Rigid ground under the wheels: unilateral constraints, MacMahon 2016 (5.26)-(5.30), and which of them act.

A wheel's constraint acts where it pushes; it is inactive where it would have to pull.

Which wheels push on rigid ground and which lift off: a complementarity problem, solved by trying all sets.

Impulses >= 0, speeds off the ground >= 0, and for no wheel both above zero. At most 2^wheels small factorisations, 64
for six wheels.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.contact.rim import rim_contact
from models.contact.wheel_slots import GroundContact
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.dynamics import Workspace, fill_mass_matrix, make_work, place_bodies
from models.rover.factor import add_scaled, factorise, half_solve, solve
from models.rover.points import approach_row, axle, body_position, project
from models.rover.reduction import Chain
from models.rover.rover import Rover
from models.terrain.surface import Terrain, axes, contact_plane, from_ground

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


@kernel
def fill_ground_rows(chain: Chain, q: FloatArray, rigid: RigidGround, terrain: Terrain, work: Workspace) -> None:
    """Fill the wheels' rows: speeds of the contact point up (5.27) and, with rolling, forward and across (5.28).

    Directions are those of the ground below each wheel.
    """
    none = (0.0, 0.0, 0.0)
    for wheel in range(rigid.active.size):
        _, normal = contact_plane(terrain, body_position(q, work, chain.wheel_body[wheel]), wheel)
        ground = axes(terrain, normal)
        _, arm = rim_contact(
            chain.crown, wheel, chain.wheel_radius[wheel], ground[2], axle(work, chain.wheel_body[wheel])
        )
        for k in range(rigid.per_wheel):
            row = rigid.row[rigid.first + wheel * rigid.per_wheel + k]
            for a in range(row.size):
                row[a] = 0.0
            along = (1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0, 1.0 if k == 0 else 0.0)
            project(chain, work, chain.wheel_body[wheel], from_ground(terrain, ground, along), none, arm, row)


@kernel
def hold_ground(
    chain: Chain,
    q: FloatArray,
    v: FloatArray,
    dt: float,
    rigid: RigidGround,
    terrain: Terrain,
    contact: GroundContact,
    work: Workspace,
) -> bool:
    """Keep wheels from entering rigid ground over a step: changes v (speeds,) as it would be without ground.

    For use after the accelerations are solved for (work.mass_matrix factored) and before the configuration moves. The
    condition is that a wheel's height over the ground, (5.26), is zero or more after the step, (5.30). It constrains
    position, speed and acceleration at once, and makes a landing a plastic impact. `rigid` has no `first` rows.
    Readings: vertical force and pull are impulse over dt.

    Returns:
        As find_active.
    """
    fill_ground_rows(chain, q, rigid, terrain, work)
    for wheel in range(rigid.active.size):
        height, normal = contact_plane(terrain, body_position(q, work, chain.wheel_body[wheel]), wheel)
        turned = axle(work, chain.wheel_body[wheel])
        reach, _ = rim_contact(chain.crown, wheel, chain.wheel_radius[wheel], axes(terrain, normal)[2], turned)
        for k in range(rigid.per_wheel):
            i = wheel * rigid.per_wheel + k
            rigid.speed[i] = (height - reach) / dt if k == 0 else 0.0
            for a in range(v.size):
                rigid.speed[i] += rigid.row[i, a] * v[a]
    found = find_active(chain, rigid, work)
    for a in range(v.size):
        work.rhs[a] = 0.0
    for i in range(rigid.speed.size):
        wheel = i // rigid.per_wheel
        add_scaled(chain.speed_parent, work.rhs, rigid.row[i], 5 + chain.wheel_body[wheel], rigid.impulse[i])
        if i % rigid.per_wheel == 0:
            contact.vertical[wheel] = rigid.impulse[i] / dt
            contact.sinkage[wheel] = contact.slip[wheel] = contact.pull[wheel] = 0.0
        elif i % rigid.per_wheel == 1:
            contact.pull[wheel] = rigid.impulse[i] / dt
    solve(chain, work.mass_matrix, work.rhs)
    for a in range(v.size):
        v[a] += work.rhs[a]
    return found


@kernel
def energy_on_ground(
    chain: Chain, q: FloatArray, v: FloatArray, angle: float, rigid: RigidGround, work: Workspace
) -> float:
    """T_c [J] of the rover's first `rigid.first` wheels against a plane, the ground's active constraints added.

    Leaves rigid.active and rigid.impulse. NaN where no set of constraints is consistent (find_active).
    """
    place_bodies(chain, q, work)
    fill_mass_matrix(chain, work)
    factorise(chain, work.mass_matrix)
    for i in range(rigid.first):
        approach_row(chain, work, chain.wheel_body[i], angle, rigid.row[i])
    fill_ground_rows(chain, q, rigid, None, work)
    for i in range(rigid.speed.size):
        rigid.speed[i] = 0.0
        for a in range(v.size):
            rigid.speed[i] += rigid.row[i, a] * v[a]
    if not find_active(chain, rigid, work):
        return np.nan
    energy = 0.0
    for i in range(rigid.speed.size):
        energy -= 0.5 * rigid.speed[i] * rigid.impulse[i]
    return energy


def effective_kinetic_energy_on_ground(
    rover: Rover, q: npt.ArrayLike, v: npt.ArrayLike, angle: float, *, rolling: bool = False
) -> tuple[float, tuple[str, ...]]:
    """T_c of both front wheels against the obstacle with the active ground constraints, and the names of their wheels.

    MacMahon 2016 5.4-5.5: T_c of (3.27) with the active ground rows below J_c. Only active rows belong there: all six
    would hold down wheels that the impact lifts.

    Args:
        rover: standing on z = 0.
        q: configuration (nq,).
        v: velocity (nv,).
        angle: beta [rad].
        rolling: whether the ground also keeps a wheel that it holds from slipping.

    Returns:
        Energy [J], and the names of the wheels whose constraints act.

    Raises:
        ValueError: a value that is not finite or of the wrong shape, or, with rolling, no consistent set of wheels.
    """
    rigid = make_rigid_ground(rover, first=2, rolling=rolling)
    rover.impact_jacobian(q, angle)  # checks q and angle
    speed = np.ascontiguousarray(v, dtype=np.float64)
    if speed.shape != (rover.nv,) or not np.isfinite(speed).all():
        raise ValueError(f"v is {speed}, allowed: {rover.nv} finite numbers")
    place, work = rover.tree_configuration(q), make_work(rover.chain)
    energy = float(energy_on_ground(rover.chain, place, rover.tree_speeds(speed, q), float(angle), rigid, work))
    if math.isnan(energy):
        raise ValueError("rolling is True, but no set of wheels that push and do not slip is consistent here")
    return energy, tuple(name for name, acts in zip(rover.wheel_names, rigid.active, strict=True) if acts)
