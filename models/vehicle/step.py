"""One time step of a rover on its ground, for plant and rover twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from models.actuators.drive import drive_axle, wind_up
from models.actuators.pneumatic import push_cylinders
from models.actuators.servo import JointServos, limit_servos, push_servos
from models.actuators.springs import JointSprings, push_springs
from models.actuators.stops import push_stops
from models.contact.body_ground import BodyContact, push_body
from models.contact.compliant import CompliantGround, push_compliant_ground
from models.contact.constraints import RigidGround, hold_ground
from models.contact.ground import Ground, push_ground
from models.contact.nonsmooth import HardContacts, hold_contacts
from models.contact.obstacle import Obstacle, push_obstacle
from models.contact.profile_contact import ProfileContact, push_on_profile, unload
from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import FloatArray, IntArray, address_of, kernel
from models.rover.dynamics import Workspace, fill_bias, fill_mass_matrix, place_bodies
from models.rover.factor import factorise, follow_loops, hold_speed, solve
from models.rover.loops import add_acceleration
from models.rover.points import to_world
from models.rover.reduction import Chain
from models.terrain import Terrain
from models.validity import SETTLING_STEP
from models.vehicle.ledger import (
    BODY,
    CYLINDERS,
    DRIVES,
    GROUND,
    OBSTACLE,
    PULL,
    SERVOS,
    SPRINGS,
    STOPS,
    Ledger,
    close_servos,
    close_step,
    note,
    note_free,
    note_limited,
    open_step,
)
from models.vehicle.model import VehicleModel, VehicleState


@kernel
def step(vehicle: VehicleModel, state: VehicleState, dt: float) -> None:
    """Advance by dt [s]: semi-implicit Euler, traction and drive damping implicit, the quaternion kept normal.

    On rigid ground without slip there may be no consistent set of wheels (models.contact.constraints.find_active); for
    such a step only the normals are constrained.
    """
    accounted_step(vehicle, state, dt, None)


@kernel
def accounted_step(vehicle: VehicleModel, state: VehicleState, dt: float, ledger: Ledger | None) -> None:
    """`step`, which notes its energies in a ledger; without one (None) that costs nothing."""
    chain, work, v = vehicle.chain, state.work, state.v
    place_bodies(chain, state.q, work)
    follow_loops(chain.loops, chain, v)
    fill_bias(chain, v, vehicle.gravity, work)
    fill_mass_matrix(chain, work)
    for a in range(v.size):
        work.rhs[a] = state.torque[a] - work.rhs[a]
    open_step(ledger, v, state.torque, state.obstacle, work)
    for wheel in chain.motor_wheel:
        drive_axle(vehicle.drive, state.drives, wheel, 5 + chain.wheel_body[wheel], v, dt, work)
    note(ledger, DRIVES, work)
    _push_servos(vehicle.servos, state, dt, ledger)
    push_cylinders(vehicle.cylinders, state.cylinders, state.q, v, dt, work)
    note(ledger, CYLINDERS, work)
    push_stops(vehicle.stops, state.q, v, dt, work)
    note(ledger, STOPS, work)
    _push_springs(vehicle.springs, state, dt, ledger)
    _push_body(vehicle.body, vehicle.terrain, chain, state, dt)
    note(ledger, BODY, work)
    for a in range(6):  # the base's speeds come first
        work.rhs[a] += state.pull[a]
    note(ledger, PULL, work)
    _push_soil(vehicle.ground, vehicle.terrain, chain, state, dt)
    _push_compliant(vehicle.compliant, vehicle.terrain, chain, state, dt)
    note(ledger, GROUND, work)
    _push_obstacle(vehicle.obstacle, chain, state, dt)
    note(ledger, OBSTACLE, work)
    _keep_on_rails(vehicle.rails, work)
    factorise(chain, work.mass_matrix)
    solve(chain, work.mass_matrix, work.rhs)
    add_acceleration(chain.loops, work.rhs)
    _limit_servos(vehicle.servos, chain, state, dt, ledger)
    for a in range(v.size):
        v[a] += dt * work.rhs[a]
    note_free(ledger, v)
    _hold(vehicle.rigid, vehicle.terrain, chain, state, dt)
    _hold_hard(vehicle.hard, chain, state, dt)
    for wheel in chain.motor_wheel:
        wind_up(vehicle.drive, state.drives, wheel, v[5 + chain.wheel_body[wheel]], dt)
    close_step(ledger, chain, vehicle.drive, state.drives.cut, vehicle.obstacle, state.obstacle, v, dt, work)
    _close_servos(vehicle.servos, state, dt, ledger)
    _move(vehicle.hard, state, dt)


# Where there are servos, they have a state.
@kernel
def _push_servos(servos: JointServos | None, state: VehicleState, dt: float, ledger: Ledger | None) -> None:
    if servos is not None:
        push_servos(servos, state.servos, state.q, state.v, dt, state.work)  # type: ignore[arg-type]
        note(ledger, SERVOS, state.work)


@kernel
def _limit_servos(
    servos: JointServos | None, chain: Chain, state: VehicleState, dt: float, ledger: Ledger | None
) -> None:
    if servos is not None:
        limit_servos(servos, state.servos, chain, dt, state.work)  # type: ignore[arg-type]
        note_limited(ledger, servos, state.servos)  # type: ignore[arg-type]


@kernel
def _close_servos(servos: JointServos | None, state: VehicleState, dt: float, ledger: Ledger | None) -> None:
    if servos is not None:
        close_servos(ledger, servos, state.servos, state.v, dt)  # type: ignore[arg-type]


@kernel
def _push_springs(springs: JointSprings | None, state: VehicleState, dt: float, ledger: Ledger | None) -> None:
    if springs is not None:
        push_springs(springs, state.q, state.v, dt, state.work)
        note(ledger, SPRINGS, state.work)


@kernel
def _push_body(body: BodyContact | None, terrain: Terrain, chain: Chain, state: VehicleState, dt: float) -> None:
    if body is not None:
        push_body(chain, body, terrain, state.q, dt, state.work)


@kernel
def _push_soil(ground: Ground | None, terrain: Terrain, chain: Chain, state: VehicleState, dt: float) -> None:
    if ground is not None:
        push_ground(chain, ground, terrain, state.q, dt, state.ground, state.work)


@kernel
def _push_compliant(
    compliant: CompliantGround | None, terrain: Terrain, chain: Chain, state: VehicleState, dt: float
) -> None:
    if compliant is not None:
        _push_shaped(compliant.profile, compliant, terrain, chain, state, dt)


@kernel
def _push_shaped(
    profile: ProfileContact | None,
    compliant: CompliantGround,
    terrain: Terrain,
    chain: Chain,
    state: VehicleState,
    dt: float,
) -> None:
    if profile is not None:  # decided at compile time
        unload(profile.sensed, state.obstacle)
    for wheel in range(chain.wheel_body.size):
        if profile is None:
            push_compliant_ground(chain, compliant, terrain, state.q, wheel, dt, state.ground, state.work)
        else:
            push_on_profile(chain, compliant.law, profile, state.q, wheel, dt, state.ground, state.obstacle, state.work)


@kernel
def _push_obstacle(obstacle: Obstacle | None, chain: Chain, state: VehicleState, dt: float) -> None:
    if obstacle is not None:
        for wheel in range(state.obstacle.force.size):
            push_obstacle(chain, obstacle, state.q, wheel, dt, state.obstacle, state.work)


@kernel
def _keep_on_rails(rails: IntArray | None, work: Workspace) -> None:
    if rails is not None:
        for a in rails:
            hold_speed(work.mass_matrix, work.rhs, a)


@kernel
def _hold(rigid: RigidGround | None, terrain: Terrain, chain: Chain, state: VehicleState, dt: float) -> None:
    if rigid is not None:
        hold_ground(chain, state.q, state.v, dt, rigid, terrain, state.ground, state.work)


@kernel
def _hold_hard(hard: HardContacts | None, chain: Chain, state: VehicleState, dt: float) -> None:
    if hard is not None:
        hold_contacts(chain, state.q, state.v, dt, hard, state.ground, state.work)


@kernel
def _move(hard: HardContacts | None, state: VehicleState, dt: float) -> None:
    """The configuration, by the velocities at the end of the step, or by what the nonsmooth scheme has between."""
    if hard is None:
        move(state.q, state.v, dt, state.work)
    else:
        before = hard.before
        for a in range(before.size):
            before[a] = hard.theta * state.v[a] + (1.0 - hard.theta) * before[a]
        move(state.q, before, dt, state.work)


@kernel
def move(q: FloatArray, v: FloatArray, dt: float, work: Workspace) -> None:
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
def run(vehicle: VehicleModel, state: VehicleState, steps: int, dt: float) -> None:
    """Take `steps` steps of dt [s]."""
    for _ in range(steps):
        accounted_step(vehicle, state, dt, None)  # not `step`: another form of it to compile, of the same code


def step_parts(vehicle: VehicleModel, state: VehicleState) -> list[tuple[Callable[..., None], tuple[Any, ...]]]:
    """The kernels of a step, ground and obstacle first, with their arguments, to compile them separately."""
    chain, terrain = vehicle.chain, vehicle.terrain
    return [
        (_push_soil, (vehicle.ground, terrain, chain, state, SETTLING_STEP)),
        (_push_compliant, (vehicle.compliant, terrain, chain, state, SETTLING_STEP)),
        (_push_obstacle, (vehicle.obstacle, chain, state, SETTLING_STEP)),
        (accounted_step, (vehicle, state, SETTLING_STEP, None)),
    ]


class Scene(NamedTuple):
    """A vehicle and its state, and a ledger of its energies or None."""

    vehicle: VehicleModel
    state: VehicleState
    ledger: Ledger | None = None


@kernel
def run_bound(scene: BoundArguments[Scene], steps: int, dt: float) -> None:
    """`run`, for repeated calls from Python, and for kernels that call it at its address."""
    vehicle, state, ledger = unpack(scene)
    for _ in range(steps):
        accounted_step(vehicle, state, dt, ledger)


def address_of_run(vehicle: VehicleModel, state: VehicleState, ledger: Ledger | None = None) -> int:
    """Address of `run_bound` for such a scene: settling, plant and twin run one machine code, which takes 3 s to make.

    To call with bound arguments that begin as the scene does (models.kernels.bound.call_at).
    """
    return address_of(run_bound, BoundArguments(Scene(vehicle, state, ledger)), 1, SETTLING_STEP)
