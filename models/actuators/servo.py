"""Servos of driven joints: a position loop in a speed limit in a torque limit, a gear with friction, coast or brake.

The loops of a servo, as those of a motor controller in position mode, are a cascade: the error of the angle times a
gain is a speed, limited; the error of that speed times a gain is a torque, limited. Both are taken at the end of a
step, so that a step of any length and gains of any size are stable; the limit is kept for the torque that acts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from models.actuators.drive import friction_damping
from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.dynamics import Workspace
from models.rover.factor import solve
from models.rover.reduction import Chain
from models.rover.rover import Rover

# Torques of the servos at their limits depend on each other; so often they are gone through, or until this share of the
# limit changes.
_SWEEPS, _CLOSE = 60, 1e-10


class Servo(NamedTuple):
    """The servo of one joint. Values are at the joint.

    Of a joint that slides they are m for rad, N for N m, and so on.

    Attributes:
        joint: name of the joint.
        start: angle at the start [rad].
        position_gain: speed over the error of the angle [1/s].
        velocity_gain: torque over the error of the speed [N m s/rad].
        rate: largest speed that it turns at by itself [rad/s].
        torque_limit: of the motor [N m].
        gear_friction: Coulomb friction of the gear [N m].
        friction_speed: [rad/s] below which that friction grows in proportion.
        coast_damping: with the bridge open [N m s/rad].
        brake_damping: with the motor shorted [N m s/rad].
        brakes_on_cut: 1.0 where a cut shorts the motor, 0.0 where it opens the bridge.
    """

    joint: str
    start: float = 0.0
    position_gain: float = 20.0
    velocity_gain: float = 500.0
    rate: float = math.radians(20.0)
    torque_limit: float = 60.0
    gear_friction: float = 2.0
    friction_speed: float = 0.002
    coast_damping: float = 5.0
    brake_damping: float = 500.0
    brakes_on_cut: float = 1.0


def check_servo(servo: Servo) -> None:
    """Raises ValueError with everything that is out of range; limits may be infinite."""
    above, positive = Range(0.0, math.inf, "", open_low=True), Range(0.0, math.inf, "")
    ranges = {
        "start": Range(-2.0 * math.pi, 2.0 * math.pi, "rad"),
        "position_gain": above,
        "rate": above,
        "torque_limit": above,
        "friction_speed": above,
        "brakes_on_cut": Range(0.0, 1.0, ""),
    }
    numbers = servo._asdict()
    owner = f"servo of {numbers.pop('joint')}"
    limits = {"rate", "torque_limit"}
    refuse(
        owner,
        [
            problem(name, value, ranges.get(name, positive))
            for name, value in numbers.items()
            if not (name in limits and value == math.inf)
        ],
    )


class JointServos(NamedTuple):
    """The servos of a rover (servos,); fields as in `Servo`.

    Attributes:
        speed: tree speed of the joint (models.rover.reduction.Chain); its angle is q[speed + 1].
    """

    speed: IntArray
    position_gain: FloatArray
    velocity_gain: FloatArray
    rate: FloatArray
    torque_limit: FloatArray
    gear_friction: FloatArray
    friction_speed: FloatArray
    coast_damping: FloatArray
    brake_damping: FloatArray
    brakes_on_cut: FloatArray


class ServoState(NamedTuple):
    """By servo (servos,): set angle [rad], cut (1.0) or powered (0.0), torque on the joint without the gear's [N m].

    The others are of the newest step: `wished` torque at the speed before it [N m], its slope over the speed
    [N m s/rad], what the torque limit adds [N m], and columns (servos, speeds) of the inverse mass matrix.
    """

    angle: FloatArray
    cut: FloatArray
    torque: FloatArray
    wished: FloatArray
    slope: FloatArray
    added: FloatArray
    column: FloatArray


def make_servos(rover: Rover, servos: Sequence[Servo]) -> JointServos | None:
    """The servos of a rover in the form of kernels; None: it has none.

    Raises:
        ValueError: a joint that does not turn, is coupled, is a wheel's, or has two; a number out of range.
    """
    if not servos:
        return None
    free = [name for name in rover.joint_names if name not in _unservable(rover)]
    for servo in servos:
        check_servo(servo)
        if servo.joint not in free:
            raise ValueError(f"servo of {servo.joint}: no joint to drive, allowed: {', '.join(free) or 'none'}")
    names = [servo.joint for servo in servos]
    if len(set(names)) < len(names):
        raise ValueError(f"servos of {', '.join(names)}, allowed: each joint once")
    speed = np.array([6 + rover.tree_joint_names.index(name) for name in names], dtype=np.int64)
    return JointServos(
        speed, *(np.array([servo[field] for servo in servos], np.float64) for field in range(2, len(Servo._fields)))
    )


def _unservable(rover: Rover) -> set[str]:
    """Joints of wheels, and sources of couplings, whose motion is not theirs alone."""
    wheels = {wheel.body for wheel in rover.tree.wheels}
    coupled = {name for coupling in rover.tree.couplings for name, _ in coupling.sources}
    return coupled | {joint.name for joint in rover.tree.joints if joint.child in wheels}


def make_servo_state(servos: Sequence[Servo], speeds: int) -> ServoState | None:
    """The state of powered servos that hold their start angles, in a tree of so many speeds; None: there are none."""
    if not servos:
        return None
    count = len(servos)
    start = np.array([servo.start for servo in servos])
    cut, torque, wished, slope, added = (np.zeros(count) for _ in range(5))
    return ServoState(start, cut, torque, wished, slope, added, np.zeros((count, speeds)))


@kernel
def servo_friction(servos: JointServos, which: int, speed: float) -> float:
    """Friction torque of a gear over the joint's speed [N m s/rad], at a speed [rad/s]."""
    return friction_damping(servos.gear_friction[which], servos.friction_speed[which], speed)


@kernel
def push_servos(
    servos: JointServos, state: ServoState, q: FloatArray, v: FloatArray, dt: float, work: Workspace
) -> None:
    """Add the torque of every servo to work.rhs, and its slope over the speed to work.mass_matrix (implicitly).

    Args:
        servos: of the rover.
        state: of them.
        q: configuration, over all joints that turn.
        v: velocity, likewise.
        dt: step [s].
        work: of the rover.
    """
    for i in range(servos.speed.size):
        j = servos.speed[i]
        speed = v[j]
        if state.cut[i] > 0.0:
            slope = servos.brake_damping[i] if servos.brakes_on_cut[i] > 0.0 else servos.coast_damping[i]
            wished = -slope * speed
        else:
            # the error at the end of the step, if the speed stays as it is
            turn = servos.position_gain[i] * (state.angle[i] - q[j + 1] - dt * speed)
            slope = servos.velocity_gain[i]
            if abs(turn) > servos.rate[i]:
                turn = servos.rate[i] if turn > 0.0 else -servos.rate[i]
                wished = slope * (turn - speed)
            else:
                wished = slope * (turn - speed)
                slope *= 1.0 + servos.position_gain[i] * dt
        friction = servo_friction(servos, i, speed)
        state.wished[i], state.slope[i], state.added[i] = wished, slope, 0.0
        work.rhs[j] += wished - friction * speed
        work.mass_matrix[j, j] += (slope + friction) * dt


@kernel
def limit_servos(servos: JointServos, state: ServoState, chain: Chain, dt: float, work: Workspace) -> None:
    """Keep the torques at the end of the step within their limits.

    The accelerations in work.rhs have been solved with the loops closed, and their torques may be too large. What is
    then added to each, `ServoState.added`, changes the accelerations of all: the one solution of "within the limit, or
    at it" is found by going through the servos in turn (projected Gauss-Seidel), as the matrix is positive definite.

    Args:
        servos: of the rover.
        state: of them, after `push_servos`.
        chain: of the rover.
        dt: step [s].
        work: its mass matrix factored, its right-hand side the accelerations, which are changed.
    """
    count, acceleration = servos.speed.size, work.rhs
    over = False
    for i in range(count):
        state.torque[i] = state.wished[i] - state.slope[i] * dt * acceleration[servos.speed[i]]
        over = over or (state.cut[i] == 0.0 and abs(state.torque[i]) > servos.torque_limit[i])
    if not over:
        return
    for i in range(count):
        for a in range(acceleration.size):
            state.column[i, a] = 0.0
        state.column[i, servos.speed[i]] = 1.0
        solve(chain, work.mass_matrix, state.column[i])
    for _ in range(_SWEEPS):
        change = 0.0
        for i in range(count):
            if state.cut[i] > 0.0:
                continue
            j, limit, slope = servos.speed[i], servos.torque_limit[i], state.slope[i] * dt
            own = state.column[i, j]
            wished = state.wished[i] - slope * (acceleration[j] - own * state.added[i])
            added = 0.0
            if abs(wished) > limit:
                added = ((limit if wished > 0.0 else -limit) - wished) / (1.0 - slope * own)
            more = added - state.added[i]
            state.added[i] = added
            for a in range(acceleration.size):
                acceleration[a] += more * state.column[i, a]
            change = max(change, abs(more) * (1.0 - slope * own) / limit)
        if change < _CLOSE:
            break
    for i in range(count):
        state.torque[i] = state.wished[i] + state.added[i] - state.slope[i] * dt * acceleration[servos.speed[i]]
