"""How a rover's wheel loads change with its tilt, its joint angles and its masses: statics, worked out once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from scipy.spatial.transform import Rotation

from models.kernels.compiled import FloatArray
from models.plant import RigParameters
from models.rover.rover import Rover
from models.statics.statics import suspension_joints

# Steps of the differences: [rad], relative of a mass.
_ANGLE, _MASS = 1e-4, 1e-3


def resting_loads(rover: Rover, q: FloatArray, gravity: float) -> FloatArray | None:
    """Normal forces (wheels,) [N] of a rover at rest on level ground, without torques on its joints.

    Virtual work of normal forces and weight on the motions that no traction prevents: of the base upwards and about
    both level axes, and of each suspension joint. A wheel does not turn, so its point of contact moves as its centre.

    Args:
        rover: with as many wheels as such motions; else its loads do not follow from equilibrium alone: None.
        q: configuration (nq,).
        gravity: downwards [m/s^2].
    """
    joints = suspension_joints(rover)
    wheels = len(rover.wheel_names)
    if len(joints) + 3 != wheels:
        return None
    independent = rover.chain.independent.tolist()
    angles = [independent.index(joint) for joint in joints]
    weight = rover.bias(q, np.zeros(rover.nv), (0.0, 0.0, -gravity))
    axes = Rotation.from_quat(q[3:7]).as_matrix()
    moved = [_raised(rover, q, 1e-6, axis, angle) for axis, angle in _motions(angles)]
    matrix = np.array([[one[wheel] for wheel in range(wheels)] for one in moved])
    # the weight's generalised force on the same motions: of the base in its own axes
    force = np.concatenate([[weight[:3] @ axes[2]], weight[3:6] @ axes[:2].T @ np.eye(2), weight[angles]])
    loads: FloatArray = np.linalg.solve(matrix, force)
    return loads


def _motions(angles: Sequence[int]) -> list[tuple[int, int]]:
    """(axis of the base, -1: none; place in v of a joint, -1: none): up is axis 0, then x and y."""
    return [(0, -1), (1, -1), (2, -1), *((-1, angle) for angle in angles)]


def _raised(rover: Rover, q: FloatArray, step: float, axis: int, joint: int) -> FloatArray:
    """Rise of each wheel centre (wheels,) over a small motion [m/m, m/rad]."""
    rise = np.zeros(len(rover.wheel_names))
    for sign in (1.0, -1.0):
        moved = q.copy()
        if axis == 0:
            moved[2] += sign * step
        elif axis > 0:
            about = np.zeros(3)
            about[axis - 1] = sign * step
            moved[3:7] = (Rotation.from_rotvec(about) * Rotation.from_quat(q[3:7])).as_quat()
        else:
            moved[joint + 1] += sign * step
        rise += sign * rover.wheel_positions(moved)[:, 2] / (2.0 * step)
    return rise


def load_slopes(rover: Rover, q: FloatArray, joints: Sequence[str], gravity: float) -> FloatArray:
    """Change (wheels, 2 + joints) of the loads with roll, pitch and each joint's angle [N/rad]; 0 where not known.

    Args:
        rover: as it stands.
        q: configuration (nq,) about which it is tilted.
        joints: names.
        gravity: downwards [m/s^2].
    """
    slopes = np.zeros((len(rover.wheel_names), 2 + len(joints)))
    if resting_loads(rover, q, gravity) is None:
        return slopes
    for column in range(2 + len(joints)):
        for sign in (1.0, -1.0):
            moved = q.copy()
            if column < 2:
                about = np.zeros(3)
                about[column] = sign * _ANGLE
                moved[3:7] = (Rotation.from_quat(q[3:7]) * Rotation.from_rotvec(about)).as_quat()
            elif joints[column - 2] in rover.joint_names:
                moved[7 + rover.joint_names.index(joints[column - 2])] += sign * _ANGLE
            found = resting_loads(rover, moved, gravity)
            assert found is not None
            slopes[:, column] += sign * found / (2.0 * _ANGLE)
    return slopes


def load_errors(nominal: RigParameters, q: FloatArray, mass: float) -> tuple[FloatArray, float]:
    """Standard deviations by independent errors of the masses: of the loads (wheels,) [N], and of the total, relative.

    Args:
        nominal: the rig.
        q: configuration (nq,) in which it stands.
        mass: relative standard deviation of each mass.
    """
    names = [item.name for item in fields(nominal.rover) if item.name.endswith("_mass")]
    rover, gravity = nominal.make_rover(), nominal.ground.gravity
    before, total = resting_loads(rover, q, gravity), rover.mass
    loads, relative = np.zeros(len(rover.wheel_names)), 0.0
    for name in names:
        heavier = replace(nominal.rover, **{name: getattr(nominal.rover, name) * (1.0 + _MASS)})
        other = replace(nominal, rover=heavier).make_rover()
        share = (other.mass - total) / (total * _MASS)
        relative += share * share
        after = resting_loads(other, q, gravity)
        if before is not None and after is not None:
            loads += ((after - before) / _MASS) ** 2
        else:
            loads += (share * total * gravity / loads.size) ** 2
    return mass * np.sqrt(loads), mass * float(np.sqrt(relative))
