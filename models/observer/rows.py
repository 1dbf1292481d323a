"""What a reading should be, from twin and deviation: residuals, rows of the linearised model, variances."""

from __future__ import annotations

import math

from models.kernels.compiled import FloatArray, kernel
from models.observer.model import (
    BIAS_X,
    BIAS_Y,
    BIAS_YAW,
    CRAB,
    CURVATURE,
    DISTANCE,
    FAST_SPEED,
    FAST_YAW,
    HEADING,
    PITCH,
    PLACE,
    POSE,
    RATE,
    ROLL,
    SHAKEN,
    SPEED,
    STATES,
    TURN,
    VELOCITY,
    ImuModel,
    MotionModel,
    Observer,
    Scratch,
    X,
    Y,
    Z,
)
from models.observer.step import fast_parts, forward_axis, left_axis


@kernel
def place_twin(before: FloatArray, after: FloatArray, share: float, out: FloatArray) -> None:
    """Set the twin between two rows, at this share from the first; the rest of a row is that of the second."""
    for i in range(out.size):
        out[i] = after[i] + (1.0 - share) * (before[i] - after[i])
    # a quaternion and its negative are the same turn
    same = 0.0
    for i in range(4):
        same += before[TURN + i] * after[TURN + i]
    sign, square = 1.0 if same >= 0.0 else -1.0, 0.0
    for i in range(4):
        out[TURN + i] = share * after[TURN + i] + (1.0 - share) * sign * before[TURN + i]
        square += out[TURN + i] ** 2
    for i in range(4):
        out[TURN + i] /= math.sqrt(square)


@kernel
def turn_base(row: FloatArray, heading: float, roll: float, pitch: float, out: FloatArray) -> None:
    """Axes (3, 3) of the true base in the world: those of the twin, turned about the vertical and its own axes."""
    x, y, z, w = row[TURN], row[TURN + 1], row[TURN + 2], row[TURN + 3]
    c, s = math.cos(heading), math.sin(heading)
    a, b = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w)
    out[0, 0], out[1, 0], out[2, 0] = c * a - s * b, s * a + c * b, 2.0 * (x * z - y * w)
    a, b = 2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z)
    out[0, 1], out[1, 1], out[2, 1] = c * a - s * b, s * a + c * b, 2.0 * (y * z + x * w)
    a, b = 2.0 * (x * z + y * w), 2.0 * (y * z - x * w)
    out[0, 2], out[1, 2], out[2, 2] = c * a - s * b, s * a + c * b, 1.0 - 2.0 * (x * x + y * y)
    half = 0.5 * math.sqrt(roll * roll + pitch * pitch)
    scale = 0.5 * (math.sin(half) / half if half > 1e-9 else 1.0)
    p, q, r = scale * roll, scale * pitch, math.cos(half)  # a quaternion about an axis without a part along z
    for i in range(3):
        u, v, n = out[i, 0], out[i, 1], out[i, 2]
        out[i, 0] = u * (1.0 - 2.0 * q * q) + v * 2.0 * p * q - n * 2.0 * q * r
        out[i, 1] = u * 2.0 * p * q + v * (1.0 - 2.0 * p * p) + n * 2.0 * p * r
        out[i, 2] = u * 2.0 * q * r - v * 2.0 * p * r + n * (1.0 - 2.0 * (p * p + q * q))


@kernel
def look_back(scratch: Scratch, before: FloatArray, after: FloatArray, dt: float, behind: float) -> None:
    """The deviation at a reading's time, `behind` [s] the later of two rows; it is left in scratch.x0."""
    back, x0 = -behind / dt, scratch.x0
    after_place = after[PLACE], after[PLACE + 1]
    # the same motion as in a step, in the other direction
    speed = 0.5 * (before[VELOCITY] + after[VELOCITY])
    ahead, left = forward_axis(before), left_axis(before)
    over, across = (x0[SPEED] * speed + x0[FAST_SPEED]) * dt, x0[CRAB] * speed * dt
    c, s = math.cos(x0[HEADING]), math.sin(x0[HEADING])
    twin_x, twin_y = after_place[0] - before[PLACE], after_place[1] - before[PLACE + 1]
    along_x = twin_x + ahead[0] * over + left[0] * across
    along_y = twin_y + ahead[1] * over + left[1] * across
    x0[X] += back * (c * along_x - s * along_y - twin_x)
    x0[Y] += back * (s * along_x + c * along_y - twin_y)
    x0[Z] += back * (ahead[2] * over + left[2] * across)
    x0[HEADING] += back * (x0[CURVATURE] * speed * (1.0 + x0[SPEED]) + x0[FAST_YAW]) * dt


@kernel
def shift_row(h: FloatArray, x: FloatArray, at: FloatArray, behind: float) -> None:
    """A row (STATES,) of the deviation at a reading's time becomes one of the deviation `behind` [s] later."""
    speed, heading = at[VELOCITY], h[HEADING]
    ahead, left = forward_axis(at), left_axis(at)
    c, s = math.cos(x[HEADING]), math.sin(x[HEADING])
    ahead_x, ahead_y = c * ahead[0] - s * ahead[1], s * ahead[0] + c * ahead[1]
    left_x, left_y = c * left[0] - s * left[1], s * left[0] + c * left[1]
    along = h[X] * ahead_x + h[Y] * ahead_y + h[Z] * ahead[2]
    h[HEADING] -= behind * speed * (h[Y] * ahead_x - h[X] * ahead_y)
    h[SPEED] -= behind * speed * (along + heading * x[CURVATURE])
    h[FAST_SPEED] -= behind * along
    h[CRAB] -= behind * speed * (h[X] * left_x + h[Y] * left_y + h[Z] * left[2])
    h[CURVATURE] -= behind * heading * speed * (1.0 + x[SPEED])
    h[FAST_YAW] -= behind * heading


@kernel
def motion_rows(motion: MotionModel, scratch: Scratch, value: FloatArray) -> int:
    """Rows of a reading of place and attitude; at scratch.at, scratch.x0. Returns their number, 0: out of the room."""
    x, at, base, H, left, R = scratch.x0, scratch.at, scratch.base, scratch.H, scratch.left, scratch.R
    turn_base(at, x[HEADING], x[ROLL], x[PITCH], base)
    point, arm = motion.point, scratch.arm
    for i in range(3):
        arm[i] = base[i, 0] * point[0] + base[i, 1] * point[1] + base[i, 2] * point[2]
    count = 1 if motion.kind == DISTANCE else 3
    for row in range(count):
        left[row] = value[row]
        for state in range(STATES):
            H[row, state] = 0.0
        for axis in range(3):
            part = motion.direction[axis] if motion.kind == DISTANCE else motion.turn[axis, row]
            left[row] -= part * (at[PLACE + axis] + x[X + axis] + arm[axis] - motion.origin[axis])
            H[row, X + axis] = part
            # by roll: base axes (0, -z, y); by pitch: (z, 0, -x); by heading: about the vertical
            H[row, ROLL] += part * (base[axis, 2] * point[1] - base[axis, 1] * point[2])
            H[row, PITCH] += part * (base[axis, 0] * point[2] - base[axis, 2] * point[0])
            if axis == 0:
                H[row, HEADING] -= part * arm[1]
            elif axis == 1:
                H[row, HEADING] += part * arm[0]
        R[row] = motion.place_variance
    if motion.kind != DISTANCE:
        for axis in range(3):
            place = motion.origin[axis]
            for row in range(3):
                place += motion.turn[axis, row] * value[row]
            if not motion.within[axis, 0] <= place <= motion.within[axis, 1]:
                return 0
    if motion.kind == POSE:
        _attitude_rows(motion, scratch, value)
        count = 6
    return count


@kernel
def _attitude_rows(motion: MotionModel, scratch: Scratch, value: FloatArray) -> None:
    """Rows 3 to 5: the turn from the expected attitude to the measured one, in the instrument's axes."""
    base, expected, H, left, R = scratch.base, scratch.expected, scratch.H, scratch.left, scratch.R
    # expected: instrument axes from those of the measured body
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                for m in range(3):
                    total += motion.turn[k, i] * base[k, m] * motion.body_turn[m, j]
            expected[i, j] = total
    x, y, z, w = value[3], value[4], value[5], value[6]
    norm = 1.0 / math.sqrt(x * x + y * y + z * z + w * w)
    x, y, z, w = x * norm, y * norm, z * norm, w * norm
    columns = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)),
        (2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + x * w)),
        (2.0 * (x * z + y * w), 2.0 * (y * z - x * w), 1.0 - 2.0 * (x * x + y * y)),
    )
    # D = measured expected': its antisymmetric part is the sine of the angle, its trace gives the cosine
    d21 = d12 = d02 = d20 = d10 = d01 = trace = 0.0
    for k in range(3):
        column = columns[k]
        d21, d12 = d21 + column[2] * expected[1, k], d12 + column[1] * expected[2, k]
        d02, d20 = d02 + column[0] * expected[2, k], d20 + column[2] * expected[0, k]
        d10, d01 = d10 + column[1] * expected[0, k], d01 + column[0] * expected[1, k]
        trace += column[0] * expected[0, k] + column[1] * expected[1, k] + column[2] * expected[2, k]
    a, b, c = 0.5 * (d21 - d12), 0.5 * (d02 - d20), 0.5 * (d10 - d01)
    sine, cosine = math.sqrt(a * a + b * b + c * c), 0.5 * (trace - 1.0)
    angle = math.atan2(sine, cosine)
    # half a turn has no sine: its axis is not known, its size is enough to be rejected
    scale = angle / sine if sine > 1e-9 else 1.0
    left[3], left[4], left[5] = scale * a, scale * b, scale * c
    if sine <= 1e-9 and cosine < 0.0:
        left[3] = angle
    for row in range(3):
        for state in range(STATES):
            H[3 + row, state] = 0.0
        for axis in range(3):
            part = motion.turn[axis, row]
            H[3 + row, ROLL] += part * base[axis, 0]
            H[3 + row, PITCH] += part * base[axis, 1]
        H[3 + row, HEADING] = motion.turn[2, row]
        R[3 + row] = motion.turn_variance


@kernel
def imu_rows(o: Observer, before: FloatArray, after: FloatArray, dt: float, value: FloatArray) -> int:
    """Rows of a reading of specific force and rates, in base axes; at scratch.at, scratch.x0.

    Rates about x and y and the force along z say nothing about the deviation that others do not say better: they are
    only checked. Their residuals have the twin's own error as variance.
    """
    imu, process, scratch = o.imu, o.process, o.scratch
    x, at, H, left, R = scratch.x0, scratch.at, scratch.H, scratch.left, scratch.R
    fast, _ = fast_parts(process, before, after, dt)
    force = _force(imu, scratch, before, after, dt)
    speed, ahead = at[VELOCITY], (after[VELOCITY] - before[VELOCITY]) / dt
    # of the mean acceleration, by fast speed; and an acceleration from held wheel speeds is as uncertain as it is large
    jerk = 2.0 * fast * fast * (1.0 - math.exp(-imu.over / process.fast_time)) / (imu.over * imu.over)
    shake = process.shaken_tilt * after[SHAKEN] / process.shaken_time
    swing = (process.apart[2] * speed / process.uneven_length) ** 2 + shake * shake
    for row in range(6):
        mean = 0.0
        for axis in range(3):
            mean += imu.turn[row % 3, axis] * value[axis if row < 3 else 3 + axis]
        left[row] = mean - (force[row] if row < 3 else at[RATE + row - 3])
        for state in range(STATES):
            H[row, state] = 0.0
    for row in range(3):
        R[row] = imu.force_variance + jerk + force[3 + row] * force[3 + row]
        R[3 + row] = imu.rate_variance + imu.rate_bias_variance + swing
    R[2] += imu.force_bias_variance
    H[0, PITCH], H[0, SPEED], H[0, BIAS_X] = -force[2], ahead, 1.0
    H[1, ROLL], H[1, CURVATURE], H[1, FAST_YAW], H[1, BIAS_Y] = force[2], speed * speed, speed, 1.0
    left[0] -= -force[2] * x[PITCH] + ahead * x[SPEED] + x[BIAS_X]
    left[1] -= force[2] * x[ROLL] + speed * speed * x[CURVATURE] + speed * x[FAST_YAW] + x[BIAS_Y]
    R[5] = imu.rate_variance
    H[5, CURVATURE], H[5, SPEED] = speed * (1.0 + x[SPEED]), speed * x[CURVATURE]
    H[5, FAST_YAW] = H[5, BIAS_YAW] = 1.0
    left[5] -= x[CURVATURE] * speed * (1.0 + x[SPEED]) + x[FAST_YAW] + x[BIAS_YAW]
    return 6


@kernel
def _force(
    imu: ImuModel, scratch: Scratch, before: FloatArray, after: FloatArray, dt: float
) -> tuple[float, float, float, float, float, float]:
    """Specific force of the twin at the unit in base axes, and the part of it that is acceleration [m/s^2]."""
    base, arm = scratch.base, scratch.arm
    _point_velocity(imu.point, after, base, arm)
    x, y, z = arm[0], arm[1], arm[2]
    _point_velocity(imu.point, before, base, arm)
    x, y, z = (x - arm[0]) / dt, (y - arm[1]) / dt, (z - arm[2]) / dt
    turn_base(scratch.at, 0.0, 0.0, 0.0, base)
    a = base[0, 0] * x + base[1, 0] * y + base[2, 0] * z
    b = base[0, 1] * x + base[1, 1] * y + base[2, 1] * z
    c = base[0, 2] * x + base[1, 2] * y + base[2, 2] * z
    g = imu.gravity
    return a + base[2, 0] * g, b + base[2, 1] * g, c + base[2, 2] * g, a, b, c


@kernel
def _point_velocity(point: FloatArray, row: FloatArray, base: FloatArray, out: FloatArray) -> None:
    """Velocity (3,) of a point of the twin, world axes [m/s]."""
    turn_base(row, 0.0, 0.0, 0.0, base)
    u = row[VELOCITY] + row[RATE + 1] * point[2] - row[RATE + 2] * point[1]
    v = row[VELOCITY + 1] + row[RATE + 2] * point[0] - row[RATE] * point[2]
    w = row[VELOCITY + 2] + row[RATE] * point[1] - row[RATE + 1] * point[0]
    for i in range(3):
        out[i] = base[i, 0] * u + base[i, 1] * v + base[i, 2] * w
