"""The filter against independent calculations: a Riccati equation, and least squares over all readings at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are
from scipy.spatial.transform import Rotation

from models.observer.model import (
    ANGLES,
    BIAS_X,
    BIAS_Y,
    BIAS_YAW,
    CRAB,
    CURVATURE,
    DISTANCE,
    FAST_SPEED,
    FAST_YAW,
    IMU,
    LEFT_OUT,
    MOTION,
    PITCH,
    REJECTED,
    ROLL,
    SPEED,
    STATES,
    X,
    Z,
)
from models.observer.ring import refresh
from tests.models.observer.straight_drive import (
    ATTITUDE,
    FORCE,
    PLACE,
    RATE_NOISE,
    SPEED_MPS,
    STEP_NS,
    Filter,
    observer,
    process,
    row_at,
)
from tests.models.observer.true_readings import imu_reading, moved, pose_reading

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

DT = STEP_NS * 1e-9


def test_a_distance_and_a_fast_speed_reach_the_covariance_of_their_riccati_equation():
    start = np.zeros(STATES)
    start[[X, FAST_SPEED]] = 0.01
    still = process(slip=0.0, slip_walk=0.0, speed_walk=0.0, curvature_walk=0.0, crab_walk=0.0, bias_walk=0.0,
                    ripple=0.1, uneven=np.zeros(6), apart=np.full(6, 1e-12))  # fmt: skip
    o = observer(start=start, process=still)
    ahead = np.array([math.cos(0.2), math.sin(0.2), 0.0])
    o = o._replace(motion=o.motion._replace(kind=DISTANCE, direction=ahead, point=np.zeros(3)))
    # fast yaw turns the way of the rover; it is switched off by an infinite track
    o = o._replace(process=o.process._replace(half_track=1e12))
    tested = Filter(o)
    for _ in range(3000):
        t_ns = tested.t_ns + STEP_NS
        tested.take(t_ns, MOTION, np.array([(row_at(t_ns * 1e-9)[:3] - o.motion.origin) @ ahead]))
        tested.step()
    fade, fast = math.exp(-DT / still.fast_time), still.ripple * SPEED_MPS
    F, H = np.array([[1.0, DT], [0.0, fade]]), np.array([[1.0, 0.0]])
    Q, R = np.diag([1e-30, fast**2 * (1.0 - fade**2)]), np.array([[PLACE**2]])
    expected = solve_discrete_are(F.T, H.T, Q, R)
    # along the way: the state holds both world axes
    node = o.ring.mark[0]
    P = o.ring.before.P[node]
    along = np.array([[ahead[0], ahead[1], 0.0], [0.0, 0.0, 1.0]])
    found = along @ P[np.ix_([X, X + 1, FAST_SPEED], [X, X + 1, FAST_SPEED])] @ along.T
    np.testing.assert_allclose(found, expected, rtol=1e-3)


@pytest.mark.parametrize("late", [False, True])
def test_the_filter_equals_least_squares_over_all_its_readings_at_once(late):
    # deviations so small that all is linear: 1e-4 of their standard deviations
    tiny, steps, random = 1e-4, 30, np.random.default_rng(5)
    o = observer()
    tested = Filter(o)
    p, start = o.process, np.sqrt(o.start)
    x = tiny * start * random.standard_normal(STATES)
    readings: list[tuple[int, int, np.ndarray, int]] = []
    for node in range(1, steps + 1):
        x = moved(x, row_at((node - 1) * DT), row_at(node * DT), DT, p.fast_time)
        if node % 2 == 0:
            t_ns = node * STEP_NS - 2_000_000
            noise = tiny * PLACE * random.standard_normal(3), tiny * ATTITUDE * random.standard_normal(3)
            value = pose_reading(o, row_at(t_ns * 1e-9), x)
            value[:3] += noise[0]
            value[3:] = (Rotation.from_rotvec(noise[1]) * Rotation.from_quat(value[3:])).as_quat()
            readings.append((t_ns, MOTION, value, node))
        t_ns = node * STEP_NS - 1_000_000
        value = imu_reading(o, row_at(t_ns * 1e-9), x)
        value += tiny * np.repeat([FORCE, RATE_NOISE], 3) * random.standard_normal(6)
        readings.append((t_ns, IMU, value, node))
    for node in range(1, steps + 1):
        for t_ns, role, value, at in readings:
            delay = (4 if role == MOTION else 1) if late else 0
            if at + delay == node:
                tested.take(t_ns, role, value)
        tested.step()
    for t_ns, role, value, at in readings:
        if late and at + (4 if role == MOTION else 1) > steps:
            tested.take(t_ns, role, value)
    refresh(o)
    assert not o.now.source[:, [REJECTED, LEFT_OUT]].any()
    mean, covariance = _least_squares(o, readings, steps)
    sd = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(o.now.P, covariance, atol=1e-5 * np.outer(sd, sd).max(), rtol=1e-4)
    np.testing.assert_allclose(o.now.x / sd, mean / sd, atol=2e-3 * tiny)


def _least_squares(o, readings, steps):
    """Estimate at the last node and its covariance: unknown are the start and the chance of each step."""
    F = [_slopes(lambda x, k=k: moved(x, row_at(k * DT), row_at((k + 1) * DT), DT, o.process.fast_time))
         for k in range(steps)]  # fmt: skip
    F = [_decayed(o, one) for one in F]
    chance = _chance(o)
    unknowns = STATES * (steps + 1)
    # maps from all unknowns to the state at each node
    maps = [np.hstack([np.eye(STATES), np.zeros((STATES, unknowns - STATES))])]
    for k in range(steps):
        following = F[k] @ maps[-1]
        following[:, STATES * (k + 1) : STATES * (k + 2)] += np.eye(STATES)
        maps.append(following)
    variance = np.concatenate([o.start, *[chance] * steps])
    information = np.diag(1.0 / np.maximum(variance, 1e-30))
    right = np.zeros(unknowns)
    for t_ns, role, value, node in readings:
        row, behind = row_at(t_ns * 1e-9), (node * STEP_NS - t_ns) * 1e-9
        back = _backwards(behind)
        if role == MOTION:
            zero = pose_reading(o, row, np.zeros(STATES))
            left = _pose_difference(value, zero)
            H = _slopes(
                lambda x, row=row: _pose_difference(pose_reading(o, row, x), pose_reading(o, row, np.zeros(STATES)))
            )
            R = np.repeat([PLACE**2, ATTITUDE**2], 3)
        else:
            left = _in_base(o, value) - _in_base(o, imu_reading(o, row, np.zeros(STATES)))
            H = _slopes(lambda x, row=row: _in_base(o, imu_reading(o, row, x)))
            fast = o.process.ripple * SPEED_MPS
            jerk = 2.0 * fast**2 * (1.0 - math.exp(-o.imu.over / o.process.fast_time)) / o.imu.over**2
            # what is only checked says nothing
            R = np.array([FORCE**2 + jerk, FORCE**2 + jerk, np.inf, np.inf, np.inf, RATE_NOISE**2])
        A = H @ back @ maps[node]
        information += A.T @ np.diag(1.0 / R) @ A
        right += A.T @ (left / R)
    covariance = np.linalg.inv(information)
    return maps[-1] @ (covariance @ right), maps[-1] @ covariance @ maps[-1].T


def _slopes(function):
    return np.column_stack([(function(step) - function(-step)) / 2e-6 for step in 1e-6 * np.eye(STATES)])


def _pose_difference(value, zero):
    turned = (Rotation.from_quat(value[3:]) * Rotation.from_quat(zero[3:]).inv()).as_rotvec()
    return np.concatenate([value[:3] - zero[:3], turned])


def _in_base(o, value):
    return np.concatenate([o.imu.turn @ value[:3], o.imu.turn @ value[3:]])


def _backwards(behind):
    """The deviation that much earlier, to first order; speeds and tilt as they are later."""
    back = np.eye(STATES)
    ahead, left = row_at(0.0), np.array([-math.sin(0.2), math.cos(0.2)])
    along = np.array([math.cos(0.2), math.sin(0.2)])
    assert ahead[2] < 0.0
    for i in range(2):
        back[X + i, SPEED] -= along[i] * SPEED_MPS * behind
        back[X + i, FAST_SPEED] -= along[i] * behind
        back[X + i, CRAB] -= left[i] * SPEED_MPS * behind
        back[X + i, 3] -= left[i] * SPEED_MPS * behind
    back[3, CURVATURE] -= SPEED_MPS * behind
    back[3, FAST_YAW] -= behind
    return back


def _decayed(o, F):
    """With the ground's part of height and tilt, which is another after a while."""
    for i, place in enumerate((Z, ROLL, PITCH)):
        F[place] *= _kept(o, i)
    return F


def _kept(o, i):
    p = o.process
    return math.exp(-SPEED_MPS * DT / p.uneven_length * (p.uneven[i] / p.apart[i]) ** 2)


def _chance(o):
    """Variances of a step."""
    p, way, out = o.process, SPEED_MPS * DT, np.zeros(STATES)
    fade = math.exp(-2.0 * DT / p.fast_time)
    out[SPEED] = ((p.slip_walk * 0.025) ** 2 + p.speed_walk**2) * way
    out[CURVATURE], out[CRAB] = p.curvature_walk**2 * way, p.crab_walk**2 * way
    out[FAST_SPEED] = (p.ripple * SPEED_MPS) ** 2 * (1.0 - fade)
    out[FAST_YAW] = (p.ripple * SPEED_MPS / p.half_track) ** 2 * (1.0 - fade)
    out[BIAS_YAW], out[[BIAS_X, BIAS_Y]] = p.bias * p.bias_walk * DT
    for i, place in enumerate((Z, ROLL, PITCH)):
        out[place] = p.apart[i] ** 2 * (1.0 - _kept(o, i) ** 2)
    return out


def test_a_joint_that_is_measured_often_is_the_mean_of_its_readings():
    from models.observer.model import JOINTS
    from tests.models.observer.true_readings import joints_reading

    still = process(uneven=np.zeros(6))
    tested = Filter(observer(process=still))
    o, random, joint = tested.observer, np.random.default_rng(1), np.array([1e-3, -2e-3, 5e-4])
    values = []
    for _ in range(50):
        t_ns = tested.t_ns + STEP_NS
        row = row_at(t_ns * 1e-9)
        value = joints_reading(o, row, joint) + 1e-3 * random.standard_normal(3)
        values.append((o.joints.sign * (value - o.joints.zero))[np.argsort(o.joints.joint)] - row[ANGLES:])
        tested.take(t_ns, JOINTS, value)
        tested.step()
    prior = 1.0 / still.apart[3:] ** 2
    expected = np.sum(values, axis=0) / 1e-6 / (prior + 50 / 1e-6)
    np.testing.assert_allclose(o.now.joint, expected, rtol=1e-9)
    np.testing.assert_allclose(o.now.joint_variance, 1.0 / (prior + 50 / 1e-6), rtol=1e-9)
