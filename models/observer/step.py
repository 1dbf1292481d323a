"""One step of the filter in time: the deviation goes on with the twin, and its covariance grows."""

from __future__ import annotations

import math

from models.kernels.compiled import FloatArray, kernel
from models.observer.model import (
    BIAS_X,
    BIAS_Y,
    BIAS_YAW,
    CRAB,
    CURVATURE,
    FAST_SPEED,
    FAST_YAW,
    HEADING,
    LARGEST_SLIP,
    PITCH,
    PLACE,
    RATE,
    ROLL,
    SHAKEN,
    SLIP,
    SPEED,
    STATES,
    TURN,
    VELOCITY,
    Deviation,
    ProcessModel,
    X,
    Y,
    Z,
)


@kernel
def forward_axis(row: FloatArray) -> tuple[float, float, float]:
    """The base's forward axis in world axes."""
    x, y, z, w = row[TURN], row[TURN + 1], row[TURN + 2], row[TURN + 3]
    return 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)


@kernel
def left_axis(row: FloatArray) -> tuple[float, float, float]:
    """The base's axis to port in world axes."""
    x, y, z, w = row[TURN], row[TURN + 1], row[TURN + 2], row[TURN + 3]
    return 2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + x * w)


@kernel
def move(x: FloatArray, before: FloatArray, after: FloatArray, dt: float) -> tuple[float, float]:
    """Move place and heading of the deviation (STATES,) from one row of the twin to another [s later].

    Returns:
        The true rover's motion along the world's x and y [m].
    """
    speed = 0.5 * (before[VELOCITY] + after[VELOCITY])
    ahead, left = forward_axis(before), left_axis(before)
    over = (x[SPEED] * speed + x[FAST_SPEED]) * dt
    across = x[CRAB] * speed * dt
    c, s = math.cos(x[HEADING]), math.sin(x[HEADING])
    twin_x, twin_y = after[PLACE] - before[PLACE], after[PLACE + 1] - before[PLACE + 1]
    along_x = twin_x + ahead[0] * over + left[0] * across
    along_y = twin_y + ahead[1] * over + left[1] * across
    true_x, true_y = c * along_x - s * along_y, s * along_x + c * along_y
    x[X] += true_x - twin_x
    x[Y] += true_y - twin_y
    x[Z] += ahead[2] * over + left[2] * across
    x[HEADING] += (x[CURVATURE] * speed * (1.0 + x[SPEED]) + x[FAST_YAW]) * dt
    return true_x, true_y


@kernel
def predict(process: ProcessModel, deviation: Deviation, before: FloatArray, after: FloatArray, dt: float) -> None:
    """Advance a deviation from one row of the twin to the next, dt later [s]."""
    x, P = deviation.x, deviation.P
    speed = 0.5 * (before[VELOCITY] + after[VELOCITY])
    way = abs(speed) * dt
    c, s = math.cos(x[HEADING]), math.sin(x[HEADING])
    ahead, left = forward_axis(before), left_axis(before)
    ahead_x, ahead_y = c * ahead[0] - s * ahead[1], s * ahead[0] + c * ahead[1]
    left_x, left_y = c * left[0] - s * left[1], s * left[0] + c * left[1]
    by_speed, turned = x[SPEED], x[CURVATURE]
    true_x, true_y = move(x, before, after, dt)
    fade = math.exp(-dt / process.fast_time)
    x[FAST_SPEED] *= fade
    x[FAST_YAW] *= fade
    # F P F': first its rows, then its columns; a row is changed after those that need its old value
    for across in range(2):
        for j in range(STATES):
            if across == 0:
                a, b, up, head, rate = P[X, j], P[Y, j], P[Z, j], P[HEADING, j], P[SPEED, j]
                fast, bend, spin, crab = P[FAST_SPEED, j], P[CURVATURE, j], P[FAST_YAW, j], P[CRAB, j]
            else:
                a, b, up, head, rate = P[j, X], P[j, Y], P[j, Z], P[j, HEADING], P[j, SPEED]
                fast, bend, spin, crab = P[j, FAST_SPEED], P[j, CURVATURE], P[j, FAST_YAW], P[j, CRAB]
            over, aside = (rate * speed + fast) * dt, crab * speed * dt
            a += ahead_x * over + left_x * aside - true_y * head
            b += ahead_y * over + left_y * aside + true_x * head
            up += ahead[2] * over + left[2] * aside
            head += (bend * speed * (1.0 + by_speed) + turned * speed * rate + spin) * dt
            fast, spin = fast * fade, spin * fade
            if across == 0:
                P[X, j], P[Y, j], P[Z, j], P[HEADING, j], P[FAST_SPEED, j], P[FAST_YAW, j] = a, b, up, head, fast, spin
            else:
                P[j, X], P[j, Y], P[j, Z], P[j, HEADING], P[j, FAST_SPEED], P[j, FAST_YAW] = a, b, up, head, fast, spin
    slip, new, old = after[SLIP], after[LARGEST_SLIP], before[LARGEST_SLIP]
    largest = process.slip * process.slip * (new * new - old * old)
    P[SPEED, SPEED] += largest + ((process.slip_walk * slip) ** 2 + process.speed_walk**2) * way
    P[CURVATURE, CURVATURE] += process.curvature_walk**2 * way
    P[CRAB, CRAB] += process.crab_walk**2 * way
    fast_speed, fast_yaw = fast_parts(process, before, after, dt)
    # an impact changes the speed at once
    share = 1.0 if after[SHAKEN] > before[SHAKEN] else 1.0 - fade * fade
    P[FAST_SPEED, FAST_SPEED] += fast_speed * fast_speed * share
    P[FAST_YAW, FAST_YAW] += fast_yaw * fast_yaw * share
    P[BIAS_YAW, BIAS_YAW] += process.bias[0] * process.bias_walk * dt
    P[BIAS_X, BIAS_X] += process.bias[1] * process.bias_walk * dt
    P[BIAS_Y, BIAS_Y] += process.bias[1] * process.bias_walk * dt
    _lie(process, deviation, after, way, dt)


@kernel
def fast_parts(process: ProcessModel, before: FloatArray, after: FloatArray, dt: float) -> tuple[float, float]:
    """Standard deviations of the fast parts of speed [m/s] and rate of turn [rad/s], as they are by now."""
    quicker = abs(after[VELOCITY] - before[VELOCITY]) / dt
    spinning = abs(after[RATE + 2] - before[RATE + 2]) / dt
    loose = process.ripple * abs(after[VELOCITY]) + process.shaken * after[SHAKEN]
    return process.follow * quicker + loose, process.follow * spinning + loose / process.half_track


@kernel
def _lie(process: ProcessModel, deviation: Deviation, after: FloatArray, way: float, dt: float) -> None:
    """How the rover lies on its ground: height, tilt and joint angles change with the ground, and by an impact."""
    x, P = deviation.x, deviation.P
    shaken = (process.shaken_tilt * after[SHAKEN]) ** 2 * min(dt / process.shaken_time, 1.0)
    for i in range(process.uneven.size):
        uneven, apart = process.uneven[i] ** 2, process.apart[i] ** 2
        share = uneven / apart if apart > 0.0 else 0.0
        keep = math.exp(-way / process.uneven_length * share)
        grow = apart * (1.0 - keep * keep)
        if i < 3:
            place = Z if i == 0 else ROLL if i == 1 else PITCH
            x[place] *= keep
            for j in range(STATES):
                P[place, j] *= keep
            for j in range(STATES):
                P[j, place] *= keep
            P[place, place] += grow + (0.0 if i == 0 else shaken)
        else:
            deviation.joint[i - 3] *= keep
            deviation.joint_variance[i - 3] = keep * keep * deviation.joint_variance[i - 3] + grow + shaken
