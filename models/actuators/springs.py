"""Passive springs and dampers of joints: of elastic links (models.rover.flexible), or of a joint itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.dynamics import Workspace
from models.rover.rover import Rover


class JointSprings(NamedTuple):
    """Springs of a rover's joints (springs,), relaxed at coordinate 0.

    Attributes:
        speed: tree speed of the joint (models.rover.reduction.Chain); its coordinate is q[speed + 1].
        stiffness: [N m/rad, N/m].
        damping: [N m s/rad, N s/m].
    """

    speed: IntArray
    stiffness: FloatArray
    damping: FloatArray


def make_springs(rover: Rover) -> JointSprings | None:
    """The springs of all free joints that have one (`models.rover.tree.Joint.stiffness`); None: there is none."""
    joints = {joint.name: joint for joint in rover.tree.joints}
    sprung = [
        (6 + k, joints[name].stiffness, joints[name].damping)
        for k, name in enumerate(rover.tree_joint_names)
        if joints[name].stiffness > 0.0 or joints[name].damping > 0.0
    ]
    if not sprung:
        return None
    speed, stiffness, damping = zip(*sprung, strict=True)
    return JointSprings(np.array(speed, dtype=np.int64), np.array(stiffness), np.array(damping))


@kernel
def push_springs(springs: JointSprings, q: FloatArray, v: FloatArray, dt: float, work: Workspace) -> None:
    """Add the force of every spring to work.

    With k dt^2/4 on the mass matrix the step is stable for any stiffness, and neither makes nor loses energy in the
    mean: the leapfrog form of the trapezoidal rule. An amplitude is off by a factor of up to sqrt(1 + (omega dt/2)^2).
    The damping is implicit.

    Args:
        springs: of the rover.
        q: configuration, over all joints that turn.
        v: velocity, likewise.
        dt: step [s].
        work: its right-hand side, and the mass matrix, which takes stiffness and damping.
    """
    for i in range(springs.speed.size):
        speed, stiffness, damping = springs.speed[i], springs.stiffness[i], springs.damping[i]
        work.rhs[speed] -= stiffness * q[speed + 1] + damping * v[speed]
        work.mass_matrix[speed, speed] += dt * (damping + 0.25 * dt * stiffness)
