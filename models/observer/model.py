"""What the filter of the deviation is made of: its state, the constants of its models, and the ring of past steps.

The deviation is that of the true rover from its model, the twin: the place and the heading of the base, the relative
error of the speed, the error of the curvature of its path, the tilt of the base, the offsets of an inertial unit. The
deviation of each joint's angle is a separate filter, of one number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, IntArray

# Places in the state. X, Y, Z: of the base [m], world axes. HEADING [rad]. SPEED: relative error of the twin's forward
# speed. FAST_SPEED [m/s] and FAST_YAW [rad/s]: what changes within tenths of a second. CURVATURE [rad/m]. CRAB: angle
# between path and heading [rad]. ROLL, PITCH [rad]: about the base's axes. BIAS_*: offsets of an inertial unit about z
# [rad/s], and along x and y of the base [m/s^2].
(
    X, Y, Z, HEADING, SPEED, FAST_SPEED, CURVATURE, FAST_YAW, CRAB, ROLL, PITCH, BIAS_YAW, BIAS_X, BIAS_Y,
) = range(14)  # fmt: skip
STATES = 14
# Places in a row of the twin: position of the base [m], its quaternion, linear and angular velocity in base axes; mean
# slip of the wheels and the largest so far; speed at an impact that still shakes the rover [m/s]; then joint angles.
PLACE, TURN, VELOCITY, RATE, SLIP, LARGEST_SLIP, SHAKEN, ANGLES = 0, 3, 7, 10, 13, 14, 15, 16
# Instruments by their place; the order of hil.messages.layout.INSTRUMENTS.
MOTION, IMU, JOINTS = 0, 1, 2
ROLES = 3
# What a motion instrument measures.
NOTHING, DISTANCE, POSITION, POSE = 0, 1, 2, 3
# Places in the state of a source: rejected in a row; running mean of the normalised innovation; numbers of readings
# used and rejected; why it is left out, 0: it is not; equal readings in a row; innovation and fate of the newest; then
# running means of the normalised innovations of its first values, each with its sign.
IN_ROW, MEAN, USED, REJECTED, LEFT_OUT, EQUAL, NEWEST, FATE, SIGNED = range(9)
MOST_SIGNED = 6
SOURCE = SIGNED + MOST_SIGNED
NOT_YET, WAS_USED, WAS_REJECTED = 0.0, 1.0, 2.0
BY_MEAN, BY_ROW, FROZEN, ONE_SIDED = 1.0, 2.0, 3.0, 4.0  # why a source is left out
# Readings of one step that are kept; an imu of 1 kHz has 5 in 5 ms, and two others of 500 Hz 3 each.
MOST_READINGS = 12
# Places in Ring.mark: newest node, number of nodes, newest nodes whose readings are to be applied again, readings that
# came too late for the ring or for which a step had no room.
HEAD, NODES, AGAIN, DROPPED = range(4)


class ProcessModel(NamedTuple):
    """How the deviation changes; nothing of it does while the twin stands.

    Attributes:
        slip: relative error of the twin's slip, one standard deviation.
        slip_walk: change of that error along the path [1/sqrt(m)].
        speed_walk: of the relative speed error, whatever the slip [1/sqrt(m)].
        follow: the fast part of the speed is this times the twin's acceleration [s].
        ripple: the fast part of the speed, relative to the speed.
        half_track: [m] by which a difference of speeds becomes a rate of turn.
        fast_time: of the fast parts [s].
        curvature_walk: [rad/m/sqrt(m)].
        crab_walk: [rad/sqrt(m)].
        uneven_length: distance after which the ground has another height [m].
        uneven: (3 + joints,) standard deviation of Z [m], ROLL, PITCH and each joint [rad] by uneven ground.
        apart: (3 + joints,) of the same by all that is uncertain.
        bias_walk: of the offsets, per second and relative to their variance [1/s].
        bias: variances of BIAS_YAW and of BIAS_X and BIAS_Y.
        shaken: fast speed after an impact, relative to the speed at the impact.
        shaken_tilt: [rad s/m] tilt and joint angles after an impact over that speed.
        shaken_time: in which both fade [s].
    """

    slip: float
    slip_walk: float
    speed_walk: float
    follow: float
    ripple: float
    half_track: float
    fast_time: float
    curvature_walk: float
    crab_walk: float
    uneven_length: float
    uneven: FloatArray
    apart: FloatArray
    bias_walk: float
    bias: FloatArray
    shaken: float
    shaken_tilt: float
    shaken_time: float


class MotionModel(NamedTuple):
    """The instrument outside the rover.

    Attributes:
        kind: NOTHING, DISTANCE, POSITION or POSE.
        point: (3,) measured, base axes [m].
        origin: (3,) of the instrument's axes in the world [m].
        turn: (3, 3) world axes from those of the instrument.
        body_turn: (3, 3) base axes from those of the measured body.
        direction: (3,) unit vector on which a distance grows, world axes.
        within: (3, 2) where the measured point can be, world axes, from and to [m].
        place_variance: [m^2] of each coordinate.
        turn_variance: [rad^2] about each axis.
    """

    kind: int
    point: FloatArray
    origin: FloatArray
    turn: FloatArray
    body_turn: FloatArray
    direction: FloatArray
    within: FloatArray
    place_variance: float
    turn_variance: float


class ImuModel(NamedTuple):
    """The inertial measurement unit.

    Attributes:
        turn: (3, 3) base axes from those of the unit.
        point: (3,) place, base axes [m].
        force_variance: [(m/s^2)^2] of each specific force.
        rate_variance: [(rad/s)^2].
        force_bias_variance, rate_bias_variance: of the offsets of the axes that are only checked.
        over: time over which a force is a mean [s].
        gravity: [m/s^2], downwards.
    """

    turn: FloatArray
    point: FloatArray
    force_variance: float
    rate_variance: float
    force_bias_variance: float
    rate_bias_variance: float
    over: float
    gravity: float


class JointsModel(NamedTuple):
    """The joints' encoders.

    Attributes:
        joint: (encoders,) place of each encoder's joint among those of a row.
        zero: (encoders,) reading at angle 0 [rad].
        sign: (encoders,) 1, or -1 where the reading falls as the angle grows.
        variance: [rad^2].
    """

    joint: IntArray
    zero: FloatArray
    sign: FloatArray
    variance: float


class SourceLimits(NamedTuple):
    """When a source is not believed.

    Attributes:
        most: (channels + 1,) largest squared normalised innovation of a reading with so many values.
        most_mean: (channels + 1,) largest running mean of it over its degrees of freedom.
        most_signed: largest running mean of a value's innovation over its standard deviation, either sign.
        share: of a new reading in the running means.
        in_row: rejected readings in a row after which a source is left out.
        equal: (ROLES,) equal readings in a row after which it is, while the rover drives; 0: not checked.
        drives: speed above which it drives [m/s].
    """

    most: FloatArray
    most_mean: FloatArray
    most_signed: float
    share: float
    in_row: float
    equal: FloatArray
    drives: float


class Deviation(NamedTuple):
    """State of the filter.

    Attributes:
        x: (STATES,).
        P: (STATES, STATES) its covariance.
        joint: (joints,) deviation of each joint's angle [rad].
        joint_variance: (joints,) [rad^2].
        source: (ROLES, SOURCE) of each instrument.
        last: (ROLES, channels) values of its newest reading.
    """

    x: FloatArray
    P: FloatArray
    joint: FloatArray
    joint_variance: FloatArray
    source: FloatArray
    last: FloatArray


class NodeHistory(NamedTuple):
    """The newest steps (nodes, ...): each node ends one.

    Attributes:
        t_ns: time of each node [ns].
        twin: (nodes, ANGLES + joints) rows of the twin.
        before: deviation at each node before the readings of its step, with arrays of one axis more.
        filled: (nodes,) number of readings of the step that ends there.
        read_ns: (nodes, MOST_READINGS) times of the readings, in order [ns].
        role: (nodes, MOST_READINGS) whose they are.
        value: (nodes, MOST_READINGS, channels) what they are.
        mark: (4,) HEAD, NODES, AGAIN, DROPPED.
    """

    t_ns: IntArray
    twin: FloatArray
    before: Deviation
    filled: IntArray
    read_ns: IntArray
    role: IntArray
    value: FloatArray
    mark: IntArray


class Scratch(NamedTuple):
    """Of one reading.

    Attributes:
        at: (ANGLES + joints,) the twin at its time.
        base: (3, 3) world axes from base axes, corrected.
        expected: (3, 3) attitude.
        arm: (3,) of the measured point, world axes.
        H: (7, STATES) rows; left, R: (channels,) residuals and variances.
        gain: (STATES,).
        x, P, joint, joint_variance: kept while a reading may yet be rejected.
        x0: (STATES,) where the rows are linearised.
        signed: (channels,) normalised innovations.
    """

    at: FloatArray
    base: FloatArray
    expected: FloatArray
    arm: FloatArray
    H: FloatArray
    left: FloatArray
    R: FloatArray
    gain: FloatArray
    x: FloatArray
    P: FloatArray
    joint: FloatArray
    joint_variance: FloatArray
    x0: FloatArray
    signed: FloatArray


class Observer(NamedTuple):
    """The whole filter; `start` (STATES,) holds the variances of the deviation at the start."""

    process: ProcessModel
    motion: MotionModel
    imu: ImuModel
    joints: JointsModel
    limits: SourceLimits
    ring: NodeHistory
    now: Deviation
    scratch: Scratch
    start: FloatArray


def make_observer(
    process: ProcessModel,
    motion: MotionModel,
    imu: ImuModel,
    joints: JointsModel,
    limits: SourceLimits,
    *,
    apart: FloatArray,
    nodes: int,
) -> Observer:
    """Allocate a filter before its first step.

    Args:
        process: how the deviation changes.
        motion: the instrument outside the rover.
        imu: the inertial measurement unit.
        joints: the joints' encoders.
        limits: when a source is not believed.
        apart: (STATES,) standard deviation of the deviation at the start; of Z, ROLL and PITCH those of `process`.
        nodes: steps that are kept.
    """
    count, channels = process.apart.size - 3, max(7, joints.joint.size)
    now = _deviation(count, channels)
    now.P[np.diag_indices(STATES)] = apart**2
    for i, place in enumerate((Z, ROLL, PITCH)):
        now.P[place, place] = process.apart[i] ** 2
    now.joint_variance[:] = process.apart[3:] ** 2
    now.source[:, MEAN] = 1.0
    now.source[:, NEWEST] = np.nan
    ring = NodeHistory(
        np.zeros(nodes, np.int64),
        np.zeros((nodes, ANGLES + count)),
        _deviation(count, channels, nodes),
        np.zeros(nodes, np.int64),
        np.zeros((nodes, MOST_READINGS), np.int64),
        np.zeros((nodes, MOST_READINGS), np.int64),
        np.zeros((nodes, MOST_READINGS, channels)),
        np.zeros(4, np.int64),
    )
    scratch = Scratch(
        np.zeros(ANGLES + count), np.eye(3), np.eye(3), np.zeros(3), np.zeros((7, STATES)), np.zeros(channels),
        np.zeros(channels), np.zeros(STATES), np.zeros(STATES), np.zeros((STATES, STATES)), np.zeros(count),
        np.zeros(count), np.zeros(STATES), np.zeros(channels),
    )  # fmt: skip
    return Observer(process, motion, imu, joints, limits, ring, now, scratch, np.diag(now.P).copy())


def _deviation(joints: int, channels: int, *nodes: int) -> Deviation:
    return Deviation(
        np.zeros((*nodes, STATES)),
        np.zeros((*nodes, STATES, STATES)),
        np.zeros((*nodes, joints)),
        np.zeros((*nodes, joints)),
        np.zeros((*nodes, ROLES, SOURCE)),
        np.full((*nodes, ROLES, channels), np.nan),
    )
