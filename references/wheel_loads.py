"""Loads of a rover's wheels in equilibrium, with given torques and tractions: what `RoverStatics.influence` adds to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from models.gravity import EARTH_GRAVITY
from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import fill_bias
from models.rover.factor import add_scaled
from models.rover.points import project
from models.rover.rover import Rover
from models.statics.balance import LEVEL, Balance, fill_matrix, make_balance, suspension_joints, take_motions


def wheel_loads(
    rover: Rover,
    q: npt.ArrayLike,
    torque: npt.ArrayLike,
    normal: npt.ArrayLike = LEVEL,
    gravity: Sequence[float] = EARTH_GRAVITY,
    wrenches: npt.ArrayLike | None = None,
) -> FloatArray:
    """Normal forces (wheels,) [N] in equilibrium; a negative one means that its wheel lifts off.

    Args:
        rover: one that `models.statics.RoverStatics` takes.
        q: configuration (nq,) of the rover.
        torque: (joints,) on the suspension joints [N m].
        normal: of the ground, one (3,) or at each wheel (wheels, 3), unit vectors, world axes.
        gravity: [m/s^2], world axes.
        wrenches: (wheels, 6) all else from the ground: traction force [N] and its moment [N m] at the wheel centre,
            world axes; see `traction_wrenches`.
    """
    balance = make_balance(rover.chain, np.array(suspension_joints(rover), dtype=np.int64))
    tree_q = rover.tree_configuration(q)
    balance.normal[:] = np.asarray(normal, dtype=np.float64) @ Rotation.from_quat(tree_q[3:7]).as_matrix()
    rest = np.zeros(rover.chain.speed_parent.size)
    rest[balance.joint] = torque
    others = np.zeros((len(rover.wheel_names), 6)) if wrenches is None else np.array(wrenches, dtype=float)
    out = np.zeros(len(others))
    _fill_rest(balance, tree_q, np.array(gravity, dtype=np.float64), others, rest, out)
    return np.linalg.solve(balance.matrix, -out).astype(np.float64)


def traction_wrenches(
    rover: Rover,
    normal: npt.ArrayLike,
    pull: npt.ArrayLike,
    axle_torque: npt.ArrayLike,
    side: npt.ArrayLike = 0.0,
    heading: Sequence[float] | FloatArray = (1.0, 0.0, 0.0),
) -> FloatArray:
    """Wrenches (wheels, 6) of tractions at the wheel centres, world axes, for `wheel_loads`.

    Petersen 2012 (4.31)-(4.32): the force in the ground is F_x, its moment about the axle is -R F_t.

    Args:
        rover: whose wheels they are.
        normal: of the ground (3,), world axes.
        pull: F_x of each wheel [N] along the ground, forward.
        axle_torque: R F_t of each wheel [N m], positive where it resists forward spin.
        side: F_y of each wheel [N] to the left.
        heading: of the wheels, world axes; its part along the ground counts.
    """
    up = np.asarray(normal, dtype=np.float64)
    left = np.cross(up, heading)
    left /= np.linalg.norm(left)
    ahead = np.cross(left, up)
    wheels = len(rover.wheel_names)
    forces = np.broadcast_to(pull, wheels)[:, None] * ahead + np.broadcast_to(side, wheels)[:, None] * left
    # the side force acts at the contact, a radius below the centre
    moments = -np.broadcast_to(axle_torque, wheels)[:, None] * left + np.cross(
        -rover.chain.wheel_radius[:, None] * up, np.broadcast_to(side, wheels)[:, None] * left
    )
    return np.hstack([forces, moments])


@kernel
def _fill_rest(
    balance: Balance, tree_q: FloatArray, gravity: FloatArray, wrenches: FloatArray, rest: FloatArray, out: FloatArray
) -> None:
    """Matrix, and the parts (wheels,) on the motions of all but normal forces; `rest` (speeds,) holds the torques."""
    chain, work, row = balance.chain, balance.work, balance.row
    fill_matrix(balance, tree_q)
    for a in range(work.v.size):
        work.v[a] = 0.0
    fill_bias(chain, work.v, gravity, work)
    for a in range(rest.size):
        rest[a] -= work.rhs[a]
    for wheel in range(wrenches.shape[0]):
        w, body = wrenches[wheel], chain.wheel_body[wheel]
        project(chain, work, body, (w[0], w[1], w[2]), (w[3], w[4], w[5]), (0.0, 0.0, 0.0), row)
        add_scaled(chain.speed_parent, rest, row, 5 + body, 1.0)
    take_motions(balance, rest, out)
