"""Rigid ground under the wheels: unilateral constraints, MacMahon 2016 (5.26)-(5.30), and which of them act.

A wheel's constraint acts where it pushes; it is inactive where it would have to pull (models.contact.active_set).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from models.contact.active_set import RigidGround, find_active, make_rigid_ground
from models.contact.ground import GroundContact
from models.contact.rim import rim_contact
from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import Workspace, fill_mass_matrix, make_work, place_bodies
from models.rover.factor import add_scaled, factorise, solve
from models.rover.points import approach_row, axle, body_position, project
from models.rover.reduction import Chain
from models.rover.rover import Rover
from models.terrain.surface import Terrain, axes, contact_plane, from_ground


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
