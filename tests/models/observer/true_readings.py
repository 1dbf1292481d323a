"""What instruments read of a deviation, in plain numpy: independent of the filter's kernels."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from models.observer.model import (
    ANGLES,
    BIAS_X,
    BIAS_Y,
    BIAS_YAW,
    CRAB,
    CURVATURE,
    FAST_SPEED,
    FAST_YAW,
    HEADING,
    PITCH,
    ROLL,
    SPEED,
    VELOCITY,
    Observer,
    X,
)


def moved(x: np.ndarray, before: np.ndarray, after: np.ndarray, dt: float, fast_time: float) -> np.ndarray:
    """The deviation after dt without chance: the true rover's own motion less the twin's."""
    out, speed = x.copy(), 0.5 * (before[VELOCITY] + after[VELOCITY])
    axes = Rotation.from_quat(before[3:7]).as_matrix()
    turned = Rotation.from_euler("z", x[HEADING]).as_matrix()
    twin = after[:3] - before[:3]
    ahead = (x[SPEED] * speed + x[FAST_SPEED]) * dt
    true = turned @ (twin + axes[:, 0] * ahead + axes[:, 1] * x[CRAB] * speed * dt)
    out[X : X + 3] += true - twin
    out[HEADING] += (x[CURVATURE] * speed * (1.0 + x[SPEED]) + x[FAST_YAW]) * dt
    out[[FAST_SPEED, FAST_YAW]] *= np.exp(-dt / fast_time)
    return out


def pose_reading(o: Observer, row: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Place (3,) and attitude as a quaternion (4,)."""
    motion = o.motion
    base = true_base(row, x)
    place = motion.turn.T @ (row[:3] + x[X : X + 3] + base.apply(motion.point) - motion.origin)
    attitude = Rotation.from_matrix(motion.turn).inv() * base * Rotation.from_matrix(motion.body_turn)
    return np.concatenate([place, attitude.as_quat()])


def true_base(row: np.ndarray, x: np.ndarray) -> Rotation:
    """Attitude of the base."""
    tilt = Rotation.from_rotvec([x[ROLL], x[PITCH], 0.0])
    return Rotation.from_euler("z", x[HEADING]) * Rotation.from_quat(row[3:7]) * tilt


def imu_reading(o: Observer, row: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Forces (3,) and rates (3,) while the twin drives straight and steadily."""
    speed = row[VELOCITY]
    spin = x[CURVATURE] * speed * (1.0 + x[SPEED]) + x[FAST_YAW]
    tilt = Rotation.from_rotvec([x[ROLL], x[PITCH], 0.0])
    upright = Rotation.from_quat(row[3:7]) * tilt
    force = upright.inv().apply([0.0, 0.0, o.imu.gravity])
    force += np.array([x[BIAS_X], speed * spin + x[BIAS_Y], 0.0])
    rate = np.array([0.0, 0.0, spin + x[BIAS_YAW]])
    return np.concatenate([o.imu.turn.T @ force, o.imu.turn.T @ rate])


def joints_reading(o: Observer, row: np.ndarray, joint: np.ndarray) -> np.ndarray:
    """Angles as the encoders read them."""
    joints = o.joints
    return joints.zero + joints.sign * (row[ANGLES:] + joint)[joints.joint]
