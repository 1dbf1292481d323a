"""One time step of a rover that drives on its ground against an obstacle: what plant and rover twin both run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from models.actuators.drive import Drive, DriveState, drive_axle, make_drives
from models.bound import Bound, content
from models.compiled import FloatArray, kernel
from models.contact.active_set import Held
from models.contact.constraints import hold_ground
from models.contact.firm import Firm, push_firm
from models.contact.ground import Ground, GroundContact, make_ground_contact, push_ground
from models.contact.obstacle import Obstacle, ObstacleContact, make_contact, push_obstacle
from models.rover import Rover
from models.rover.dynamics import Work, fill_bias, fill_mass_matrix, make_work, place_bodies
from models.rover.factor import factorise, solve
from models.rover.points import to_world
from models.rover.reduction import Chain

SETTLING_STEP = 1e-4


class Vehicle(NamedTuple):
    """What does not change.

    Which ground there is, is known when a step is compiled: each kind is code of its own, and costs the others nothing.

    Attributes:
        chain: the rover.
        ground: soil, or None.
        drive: of every wheel.
        obstacle: plate and contact law.
        gravity: (3,) [m/s^2] in world axes.
        firm: level ground that yields by a contact law, or None.
        held: level ground that does not yield at all, as unilateral constraints, or None. It comes last in a step.
    """

    chain: Chain
    ground: Ground | None
    drive: Drive
    obstacle: Obstacle
    gravity: FloatArray
    firm: Firm | None = None
    held: Held | None = None


class Motion(NamedTuple):
    """What does: configuration q, velocity v, bogie and other joint torques, states and readings.

    q, v and torque are over all joints that turn, coupled ones included (`Rover.tree_configuration`,
    `Rover.tree_joint_names`); without couplings they are the rover's own q (nq,) and v (nv,).
    The first wheels of the rover, as many as `obstacle` has rows, are those that can hit the obstacle.
    """

    q: FloatArray
    v: FloatArray
    torque: FloatArray
    drives: DriveState
    ground: GroundContact
    obstacle: ObstacleContact
    work: Work


def make_motion(rover: Rover, hitting_wheels: int = 2) -> Motion:
    """Allocate a rover at rest in its neutral configuration."""
    wheels, speeds = len(rover.wheel_names), rover.chain.speed_parent.size
    return Motion(
        rover.tree_configuration(rover.neutral()),
        np.zeros(speeds),
        np.zeros(speeds),
        make_drives(wheels),
        make_ground_contact(wheels),
        make_contact(hitting_wheels),
        make_work(rover.chain),
    )


@kernel
def step(vehicle: Vehicle, motion: Motion, dt: float) -> None:
    """Advance by dt [s]: semi-implicit Euler, traction and drive damping implicit, the quaternion kept normal.

    On rigid ground without slip a set of wheels that push need not exist (models.contact.active_set.find_active); for
    such a step their normals alone are held.
    """
    chain, work, v = vehicle.chain, motion.work, motion.v
    place_bodies(chain, motion.q, work)
    fill_bias(chain, v, vehicle.gravity, work)
    fill_mass_matrix(chain, work)
    for a in range(v.size):
        work.rhs[a] = motion.torque[a] - work.rhs[a]
    for wheel in range(chain.wheel_body.size):
        drive_axle(vehicle.drive, motion.drives, wheel, 5 + chain.wheel_body[wheel], v, dt, work)
    _push_soil(vehicle.ground, chain, motion, dt)
    _push_firm(vehicle.firm, chain, motion, dt)
    for wheel in range(motion.obstacle.force.size):
        push_obstacle(chain, vehicle.obstacle, motion.q, wheel, dt, motion.obstacle, work)
    factorise(chain, work.mass_matrix)
    solve(chain, work.mass_matrix, work.rhs)
    for a in range(v.size):
        v[a] += dt * work.rhs[a]
    _hold(vehicle.held, chain, motion, dt)
    move(motion.q, v, dt, work)


@kernel
def _push_soil(ground: Ground | None, chain: Chain, motion: Motion, dt: float) -> None:
    if ground is not None:
        push_ground(chain, ground, motion.q, dt, motion.ground, motion.work)


@kernel
def _push_firm(firm: Firm | None, chain: Chain, motion: Motion, dt: float) -> None:
    if firm is not None:
        for wheel in range(chain.wheel_body.size):
            push_firm(chain, firm, motion.q, wheel, dt, motion.ground, motion.work)


@kernel
def _hold(held: Held | None, chain: Chain, motion: Motion, dt: float) -> None:
    if held is not None:
        hold_ground(chain, motion.q, motion.v, dt, held, motion.ground, motion.work)


@kernel
def move(q: FloatArray, v: FloatArray, dt: float, work: Work) -> None:
    """Advance the configuration by dt [s] at velocity v; needs work.base of the old configuration."""
    x, y, z = to_world(work, v[0], v[1], v[2])
    q[0] += dt * x
    q[1] += dt * y
    q[2] += dt * z
    # quaternion of the rotation by v[3:6] * dt to first order in the half angle, then made normal
    hx, hy, hz = 0.5 * dt * v[3], 0.5 * dt * v[4], 0.5 * dt * v[5]
    a, b, c, w = q[3], q[4], q[5], q[6]
    q[3] = a + w * hx + b * hz - c * hy
    q[4] = b + w * hy + c * hx - a * hz
    q[5] = c + w * hz + a * hy - b * hx
    q[6] = w - a * hx - b * hy - c * hz
    length = np.sqrt(q[3] * q[3] + q[4] * q[4] + q[5] * q[5] + q[6] * q[6])
    for i in range(3, 7):
        q[i] /= length
    for i in range(7, q.size):
        q[i] += dt * v[i - 1]


@kernel
def run(vehicle: Vehicle, motion: Motion, steps: int, dt: float) -> None:
    """Take `steps` steps of dt [s]."""
    for _ in range(steps):
        step(vehicle, motion, dt)


def step_parts(vehicle: Vehicle, motion: Motion) -> list[tuple[Callable[..., None], tuple[Any, ...]]]:
    """The kernels of a step that are more than the rover by itself, with their arguments."""
    chain, work, dt = vehicle.chain, motion.work, SETTLING_STEP
    return [
        (_push_soil, (vehicle.ground, chain, motion, dt)),
        (_push_firm, (vehicle.firm, chain, motion, dt)),
        (push_obstacle, (chain, vehicle.obstacle, motion.q, 0, dt, motion.obstacle, work)),
    ]


class Scene(NamedTuple):
    """A vehicle and its motion."""

    vehicle: Vehicle
    motion: Motion


@kernel
def run_bound(scene: Bound[Scene], steps: int, dt: float) -> None:
    """`run`, for callers in Python that call it again and again."""
    vehicle, motion = content(scene)
    run(vehicle, motion, steps, dt)


def settle(vehicle: Vehicle, motion: Motion, seconds: float = 2.0) -> None:
    """Let a rover with its drives cut sink into the soil until it rests, then take out what speed is left."""
    run(vehicle, motion, round(seconds / SETTLING_STEP), SETTLING_STEP)
    motion.v[:] = 0.0
