"""The captures of Cyril, Jaar and Misra 1993, their arm's frequencies, and the RCP's flexible legs, for cyril.py."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.actuators.drive import Drive
from models.actuators.springs import make_springs
from models.impact import Payload, capture, compliant_effective_kinetic_energy, effective_kinetic_energy
from models.kernels.bound import BoundArguments
from models.rover import Body, Rover, box, rcp
from models.rover.arm_names import EFFECTOR, JOINTS
from models.rover.body_points import body_point
from models.rover.flexible import with_flexible_legs
from models.rover.space_arm import SpaceArm, holding
from models.vehicle import Scene, VehicleModel, make_vehicle_state, run_bound
from models.vehicle.energy import EnergyMeter
from references.boom_frame import Beam, EndBody, frequencies

Array = NDArray[np.float64]

ARM = SpaceArm()
POSTURE = (1.2, -1.5, 0.6)  # [rad]; not printed
# Printed: a tenth of the spacecraft, half a turn a minute, and the speeds [m/s].
MASS, SPIN = 0.1 * ARM.spacecraft_mass, 0.5 * 2.0 * math.pi / 60.0
TANGENTIAL, HARD, HARD_ANGLE, NORMAL, NORMAL_HARD = 0.052, 0.1, math.radians(22.7), 0.1, 0.25
REACH = TANGENTIAL / SPIN  # from the axis of the spin to the contact
SIZE = (3.0, 3.0, 3.0)
# After the capture the joints are free, or braked by so much [N m s/rad], or as good as held.
BRAKE, HELD = 3e4, 1e9
STEP, EVERY, SECONDS, HELD_SECONDS = 2e-3, 10, 20.0, 120.0
IDLE = Drive(0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
BASE_PLACE, NOTHING = np.array([0, 1, 2]), np.zeros(0, dtype=np.int64)


class Contact(NamedTuple):
    """The moment of a contact.

    Attributes:
        name: what it is.
        velocity: of the arm.
        payload_velocity: of the payload.
    """

    name: str
    velocity: Array
    payload_velocity: Array


class Motion(NamedTuple):
    """What follows.

    Attributes:
        time: [s].
        joints: turns of the joints since the capture (times, 3) [rad].
        bends: deflections of the booms (times, 2) [m].
        turn: of the spacecraft about z [rad].
        way: of the spacecraft [m].
        rates: largest speed of a joint (times,) [rad/s].
        residue: energy that the steps made over what was there [-].
    """

    time: Array
    joints: Array
    bends: Array
    turn: Array
    way: Array
    rates: Array
    residue: float


class Scenario:
    """Arm and payload at the moment of contact; the payload lies ahead of the wrist, its spin axis along z."""

    def __init__(self, arm: SpaceArm) -> None:
        self.arm = arm
        self.rover = arm.build()
        self.at = [6 + self.rover.joint_names.index(name) for name in JOINTS]
        self.bends = [6 + k for k, name in enumerate(self.rover.joint_names) if name.endswith("_bend")]
        self.q = self.rover.neutral()
        for place, angle in zip(self.at, POSTURE, strict=True):
            self.q[1 + place] = angle
        self.point = body_point(self.rover, self.q, EFFECTOR, arm.contact)
        self.M = self.rover.mass_matrix(self.q)
        ahead = self.point.rotation[:, 0]
        self.ahead, self.across = ahead, np.cross([0.0, 0.0, 1.0], ahead)
        self.inertia = box(MASS, SIZE)  # of a cube: the same about any axes
        self.payload = Payload(MASS, np.diag(self.inertia), REACH * ahead)

    def contact(self, name: str, effector: Array, spin: float, payload: Array, payload_spin: float) -> Contact:
        """At these velocities of both contact points [m/s] and turns about z [rad/s]; the spacecraft is at rest."""
        v = np.zeros(self.rover.nv)
        plane = self.point.jacobian[np.ix_([0, 1, 5], self.at)]
        v[self.at] = np.linalg.solve(plane, [effector[0], effector[1], spin])
        turn = np.array([0.0, 0.0, payload_spin])
        return Contact(name, v, np.concatenate([payload + np.cross(turn, self.payload.place), turn]))

    def contacts(self) -> list[Contact]:
        """Case 1 and 2, soft and hard. The contact point of a spinning payload moves across the wrist."""
        around = -TANGENTIAL * self.across
        oblique = HARD * (math.cos(HARD_ANGLE) * -self.across + math.sin(HARD_ANGLE) * -self.ahead)
        back = -self.ahead
        return [
            self.contact("1, soft", around, SPIN, around, SPIN),
            self.contact("1, soft, effector does not turn", around, 0.0, around, SPIN),
            self.contact("1, hard", around, SPIN, oblique, SPIN),
            self.contact("2, soft", NORMAL * back, 0.0, NORMAL * back, 0.0),
            self.contact("2, hard", NORMAL * back, 0.0, NORMAL_HARD * back, 0.0),
        ]

    def caught(self, one: Contact, *, locked: bool = False, restitution: float = 0.0) -> tuple[Array, float, float]:
        """Speeds of the arm, energy lost [J], linear momentum made [N s]; the base's translation locked or free."""
        moving = slice(3, None) if locked else slice(None)
        found = capture(
            self.M[moving, moving], self.point.jacobian[:, moving], one.velocity[moving], self.payload,
            one.payload_velocity, restitution=restitution,
        )  # fmt: skip
        v = np.zeros(self.rover.nv)
        v[moving] = found.velocity
        made = self.M[:3] @ (v - one.velocity) + MASS * (found.payload_velocity - one.payload_velocity)[:3]
        return v, found.energy_lost, float(np.linalg.norm(made))

    def follow(self, one: Contact, *, locked: bool = False, brake: float = 0.0, seconds: float = SECONDS) -> Motion:
        """The motion after a plastic capture, with joints braked by so much [N m s/rad]."""
        body = Body("payload", MASS, (0.0, 0.0, 0.0), self.inertia)
        arm = replace(self.arm, joint_damping=brake)
        rover = Rover(holding(arm.tree(), body, (arm.wrist_length + REACH, 0.0, 0.0)))
        vehicle = VehicleModel(
            rover.chain, None, IDLE, None, np.zeros(3), rails=BASE_PLACE if locked else NOTHING,
            springs=make_springs(rover),
        )  # fmt: skip
        state = make_vehicle_state(rover)
        v, _, _ = self.caught(one, locked=locked)
        state.q[:], state.v[:] = rover.tree_configuration(self.q), rover.tree_speeds(v)
        meter = EnergyMeter(rover, vehicle, state)
        first = meter.read()
        scene, rows = BoundArguments(Scene(vehicle, state, meter.ledger)), []
        speeds = [int(rover.chain.independent[k]) for k in self.at]
        bends = [int(rover.chain.independent[k]) for k in self.bends]
        for k in range(round(seconds / STEP / EVERY) + 1):
            angles, rates = state.q[[1 + s for s in speeds]] - POSTURE, state.v[speeds]
            x, y, z, w = state.q[3:7]
            turn = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
            deflections = state.q[[1 + s for s in bends]]
            rows.append((k * EVERY * STEP, *angles, *deflections, turn, np.hypot(*state.q[:2]), np.abs(rates).max()))
            run_bound(scene, EVERY, STEP)
        table, last = np.array(rows), meter.read()
        residue = 0.0 if first.stored == 0.0 else abs(last.residue(first)) / max(first.stored, last.stored)
        turned, way, fastest = table[:, -3], table[:, -2], table[:, -1]
        return Motion(table[:, 0], table[:, 1:4], table[:, 4:-3], turned, way, fastest, residue)


def first_frequencies(modes: int) -> tuple[float, float]:
    """First frequency [Hz] of the arm with its payload, craft and joints held: ours and by finite elements."""
    arm = SpaceArm(spacecraft_mass=1e13, upper=replace(ARM.upper, modes=modes), lower=replace(ARM.lower, modes=modes))
    body = Body("payload", MASS, (0.0, 0.0, 0.0), box(MASS, SIZE))
    tree = holding(arm.tree(), body, (arm.wrist_length + REACH, 0.0, 0.0))
    rover = Rover(tree.with_locks(dict(zip(JOINTS, POSTURE, strict=True))))
    springs = {joint.name: joint.stiffness for joint in tree.joints}
    K = np.diag([springs[name] for name in rover.joint_names])
    squares = np.linalg.eigvals(np.linalg.solve(rover.mass_matrix(rover.neutral())[6:, 6:], K)).real
    at = np.cumsum(POSTURE)
    wrist = np.array([math.cos(at[2]), math.sin(at[2])])

    def body_at(mass: float, inertia: float, way: float) -> EndBody:
        return EndBody(mass, inertia, (float(way * wrist[0]), float(way * wrist[1])))

    hub = EndBody(arm.joint_mass, box(arm.joint_mass, (0.4, 0.4, 0.4))[2])
    element = frequencies(
        [
            Beam(boom.length, boom.mass, boom.bending_stiffness, float(angle))
            for boom, angle in zip((arm.upper, arm.lower), at, strict=False)
        ],
        [[hub], [
            body_at(arm.wrist_mass, box(arm.wrist_mass, (arm.wrist_length, 0.3, 0.3))[2], 0.5 * arm.wrist_length),
            body_at(MASS, box(MASS, SIZE)[2], arm.wrist_length + REACH),
        ]],
    )  # fmt: skip
    return math.sqrt(squares.min()) / (2.0 * math.pi), float(element[0]) / (2.0 * math.pi)


def legs() -> tuple[float, float, float]:
    """RCP: deflection [mm] of a leg's end under 200 N; T_c [J] at 60 degrees, and that of the first hit on steel."""
    stiffness, angle = 200.0 / 0.004, math.radians(60.0)
    rigid = rcp(added_mass=22.7)
    directions = ((1.0, 0.0, 0.0), stiffness, 0.0), ((0.0, 0.0, 1.0), stiffness, 0.0)
    rover = Rover(with_flexible_legs(rigid.tree, *directions))
    of_joint = {joint.name: joint.stiffness for joint in rover.tree.joints}
    springs = np.array([0.0] * 6 + [of_joint[name] for name in rover.joint_names])
    q, v = rover.neutral(), np.zeros(rover.nv)
    v[0] = 0.07
    M, J = rover.mass_matrix(q), rover.impact_jacobian(q, angle)
    at_rest, moving = rigid.neutral(), np.zeros(rigid.nv)
    moving[0] = 0.07
    whole = effective_kinetic_energy(rigid.mass_matrix(at_rest), rigid.impact_jacobian(at_rest, angle), moving)
    hit = compliant_effective_kinetic_energy(M, J, v, springs, 1e9).energy
    forward = 6 + rover.joint_names.index("front_left_1_flex")
    bent = 1e3 * 200.0 / springs[forward]
    return bent, whole, hit
