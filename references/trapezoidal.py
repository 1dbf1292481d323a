"""A reference integrator for models.vehicle: the implicit trapezoidal rule, slow, for motion without contact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from models.gravity import EARTH_GRAVITY
from models.kernels.compiled import FloatArray
from models.rover.rover import Rover

ITERATIONS = 100
RUNAWAY = 1e6  # of one iteration, far from any motion of a rover


def trapezoidal(
    rover: Rover,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    dt: float,
    steps: int,
    *,
    tau: npt.ArrayLike | None = None,
    gravity: Sequence[float] = EARTH_GRAVITY,
) -> tuple[FloatArray, FloatArray]:
    """Take `steps` steps of the trapezoidal rule: q and v move by dt times the mean of their rates at both ends.

    The quaternion's rate is linear in the quaternion, is averaged like all others, and the result is made normal. The
    end state is found by fixed-point iteration, to rounding. The error of a step is of third order.

    Args:
        rover: any, couplings included.
        q: configuration (nq,).
        v: velocity (nv,).
        dt: step [s], above 0.
        steps: how many.
        tau: constant generalised force (nv,) [N, N m]; zero by default.
        gravity: [m/s^2], world axes.

    Returns:
        Configuration (nq,) and velocity (nv,).

    Raises:
        ValueError: a wrong shape, a value that is not finite, an invalid number of steps, or a step for which the
            iteration does not converge.
    """
    if not (np.isfinite(dt) and dt > 0.0):
        raise ValueError(f"dt is {dt} s, allowed: above 0")
    if not (isinstance(steps, int) and steps >= 0):
        raise ValueError(f"steps is {steps}, allowed: a whole number, 0 or more")
    q, v = np.array(q, dtype=np.float64), np.array(v, dtype=np.float64)
    force = np.zeros(rover.nv) if tau is None else tau
    for _ in range(steps):
        acceleration, rate = rover.forward_dynamics(q, v, force, gravity=gravity), configuration_rate(q, v)
        q_end, v_end = q + dt * rate, v + dt * acceleration
        for _ in range(ITERATIONS):
            q_end[3:7] /= np.linalg.norm(q_end[3:7])
            v_next = v + 0.5 * dt * (acceleration + rover.forward_dynamics(q_end, v_end, force, gravity=gravity))
            q_next = q + 0.5 * dt * (rate + configuration_rate(q_end, v_next))
            q_next[3:7] /= np.linalg.norm(q_next[3:7])
            moved = max(np.abs(v_next - v_end).max(), np.abs(q_next - q_end).max())
            rounding = 1e-14 * max(1.0, np.abs(v_next).max(), np.abs(q_next).max())
            q_end, v_end = q_next, v_next
            if moved <= rounding or moved > RUNAWAY:
                break
        if moved > rounding:
            raise ValueError(f"dt is {dt} s, allowed: short enough for the iteration to converge")
        q, v = q_end, v_end
    return q, v


def configuration_rate(q: FloatArray, v: FloatArray) -> FloatArray:
    """Rate of change (nq,) of a configuration q (nq,) at velocity v (nv,), both of the free-flyer and the joints."""
    x, y, z, w = q[3:7]
    wx, wy, wz = v[3:6]
    axis = q[3:6]
    swept = 2.0 * np.cross(axis, v[:3])
    rate = np.empty(q.size)
    rate[:3] = v[:3] + w * swept + np.cross(axis, swept)
    rate[3] = 0.5 * (w * wx + y * wz - z * wy)
    rate[4] = 0.5 * (w * wy + z * wx - x * wz)
    rate[5] = 0.5 * (w * wz + x * wy - y * wx)
    rate[6] = -0.5 * (x * wx + y * wy + z * wz)
    rate[7:] = v[6:]
    return rate
