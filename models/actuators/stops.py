"""Stops: at the ends of a joint's travel and of a cylinder's stroke, stiff and damped, and they push only."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.gravity import GRAVITY_MPS2
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.dynamics import Workspace
from models.rover.rover import Rover

# How far a joint's stop gives under the rover's weight at the farthest wheel that the joint carries [rad], and its
# damping as a share of what would be critical for the bodies that the joint carries: a rubber bumper, an assumption.
STOP_GIVE = math.radians(1.0)
# Likewise of a joint that slides [m], under the rover's weight along its axis, as if that were upright.
SLIDE_GIVE = 0.005
STOP_DAMPING_SHARE = 0.5


class JointStops(NamedTuple):
    """Stops of a rover's suspension joints (joints,).

    Attributes:
        speed: tree speed of the joint (models.rover.reduction.Chain); its coordinate is q[speed + 1].
        low: coordinate [rad, m] of the lower stop.
        high: of the upper one.
        stiffness: of either [N m/rad, N/m].
        damping: of either [N m s/rad, N s/m].
        slides: 1 where the joint slides, 0 where it turns.
    """

    speed: IntArray
    low: FloatArray
    high: FloatArray
    stiffness: FloatArray
    damping: FloatArray
    slides: IntArray


NO_STOPS = JointStops(
    np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64)
)


def make_stops(rover: Rover) -> JointStops:
    """The stops of every joint that is free and has some (`models.rover.tree.Joint.stops`), coupled joints included.

    Their stiffness and damping follow from the rover's weight and sizes, so that stops suit a rover of any mass.
    """
    joints = {joint.name: joint for joint in rover.tree.joints}
    stops = {name: joint.stops for name, joint in joints.items() if joint.stops is not None}
    names = [name for name in rover.tree_joint_names if name in stops]
    if not names:
        return NO_STOPS
    speed = np.array([6 + rover.tree_joint_names.index(name) for name in names], dtype=np.int64)
    low, high = np.array([stops[name] for name in names]).T.copy()
    inertia = np.diag(rover.mass_matrix(rover.neutral()))
    moved = [_moved_with(rover, k) for k in speed]
    slides = np.array([joints[name].slides for name in names], dtype=np.int64)
    give = np.where(slides == 1, SLIDE_GIVE, STOP_GIVE)
    rise = np.array([1.0 if one else _rise(rover, i) for one, i in zip(slides, moved, strict=True)])
    stiffness = GRAVITY_MPS2 * inertia[0] / give * rise
    damping = 2.0 * STOP_DAMPING_SHARE * np.sqrt(stiffness * inertia[moved])
    return JointStops(speed, low, high, stiffness, damping, slides)


def _moved_with(rover: Rover, speed: int) -> int:
    """Independent speed that moves a tree speed: its own, or the first source of a coupled joint."""
    chain = rover.chain
    for dependent, source in zip(chain.dependent, chain.source, strict=True):
        if dependent == speed:
            speed = source
            break
    return int(np.flatnonzero(chain.independent == speed)[0])


def _rise(rover: Rover, speed: int) -> float:
    """Largest rise of a wheel over the angle of an independent joint [m], at the neutral configuration."""
    step, places = 1e-4, []
    for angle in (-step, step):
        q = rover.neutral()
        q[speed + 1] = angle
        places.append(rover.wheel_positions(q)[:, 2])
    return float(np.abs(places[1] - places[0]).max() / (2.0 * step))


@kernel
def push_stops(stops: JointStops, q: FloatArray, v: FloatArray, dt: float, work: Workspace) -> None:
    """Add the torque of every stop that its joint has reached, or reaches in this step, to work.

    Args:
        stops: of the rover.
        q: configuration, over all joints that turn.
        v: velocity, likewise.
        dt: step [s].
        work: its right-hand side, and the mass matrix, which takes the damping.
    """
    for i in range(stops.speed.size):
        speed = stops.speed[i]
        angle, rate = q[speed + 1], v[speed]
        reached = angle + rate * dt
        low, high = stops.low[i], stops.high[i]
        if min(angle, reached) < low or max(angle, reached) > high:
            torque, damping = end_stop(low, high, angle, rate, stops.stiffness[i], stops.damping[i], dt)
            work.rhs[speed] += torque - damping * rate
            work.mass_matrix[speed, speed] += damping * dt


@kernel
def end_stop(
    low: float, high: float, place: float, rate: float, stiffness: float, damping: float, dt: float
) -> tuple[float, float]:
    """A stop at either end of a travel: force at speed 0, and its damping, spring included; it pushes only.

    In the step that reaches an end, the damping acts for the share of the step behind that end. It takes at least the
    energy that the stop's spring gains in this step. Units are those of a length or of an angle.

    Args:
        low: where the travel ends.
        high: its other end.
        place: on the travel.
        rate: its time derivative.
        stiffness: of a stop.
        damping: of a stop.
        dt: step [s].
    """
    damping += stiffness * dt
    over = max(place - high, 0.0) + min(place - low, 0.0)
    if over == 0.0:
        travel = rate * dt
        reached = place + travel
        behind = max(reached - high, 0.0) + min(reached - low, 0.0)
        return 0.0, damping * behind / travel if behind != 0.0 else 0.0
    if over * (stiffness * over + damping * rate) <= 0.0:
        return 0.0, 0.0
    return -stiffness * over, damping
