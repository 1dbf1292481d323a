"""Energy of a vehicle, term by term: the work of each source of force in a step, and what the contacts store.

A step (models.vehicle.step) from v to v' with a = (v' - v)/dt has M a = tau - dt S a - b, where tau - dt S a are the
forces at its end and b is the bias. With the mean velocity w = (v + v')/2 that is, for any forces,

    1/2 v'^T M v' - 1/2 v^T M v = dt w^T (tau - dt S a - b),

so dt w^T (tau_i - dt S_i a) is the work of source i, exactly as the step has it. What is left of the balance of a run
is numerical: M, weight and springs are taken at the beginning of a step, and change during it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.actuators.drive import Drive, gear_damping
from models.actuators.servo import JointServos, ServoState, servo_friction
from models.contact.contact_points import ARM, COSINE, DEPTH, SHARE, SINE
from models.contact.laws import Law
from models.contact.obstacle import Obstacle, ObstacleContact, points_of
from models.contact.plate import has_plate
from models.contact.rim import rim_contact
from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import Workspace, fill_mass_matrix, place_bodies
from models.rover.points import axle, project, to_world
from models.rover.reduction import Chain
from models.terrain.surface import into, out_of

# Groups of forces in the order in which a step adds them; those of drives and obstacle have several terms.
GROUPS = 10
DRIVES, SERVOS, CYLINDERS, STOPS, SPRINGS, BODY, PULL, GROUND, OBSTACLE, OUTSIDE = range(GROUPS)
# Slots of Ledger.joule. Work on the vehicle since the ledger was opened: of powered drives, cut drives and servos, gear
# friction of both, cylinders, joint stops, the ground under the body, drawbar, ground under the wheels, torques from
# outside, the plate's normal force and its friction. Lost in the plate's contact law and in leg damping. Stored now in
# plate and legs. Work of powered servos, and of the springs of joints with their damping.
TERMS = 15
(
    MOTOR, DRAG, GEAR, CYLINDER, STOP, LYING, DRAWBAR, SOIL, TORQUE, NORMAL, FRICTION, CONTACT_LOSS, CONTACT_STORED,
    SERVO, SPRING,
) = range(TERMS)  # fmt: skip


class Ledger(NamedTuple):
    """Energies [J], and scratch arrays (n: tree speeds).

    Attributes:
        joule: (TERMS,) by slot.
        seen: (n, n) the mass matrix as the last group left it; lower triangle.
        force: (GROUPS, n) [N, N m] of each group at the start of the step.
        slope: (GROUPS, n, n) its damping times dt.
        rhs: (n,) right-hand side as the last group left it.
        before: (n,) velocity before the step.
        free: (n,) velocity that the forces give, before rigid ground changes it.
        mean: (n,) mean velocity of the step.
        acceleration: (n,) over the step.
        deflection: (hitting wheels,) of the legs before the step [m].
        work: scratch of a rover.
    """

    joule: FloatArray
    seen: FloatArray
    force: FloatArray
    slope: FloatArray
    rhs: FloatArray
    before: FloatArray
    free: FloatArray
    mean: FloatArray
    acceleration: FloatArray
    deflection: FloatArray
    work: Workspace


def make_ledger(work: Workspace, hitting_wheels: int, speeds: int) -> Ledger:
    """A ledger in which nothing is noted.

    Args:
        work: of the rover, used by nothing else.
        hitting_wheels: those that can hit an obstacle.
        speeds: of the tree.
    """
    n = speeds
    return Ledger(
        np.zeros(TERMS), np.zeros((n, n)), np.zeros((GROUPS, n)), np.zeros((GROUPS, n, n)),
        np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(hitting_wheels), work,
    )  # fmt: skip


@kernel
def open_step(
    ledger: Ledger | None, v: FloatArray, torque: FloatArray, contact: ObstacleContact, work: Workspace
) -> None:
    """Before any group of forces is added to work."""
    if ledger is not None:
        for a in range(v.size):
            ledger.before[a], ledger.rhs[a] = v[a], work.rhs[a]
            ledger.force[OUTSIDE, a] = torque[a]
            for b in range(a + 1):
                ledger.seen[a, b] = work.mass_matrix[a, b]
        for wheel in range(ledger.deflection.size):
            ledger.deflection[wheel] = contact.deflection[wheel]


@kernel
def note(ledger: Ledger | None, group: int, work: Workspace) -> None:
    """What a group of forces has added to work since the last note."""
    if ledger is not None:
        for a in range(ledger.rhs.size):
            ledger.force[group, a] = work.rhs[a] - ledger.rhs[a]
            ledger.rhs[a] = work.rhs[a]
            for b in range(a + 1):
                ledger.slope[group, a, b] = work.mass_matrix[a, b] - ledger.seen[a, b]
                ledger.seen[a, b] = work.mass_matrix[a, b]


@kernel
def note_free(ledger: Ledger | None, v: FloatArray) -> None:
    """The velocities that the forces give."""
    if ledger is not None:
        for a in range(v.size):
            ledger.free[a] = v[a]


@kernel
def note_limited(ledger: Ledger | None, servos: JointServos, state: ServoState) -> None:
    """What the servos' torque limits have added after the accelerations were solved."""
    if ledger is not None:
        for i in range(servos.speed.size):
            ledger.force[SERVOS, servos.speed[i]] += state.added[i]


@kernel
def close_step(
    ledger: Ledger | None,
    chain: Chain,
    drive: Drive,
    cut: FloatArray,
    obstacle: Obstacle | None,
    contact: ObstacleContact,
    v: FloatArray,
    dt: float,
    work: Workspace,
) -> None:
    """After the velocities of a step, before the configuration moves on."""
    if ledger is not None:
        joule = ledger.joule
        for a in range(v.size):
            ledger.mean[a] = 0.5 * (ledger.before[a] + v[a])
            ledger.acceleration[a] = (v[a] - ledger.before[a]) / dt
        _note_drives(ledger, chain, drive, cut, v, dt)
        joule[CYLINDER] += _work_of(ledger, CYLINDERS, dt)
        joule[STOP] += _work_of(ledger, STOPS, dt)
        joule[SPRING] += _work_of(ledger, SPRINGS, dt)
        joule[LYING] += _work_of(ledger, BODY, dt)
        joule[DRAWBAR] += _work_of(ledger, PULL, dt)
        joule[SOIL] += _work_of(ledger, GROUND, dt) + _impulse_work(ledger, v)
        joule[TORQUE] += _work_of(ledger, OUTSIDE, dt)
        plate = _work_of(ledger, OBSTACLE, dt)
        normal = _note_plate(ledger, chain, obstacle, contact, v, dt, work)
        joule[NORMAL] += normal
        joule[FRICTION] += plate - normal


@kernel
def _work_of(ledger: Ledger, group: int, dt: float) -> float:
    """Work [J] of a group in this step, at its forces at the end of it."""
    total = 0.0
    for a in range(ledger.mean.size):
        force = ledger.force[group, a]
        for b in range(ledger.mean.size):
            force -= ledger.slope[group, max(a, b), min(a, b)] * ledger.acceleration[b]
        total += force * ledger.mean[a]
    return total * dt


@kernel
def _impulse_work(ledger: Ledger, v: FloatArray) -> float:
    """Work [J] of the impulses of rigid ground, which change the velocities that the forces give."""
    total = 0.0
    for a in range(v.size):
        for b in range(v.size):
            total += ledger.mean[a] * ledger.seen[max(a, b), min(a, b)] * (v[b] - ledger.free[b])
    return total


@kernel
def _note_drives(ledger: Ledger, chain: Chain, drive: Drive, cut: FloatArray, v: FloatArray, dt: float) -> None:
    """An axle's torque is that of motor and gear: the gear's is known from the speeds."""
    for wheel in chain.motor_wheel:
        i = 5 + chain.wheel_body[wheel]
        torque = ledger.force[DRIVES, i] - ledger.slope[DRIVES, i, i] * ledger.acceleration[i]
        gear = -gear_damping(drive, ledger.before[i]) * v[i]
        ledger.joule[GEAR] += dt * gear * ledger.mean[i]
        ledger.joule[DRAG if cut[wheel] > 0.0 else MOTOR] += dt * (torque - gear) * ledger.mean[i]


@kernel
def close_servos(ledger: Ledger | None, servos: JointServos, state: ServoState, v: FloatArray, dt: float) -> None:
    """As `_note_drives`, of the servos; after `close_step`."""
    if ledger is not None:
        for which in range(servos.speed.size):
            i = servos.speed[which]
            torque = ledger.force[SERVOS, i] - ledger.slope[SERVOS, i, i] * ledger.acceleration[i]
            gear = -servo_friction(servos, which, ledger.before[i]) * v[i]
            ledger.joule[GEAR] += dt * gear * ledger.mean[i]
            ledger.joule[DRAG if state.cut[which] > 0.0 else SERVO] += dt * (torque - gear) * ledger.mean[i]


@kernel
def _note_plate(
    ledger: Ledger,
    chain: Chain,
    obstacle: Obstacle | None,
    contact: ObstacleContact,
    v: FloatArray,
    dt: float,
    work: Workspace,
) -> float:
    """Work [J] of the plate's normal forces; notes what its contacts lose and store."""
    total = 0.0
    if obstacle is not None:
        stored = 0.0
        law = Law(obstacle.law, obstacle.stiffness, obstacle.exponent, obstacle.restitution, obstacle.damping)
        sine, cosine = np.sin(obstacle.angle), np.cos(obstacle.angle)
        for wheel in range(contact.force.size):
            body, radius = chain.wheel_body[wheel], chain.wheel_radius[wheel]
            compliance = obstacle.leg_compliance[wheel]
            at_points = obstacle.grousers > 0 or compliance > 0.0 or has_plate(obstacle.plate)
            # of the end of the step: it gives, then the point moves
            given = contact.deflection[wheel] - ledger.deflection[wheel]
            for i in range(points_of(obstacle)):
                point = contact.contact_points[wheel, i]
                depth, force = -contact.gap[wheel], contact.force[wheel]
                normal = (-sine, 0.0, cosine)
                _, arm = rim_contact(chain.crown, wheel, radius, normal, into(obstacle.stand, wheel, axle(work, body)))
                if at_points:
                    depth, arm = point[DEPTH], (point[ARM], point[ARM + 1], point[ARM + 2])
                    force, normal = point[SHARE], (-point[SINE], 0.0, point[COSINE])
                none, stand = (0.0, 0.0, 0.0), obstacle.stand
                out, arm = out_of(stand, wheel, normal), out_of(stand, wheel, arm)
                project(chain, work, body, out, none, arm, work.row)
                rate, last = -_along(chain, body, work.row, ledger.mean), -_along(chain, body, work.row, v)
                total -= dt * force * rate
                squeezed = max(depth - contact.deflection[wheel], 0.0)
                elastic = law.stiffness * squeezed**law.exponent
                ledger.joule[CONTACT_LOSS] += (force - elastic) * (dt * rate - given)
                squeezed = max(depth + dt * last - contact.deflection[wheel], 0.0)
                stored += law.stiffness * squeezed ** (law.exponent + 1.0) / (law.exponent + 1.0)
            if compliance > 0.0:
                ledger.joule[CONTACT_LOSS] += obstacle.leg_damping * given * given / dt
                stored += 0.5 * contact.deflection[wheel] ** 2 / compliance
        ledger.joule[CONTACT_STORED] = stored
    return total


@kernel
def _along(chain: Chain, body: int, row: FloatArray, v: FloatArray) -> float:
    """Speed of a point: its Jacobian row, whose entries are those of the body's path, times v."""
    total = 0.0
    for a in range(6):
        total += row[a] * v[a]
    i = body
    while i > 0:
        total += row[5 + i] * v[5 + i]
        i = chain.parent[i]
    return total


@kernel
def _kinetic(M: FloatArray, v: FloatArray) -> float:
    total = 0.0
    for a in range(v.size):
        total += 0.5 * M[a, a] * v[a] * v[a]
        for b in range(a):
            total += M[a, b] * v[a] * v[b]
    return total


@kernel
def motion_energy(
    chain: Chain, gravity: FloatArray, q: FloatArray, v: FloatArray, work: Workspace
) -> tuple[float, float]:
    """Kinetic energy, and potential energy of the weight over the world's origin [J]; work is overwritten."""
    place_bodies(chain, q, work)
    fill_mass_matrix(chain, work)
    whole = work.inertia[0]  # of all bodies: mass, first moment about the base's origin
    x, y, z = to_world(work, whole[1], whole[2], whole[3])
    mass = whole[0]
    potential = gravity[0] * (mass * q[0] + x) + gravity[1] * (mass * q[1] + y) + gravity[2] * (mass * q[2] + z)
    return _kinetic(work.mass_matrix, v), -potential
