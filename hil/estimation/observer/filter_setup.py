"""From the config to the filter's models: instruments with their noise, and what is uncertain about the twin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from scipy.spatial.transform import Rotation

from hil.config.rig import Rig
from hil.config.schema.instruments import EstimationConfig, ImuConfig, JointsConfig, MotionConfig
from hil.messages.layout import INSTRUMENTS
from hil.signals.alignment import innovation_bound, rotation, unit
from models.kernels.compiled import FloatArray
from models.observer.model import (
    BIAS_X,
    BIAS_Y,
    BIAS_YAW,
    CRAB,
    CURVATURE,
    DISTANCE,
    HEADING,
    NOTHING,
    POSE,
    POSITION,
    SPEED,
    STATES,
    ImuModel,
    JointsModel,
    MotionModel,
    Observer,
    ProcessModel,
    SourceLimits,
    X,
    Y,
    make_observer,
)
from models.plant import RigParameters
from models.rover.rover import Rover
from models.statics.balance import suspension_joints

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
    # axis of the base (up, x, y), -1: none; place in v of a joint, -1: none
    motions = [(0, -1), (1, -1), (2, -1), *((-1, angle) for angle in angles)]
    moved = [_raised(rover, q, 1e-6, axis, angle) for axis, angle in motions]
    matrix = np.array([[one[wheel] for wheel in range(wheels)] for one in moved])
    # the weight's generalised force on the same motions: of the base in its own axes
    force = np.concatenate([[weight[:3] @ axes[2]], weight[3:6] @ axes[:2].T @ np.eye(2), weight[angles]])
    loads: FloatArray = np.linalg.solve(matrix, force)
    return loads


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


# A step of the filter [ns].
STEP_NS = 5_000_000
# Slip over that of the nominal soil: 1 by the slip modulus, and by its stiffness k and the mass m with the compaction
# resistance over the weight, which is as (m/k)^0.4 on sand (Petersen 2012 (4.30), exponent 0.75). Sinkage: (m/k)^0.8.
SLIP_BY_RESISTANCE, SINKAGE_BY_LOAD = 0.4, 0.8
# Measured on the simulated rig at a steady speed: what is left of the speed besides its mean is less than this share.
RIPPLE = 5e-4
SPEED_WALK = 2e-4  # of the relative speed error [1/sqrt(m)]
PULLED_WALK = 0.3  # the same where something pulls and nobody measures how hard
WALK = 0.05  # of curvature and crab angle, over their standard deviations [1/sqrt(m)]
FAST_S, FOLLOW_S = 0.1, 0.1  # of the fast parts; by which measured wheel speeds are late
UNEVEN_M = 0.3  # way on which the ground under a wheel is another
BIAS_WALK = 1e-3  # [1/s]
# What an impact leaves uncertain: fast speed over the speed, tilt over the speed [rad s/m], and for how long.
SHAKEN, SHAKEN_TILT, SHAKEN_S = 0.3, 0.2, 0.3
# Of the running mean of an instrument's innovations: the share of a new one, the bound over that of a filter whose
# noises are right, and how many of its standard deviations more. Noise that is half as large again is within.
SHARE, MOST_MEAN, DEVIATIONS = 0.02, 2.5, 5.0
# Of the innovations of one value with their sign, in their own standard deviations: the mean that is still believed.
MOST_SIGNED = 1.0
IN_ROW = 10
DRIVES_MPS = 0.005


def turn(turns_deg: Sequence[float]) -> FloatArray:
    """Matrix (3, 3) of roll, pitch, yaw [deg]: outer axes from inner ones."""
    return np.ascontiguousarray(rotation(turns_deg).as_matrix())


def make_filter(rig: Rig, wheel_place: FloatArray, sinkage_m: float) -> Observer:
    """The filter of a rig.

    Args:
        rig: with instruments of motion.
        wheel_place: (wheels, 3) wheel centres, base axes [m].
        sinkage_m: of the wheels at rest, their mean.
    """
    config = rig.config
    process = process_model(rig, config.estimation, config.imu, wheel_place, sinkage_m)
    delay_ms = max(section.delay_ms for section in config.instruments.values())
    step_s = max(STEP_NS * 1e-9, 1.0 / rig.rate_hz)
    nodes = math.ceil((2.0 * delay_ms * 1e-3 + 0.1) / step_s) + 2
    apart = np.zeros(STATES)
    estimation = config.estimation
    apart[[X, Y]], apart[HEADING] = estimation.start_m, math.radians(estimation.heading_deg)
    # without a load cell nothing says how fast a pulled rover slips
    apart[SPEED] = 1.0 if config.pull_unknown else estimation.speed
    apart[CURVATURE], apart[CRAB] = estimation.curvature_radpm, math.radians(estimation.crab_deg)
    if config.imu is not None:
        apart[BIAS_YAW], apart[[BIAS_X, BIAS_Y]] = config.imu.bias_radps, config.imu.bias_mps2
    return make_observer(
        process,
        motion_model(config.motion),
        imu_model(config.imu, rig.nominal.ground.gravity),
        joints_model(rig, config.joints),
        source_limits(rig),
        apart=apart,
        nodes=nodes,
    )


def process_model(
    rig: Rig, estimation: EstimationConfig, imu: ImuConfig | None, wheel_place: FloatArray, sinkage_m: float
) -> ProcessModel:
    """How the deviation from the twin changes."""
    x, y = wheel_place[:, 0], wheel_place[:, 1]
    half_track, half_base = max(float(np.ptp(y)), 0.1) / 2.0, max(float(np.ptp(x)), 0.1) / 2.0
    pair = math.sqrt(2.0)
    across = np.array(
        [1.0 / math.sqrt(len(x)), pair / (2.0 * half_track), pair / (2.0 * half_base)]
        + [pair / half_base] * len(rig.layout.turning)
    )
    uneven = estimation.unevenness_m * across
    deeper = sinkage_m * SINKAGE_BY_LOAD
    sunk = np.array([deeper * math.hypot(estimation.mass, estimation.soil), *(deeper * estimation.mass * across[1:])])
    bias = np.zeros(2) if imu is None else np.array([imu.bias_radps**2, imu.bias_mps2**2])
    return ProcessModel(
        slip=math.hypot(estimation.soil, SLIP_BY_RESISTANCE * estimation.soil, SLIP_BY_RESISTANCE * estimation.mass),
        slip_walk=estimation.soil_along,
        speed_walk=PULLED_WALK if rig.config.pull_unknown else SPEED_WALK,
        follow=estimation.drives * FOLLOW_S,
        ripple=RIPPLE,
        half_track=half_track,
        fast_time=FAST_S,
        curvature_walk=WALK * estimation.curvature_radpm,
        crab_walk=WALK * math.radians(estimation.crab_deg),
        uneven_length=UNEVEN_M,
        uneven=uneven,
        apart=np.maximum(np.hypot(uneven, sunk), 1e-6),
        bias_walk=BIAS_WALK,
        bias=bias,
        shaken=SHAKEN,
        shaken_tilt=SHAKEN_TILT,
        shaken_time=SHAKEN_S,
    )


def motion_model(motion: MotionConfig | None) -> MotionModel:
    """The instrument outside the rover; None: there is none."""
    kinds = {"distance": DISTANCE, "position": POSITION, "pose": POSE}
    section = MotionConfig() if motion is None else motion
    return MotionModel(
        kind=NOTHING if motion is None else kinds[section.measures],
        point=np.array(section.point_m),
        origin=np.array(section.origin_m),
        turn=turn(section.turn_deg),
        body_turn=turn(section.body_turn_deg),
        direction=unit(section.direction),
        within=np.array(section.room_m),
        place_variance=section.noise_m**2,
        turn_variance=math.radians(section.noise_deg) ** 2,
    )


def imu_model(imu: ImuConfig | None, gravity: float) -> ImuModel:
    """The inertial measurement unit; without one these values are not used."""
    section = ImuConfig() if imu is None else imu
    return ImuModel(
        turn=turn(section.turn_deg),
        point=np.array(section.point_m),
        force_variance=section.noise_mps2**2,
        rate_variance=section.noise_radps**2,
        force_bias_variance=section.bias_mps2**2,
        rate_bias_variance=section.bias_radps**2,
        over=1.0 / section.rate_hz,
        gravity=gravity,
    )


def joints_model(rig: Rig, joints: JointsConfig | None) -> JointsModel:
    """The joints' encoders, which a reading has first; without any the arrays are empty."""
    encoders = [one for one in rig.config.encoders if one.joint in rig.layout.turning]
    return JointsModel(
        joint=np.array([rig.layout.turning.index(one.joint) for one in encoders], dtype=np.int64),
        zero=np.radians([one.zero_deg for one in encoders], dtype=np.float64),
        sign=np.array([-1.0 if one.reversed else 1.0 for one in encoders]),
        variance=0.0 if joints is None else math.radians(joints.noise_deg) ** 2,
    )


def source_limits(rig: Rig) -> SourceLimits:
    """When a reading is rejected, and when its instrument is left out."""
    values = np.arange(1, max(len(rig.layout.joints_channels), 7) + 1)
    most = values * [innovation_bound(count) for count in values.tolist()]
    # a running mean with weights (1 - a)^k a of values with mean 1 and variance 2/n
    deviation = np.sqrt(2.0 / values * SHARE / (2.0 - SHARE))
    sections = rig.config.instruments
    equal = [float(sections[role].frozen_readings) if role in sections else 0.0 for role in INSTRUMENTS]
    return SourceLimits(
        np.concatenate([[0.0], most]),
        np.concatenate([[0.0], MOST_MEAN + DEVIATIONS * deviation]),
        MOST_SIGNED + DEVIATIONS * math.sqrt(SHARE / (2.0 - SHARE)),
        SHARE,
        float(IN_ROW),
        np.array(equal),
        DRIVES_MPS,
    )
