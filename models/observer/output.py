"""What is asked of the filter in each tick: the twin's values, corrected, each with its standard deviation."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.actuators.servo import JointServos
from models.impact import pair_energy
from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.observer.model import (
    AGAIN,
    ANGLES,
    CRAB,
    CURVATURE,
    FAST_SPEED,
    FAST_YAW,
    HEAD,
    HEADING,
    LARGEST_SLIP,
    NODES,
    PITCH,
    PLACE,
    ROLL,
    SHAKEN,
    SLIP,
    SPEED,
    STATES,
    TURN,
    VELOCITY,
    Observer,
    X,
    Z,
)
from models.observer.ring import begin, close_step, refresh, shake, shaken_after, take_reading
from models.observer.rows import turn_base
from models.observer.step import move
from models.rover.dynamics import Workspace
from models.rover.reduction import Chain
from models.vehicle.model import VehicleState

# Places in Outputs.values and Outputs.deviations: speed [m/s], rate of turn [rad/s] and distance [m] of the base, gap
# [m], T_c [J], time to impact [s]; then of `values` the pose (7) and gravity's direction (3), of `deviations` the
# position [m] and the rotation about the base's axes [rad] (6); then the slip, sinkage and load of each wheel and the
# angle of each joint.
SPEED_OUT, SPIN_OUT, WAY, GAP, ENERGY, TIME_LEFT, POSE_OUT, GRAVITY_OUT, VALUES_BY_WHEEL = 0, 1, 2, 3, 4, 5, 6, 13, 16
DEVIATIONS_BY_WHEEL = 12
# Places in Outputs.kept: speed and time of the last call, time and speed of an impact.
SPEED_THEN, THEN_NS, IMPACT_NS, IMPACT_SPEED = range(4)


class OutputModel(NamedTuple):
    """What the outputs need in addition to the filter.

    Attributes:
        step_ns: a step of the filter is at least so long [ns].
        angle: of the obstacle [rad]; NaN: there is none.
        wheel_place: (wheels, 3) wheel centres, base axes [m].
        slip_speed: below which slip is read against this speed [m/s].
        joint_place: (joints,) place of each joint's angle in the configuration.
        load_slopes: (wheels, 2 + joints) loads by roll, by pitch [N/rad] and by each joint's angle [N/rad].
        load_variance: (wheels,) of the loads by what the twin does not know [N^2].
        sinkage_share: of the deviation of the height that is sinkage, and not the ground's level.
        sinkage_variance: left if the height is known [m^2].
        energy_error: relative standard deviation of T_c by the masses.
        place_variance: offset of a measured position that nobody sees [m^2].
        joint_variance: of a measured joint angle, likewise [rad^2].
        obstacle_variance: place of the obstacle [m^2].
    """

    step_ns: int
    angle: float
    wheel_place: FloatArray
    slip_speed: float
    joint_place: IntArray
    load_slopes: FloatArray
    load_variance: FloatArray
    sinkage_share: float
    sinkage_variance: float
    energy_error: float
    place_variance: float
    joint_variance: float
    obstacle_variance: float


class _Outputs(NamedTuple):
    """Filter and twin, scratch, and the results.

    Attributes:
        observer: the filter.
        model: constants of the outputs.
        chain: the rover.
        state: of the twin.
        work: scratch of the chain.
        rows: (2, speeds) approach of the front wheels.
        q, v: corrected configuration and speeds.
        row: (ANGLES + joints,) of the twin.
        x: (STATES,) deviation at the tick.
        h: (3, STATES) scratch.
        reading: (ROLES, channels) of each instrument the reading to be taken; what it does not measure stays 0.
        kept: see the places above.
        values, deviations: see the places above.
        servos: of the twin, or None.
    """

    observer: Observer
    model: OutputModel
    chain: Chain
    state: VehicleState
    work: Workspace
    rows: FloatArray
    q: FloatArray
    v: FloatArray
    row: FloatArray
    x: FloatArray
    h: FloatArray
    reading: FloatArray
    kept: FloatArray
    values: FloatArray
    deviations: FloatArray
    servos: JointServos | None = None


def make_outputs(
    observer: Observer,
    model: OutputModel,
    chain: Chain,
    state: VehicleState,
    work: Workspace,
    servos: JointServos | None = None,
) -> _Outputs:
    """Allocate the results of a filter of this state of the twin."""
    wheels, joints = model.wheel_place.shape[0], model.joint_place.size
    kept = np.array([0.0, -1.0, -1.0, 0.0])
    return _Outputs(
        observer, model, chain, state, work, np.zeros((2, state.v.size)), np.zeros(state.q.size),
        np.zeros(state.v.size), np.zeros(ANGLES + joints), np.zeros(STATES), np.zeros((3, STATES)),
        np.zeros(observer.now.last.shape), kept, np.zeros(VALUES_BY_WHEEL + 3 * wheels + joints),
        np.zeros(DEVIATIONS_BY_WHEEL + 3 * wheels + joints), servos,
    )  # fmt: skip


@kernel
def put_reading(bound: BoundArguments[_Outputs], t_ns: int, role: int) -> None:
    """Put the reading of an instrument into the step of its time."""
    outputs = unpack(bound)
    take_reading(outputs.observer, t_ns, role, outputs.reading[role])


@kernel
def note_impact(bound: BoundArguments[_Outputs], t_ns: int) -> None:
    """The rover has hit something at that time."""
    outputs = unpack(bound)
    o, kept = outputs.observer, outputs.kept
    kept[IMPACT_NS], kept[IMPACT_SPEED] = t_ns, kept[SPEED_THEN]
    shake(o, t_ns, kept[IMPACT_SPEED])


@kernel
def observe(bound: BoundArguments[_Outputs], t_ns: int) -> bool:
    """Bring the filter up to the twin's time, and correct the twin's values of now.

    Returns:
        Whether the filter itself is another than before: a step has ended, or readings have come.
    """
    outputs = unpack(bound)
    o, model, row, kept = outputs.observer, outputs.model, outputs.row, outputs.kept
    ring = o.ring
    _fill_row(outputs, t_ns)
    changed = ring.mark[AGAIN] > 0
    if ring.mark[NODES] == 0:
        begin(o, t_ns, row)
        kept[THEN_NS], changed = t_ns, True
    elif t_ns - ring.t_ns[ring.mark[HEAD]] >= model.step_ns:
        close_step(o, t_ns, row)
        changed = True
    else:
        refresh(o)
    x, head = outputs.x, ring.mark[HEAD]
    for i in range(STATES):
        x[i] = o.now.x[i]
    since = (t_ns - ring.t_ns[head]) * 1e-9
    if since > 0.0:
        move(x, ring.twin[head], row, since)
    _correct(outputs, (t_ns - kept[THEN_NS]) * 1e-9)
    kept[THEN_NS] = t_ns
    return changed


@kernel
def _fill_row(outputs: _Outputs, t_ns: int) -> None:
    """The twin as it is now."""
    o, state, row, kept = outputs.observer, outputs.state, outputs.row, outputs.kept
    for i in range(7):
        row[PLACE + i] = state.q[i]
    for i in range(6):
        row[VELOCITY + i] = state.v[i]
    slip = 0.0
    for one in state.ground.slip:
        slip += one / state.ground.slip.size
    row[SLIP] = abs(slip) if abs(slip) <= 1.0 else 1.0
    row[LARGEST_SLIP] = max(row[SLIP], o.ring.twin[o.ring.mark[HEAD], LARGEST_SLIP])
    row[SHAKEN] = 0.0
    if kept[IMPACT_NS] >= 0.0:
        row[SHAKEN] = shaken_after(o, t_ns - int(kept[IMPACT_NS]), kept[IMPACT_SPEED])
    for i in range(outputs.model.joint_place.size):
        row[ANGLES + i] = state.q[outputs.model.joint_place[i]]


@kernel
def _correct(outputs: _Outputs, span: float) -> None:
    o, model, state, row, x = outputs.observer, outputs.model, outputs.state, outputs.row, outputs.x
    q, v, out, kept, P = outputs.q, outputs.v, outputs.values, outputs.kept, o.now.P
    for i in range(q.size):
        q[i] = state.q[i]
    for i in range(v.size):
        v[i] = state.v[i]
    for i in range(3):
        q[i] += x[X + i]
    base = o.scratch.base
    turn_base(row, x[HEADING], x[ROLL], x[PITCH], base)
    _turned(row, x, q)
    speed = row[VELOCITY]
    v[0] = speed * (1.0 + x[SPEED]) + x[FAST_SPEED]
    v[1] += x[CRAB] * speed
    v[5] += x[CURVATURE] * speed * (1.0 + x[SPEED]) + x[FAST_YAW]
    joints, wheels = model.joint_place.size, model.wheel_place.shape[0]
    for i in range(joints):
        q[model.joint_place[i]] += o.now.joint[i]
    out[WAY] += 0.5 * (kept[SPEED_THEN] + v[0]) * span
    kept[SPEED_THEN] = out[SPEED_OUT] = v[0]
    out[SPIN_OUT] = v[5]
    for i in range(7):
        out[POSE_OUT + i] = q[i]
    for i in range(3):
        out[GRAVITY_OUT + i] = -base[2, i]
    _set_rows(outputs)
    h, sd = outputs.h, outputs.deviations
    sd[SPEED_OUT], sd[SPIN_OUT] = math.sqrt(_variance(P, h[0])), math.sqrt(_variance(P, h[1]))
    sd[WAY] = math.sqrt(P[X, X] + model.place_variance)
    for i in range(3):
        sd[POSE_OUT + i] = math.sqrt(P[X + i, X + i] + model.place_variance)
    sd[POSE_OUT + 3], sd[POSE_OUT + 4] = math.sqrt(P[ROLL, ROLL]), math.sqrt(P[PITCH, PITCH])
    sd[POSE_OUT + 5] = math.sqrt(P[HEADING, HEADING])
    _correct_wheels(outputs)
    first = VALUES_BY_WHEEL + 3 * wheels
    for i in range(joints):
        out[first + i] = q[model.joint_place[i]]
        sd[DEVIATIONS_BY_WHEEL + 3 * wheels + i] = math.sqrt(o.now.joint_variance[i] + model.joint_variance)
    if model.angle == model.angle:
        _look_ahead(outputs)
    else:
        out[GAP] = out[ENERGY] = sd[GAP] = sd[ENERGY] = np.nan
        out[TIME_LEFT] = sd[TIME_LEFT] = np.inf


@kernel
def _turned(row: FloatArray, x: FloatArray, q: FloatArray) -> None:
    """Quaternion of the true base: of the heading, times that of the twin, times that of roll and pitch."""
    a, b, c, d = row[TURN], row[TURN + 1], row[TURN + 2], row[TURN + 3]
    s, w = math.sin(0.5 * x[HEADING]), math.cos(0.5 * x[HEADING])
    a, b, c, d = w * a - s * b, w * b + s * a, w * c + s * d, w * d - s * c
    half = 0.5 * math.sqrt(x[ROLL] * x[ROLL] + x[PITCH] * x[PITCH])
    scale = 0.5 * (math.sin(half) / half if half > 1e-9 else 1.0)
    e, f, g = scale * x[ROLL], scale * x[PITCH], math.cos(half)
    q[3] = d * e + a * g - c * f
    q[4] = d * f + b * g + c * e
    q[5] = c * g + a * f - b * e
    q[6] = d * g - a * e - b * f


@kernel
def _set_rows(outputs: _Outputs) -> None:
    """Rows of speed (0) and rate of turn (1) of the base."""
    row, x, h = outputs.row, outputs.x, outputs.h
    for i in range(STATES):
        h[0, i] = h[1, i] = 0.0
    speed = row[VELOCITY]
    h[0, SPEED], h[0, FAST_SPEED] = speed, 1.0
    h[1, CURVATURE], h[1, SPEED], h[1, FAST_YAW] = speed * (1.0 + x[SPEED]), speed * x[CURVATURE], 1.0


@kernel
def _variance(P: FloatArray, h: FloatArray) -> float:
    total = 0.0
    for i in range(STATES):
        if h[i] != 0.0:
            for j in range(STATES):
                total += h[i] * P[i, j] * h[j]
    return max(total, 0.0)


@kernel
def _slip(rolling: float, forward: float, slowest: float) -> float:
    """As models.wheel.traction.slip_and_slide."""
    total, excess = rolling + forward, rolling - forward
    return excess / (0.5 * (math.sqrt(total * total + 4.0 * slowest * slowest) + abs(excess)))


@kernel
def _correct_wheels(outputs: _Outputs) -> None:
    """Slip, sinkage and load of each wheel: the twin's, and what the deviation changes of them."""
    o, model, state, x, h = outputs.observer, outputs.model, outputs.state, outputs.x, outputs.h
    out, sd, chain, P, v = outputs.values, outputs.deviations, outputs.chain, o.now.P, outputs.v
    wheels, joints = model.wheel_place.shape[0], model.joint_place.size
    for wheel in range(wheels):
        across = model.wheel_place[wheel, 1]
        rolling = chain.wheel_radius[wheel] * state.v[5 + chain.wheel_body[wheel]]
        forward, true = state.v[0] - across * state.v[5], v[0] - across * v[5]
        slip = _slip(rolling, true, model.slip_speed)
        slope = (_slip(rolling, true + 1e-6, model.slip_speed) - slip) * 1e6
        out[VALUES_BY_WHEEL + wheel] = state.ground.slip[wheel] + slip - _slip(rolling, forward, model.slip_speed)
        for i in range(STATES):
            h[2, i] = slope * (h[0, i] - across * h[1, i])
        sd[DEVIATIONS_BY_WHEEL + wheel] = math.sqrt(_variance(P, h[2]))
        deep, load = VALUES_BY_WHEEL + wheels + wheel, VALUES_BY_WHEEL + 2 * wheels + wheel
        # the centre of a wheel is lower by what its rover is, and by its tilt
        lower = model.sinkage_share * (x[Z] + across * x[ROLL] - model.wheel_place[wheel, 0] * x[PITCH])
        sunk = state.ground.sinkage[wheel]
        out[deep] = max(sunk - lower, 0.0) if sunk > 0.0 else 0.0
        for i in range(STATES):
            h[2, i] = 0.0
        h[2, Z], h[2, ROLL], h[2, PITCH] = 1.0, across, -model.wheel_place[wheel, 0]
        known = model.sinkage_share * model.sinkage_share * (_variance(P, h[2]) + model.place_variance)
        sd[DEVIATIONS_BY_WHEEL + wheels + wheel] = math.sqrt(known + model.sinkage_variance)
        by = model.load_slopes[wheel]
        change = by[0] * x[ROLL] + by[1] * x[PITCH]
        h[2, Z], h[2, ROLL], h[2, PITCH] = 0.0, by[0], by[1]
        variance = model.load_variance[wheel] + _variance(P, h[2])
        for i in range(joints):
            change += by[2 + i] * o.now.joint[i]
            variance += by[2 + i] * by[2 + i] * (o.now.joint_variance[i] + model.joint_variance)
        bears = state.ground.vertical[wheel]
        out[load] = max(bears + change, 0.0) if bears > 0.0 else 0.0
        sd[DEVIATIONS_BY_WHEEL + 2 * wheels + wheel] = math.sqrt(variance)


@kernel
def _look_ahead(outputs: _Outputs) -> None:
    """T_c, gap and time to the impact of the corrected rover."""
    o, model, state, x, h = outputs.observer, outputs.model, outputs.state, outputs.x, outputs.h
    q, v, rows, out, sd, P = outputs.q, outputs.v, outputs.rows, outputs.values, outputs.deviations, o.now.P
    base = o.scratch.base
    out[ENERGY] = pair_energy(outputs.chain, q, v, model.angle, rows, outputs.work, outputs.servos)
    out[GAP], out[TIME_LEFT], sd[GAP], sd[TIME_LEFT] = np.inf, np.inf, 0.0, np.inf
    mean, spread = 0.0, 0.0
    for wheel in range(2):
        row, approach, nearer = rows[wheel], 0.0, 0.0
        for a in range(v.size):
            approach += row[a] * v[a]
        for i in range(STATES):
            h[2, i] = 0.0
        for axis in range(3):
            for b in range(3):
                h[2, X + axis] += row[b] * base[axis, b]
        h[2, ROLL], h[2, PITCH], h[2, HEADING] = row[3], row[4], row[5]
        for i in range(STATES):
            nearer += h[2, i] * x[i]
        for i in range(model.joint_place.size):
            nearer += row[model.joint_place[i] - 1] * o.now.joint[i]
        gap = state.obstacle.gap[wheel] - nearer
        gap_variance = (
            _variance(P, h[2]) + (model.obstacle_variance + model.place_variance) * math.sin(model.angle) ** 2
        )
        for i in range(STATES):
            h[2, i] = row[0] * h[0, i] + row[5] * h[1, i]
        approach_variance = _variance(P, h[2])
        mean, spread = mean + 0.5 * approach, spread + 0.5 * math.sqrt(approach_variance)
        if gap < out[GAP]:
            out[GAP], sd[GAP] = gap, math.sqrt(gap_variance)
        if approach > 1e-6 and max(gap, 0.0) / approach < out[TIME_LEFT]:
            left = max(gap, 0.0) / approach
            out[TIME_LEFT] = left
            sd[TIME_LEFT] = math.sqrt(gap_variance + left * left * approach_variance) / approach
    # T_c is a quadratic form of the approach of both wheels, which is nearly the same
    relative = 2.0 * spread / max(abs(mean), 1e-6)
    sd[ENERGY] = out[ENERGY] * math.sqrt(relative * relative + model.energy_error * model.energy_error)
