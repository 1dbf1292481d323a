"""Where the wheels are."""

from __future__ import annotations

from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import Workspace, place_bodies
from models.rover.points import axle, body_position
from models.rover.reduction import Chain


@kernel
def fill_wheel_poses(chain: Chain, q: FloatArray, work: Workspace, centre: FloatArray, direction: FloatArray) -> None:
    """Centre [m] and unit vector of the axle, to port, of each wheel (wheels, 3), world axes; work is overwritten."""
    place_bodies(chain, q, work)
    for wheel in range(chain.wheel_body.size):
        body = chain.wheel_body[wheel]
        centre[wheel, 0], centre[wheel, 1], centre[wheel, 2] = body_position(q, work, body)
        direction[wheel, 0], direction[wheel, 1], direction[wheel, 2] = axle(work, body)
