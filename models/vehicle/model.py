"""A vehicle: its constant part and its state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from models.actuators.drive import Drive, DriveState, make_drives
from models.actuators.pneumatic import NO_CYLINDERS, CylinderMounts, CylinderState, make_cylinders
from models.actuators.servo import JointServos, Servo, ServoState, make_servo_state
from models.actuators.springs import JointSprings
from models.actuators.stops import NO_STOPS, JointStops
from models.contact.body_ground import BodyContact
from models.contact.compliant import CompliantGround
from models.contact.constraints import RigidGround
from models.contact.ground import Ground
from models.contact.nonsmooth import HardContacts
from models.contact.obstacle import Obstacle, ObstacleContact, make_contact
from models.contact.wheel_slots import GroundContact, make_ground_contact
from models.kernels.compiled import FloatArray, IntArray
from models.rover.dynamics import Workspace, make_work
from models.rover.reduction import Chain
from models.rover.rover import Rover
from models.terrain import Terrain

# Speeds of the base that rails leave it are ahead and up.
RAILS = np.array([1, 3, 4, 5])
HITTING_WHEELS = 2  # the first wheels of a rover hit the obstacle


class VehicleModel(NamedTuple):
    """The constant part of a vehicle.

    Ground, terrain, obstacle, servos and springs are fixed when a step is compiled: each kind has separate code, and
    one that is absent (None) costs nothing (decision 0012).

    Attributes:
        chain: the rover.
        ground: soil, or None.
        drive: of every wheel that has a motor (`Chain.motor_wheel`).
        obstacle: plate and contact law, or None.
        gravity: (3,) [m/s^2] in world axes.
        compliant: ground that deforms by a contact law, or None.
        rigid: ground that does not deform, as unilateral constraints, or None. It comes last in a step.
        terrain: shape of the ground; None is level.
        cylinders: joints on which air cylinders push, if any.
        stops: of the suspension joints, if they have any.
        body: corners of the main body that meet the ground if the rover turns over, or None.
        servos: of driven joints, or None.
        rails: speeds of the base that a carriage's rails hold at zero, or None (`Tree.guided`).
        springs: of joints with passive springs, or None.
        hard: contacts of the wheels by nonsmooth laws, or None. They come last in a step.
    """

    chain: Chain
    ground: Ground | None
    drive: Drive
    obstacle: Obstacle | None
    gravity: FloatArray
    compliant: CompliantGround | None = None
    rigid: RigidGround | None = None
    terrain: Terrain = None
    cylinders: CylinderMounts = NO_CYLINDERS
    stops: JointStops = NO_STOPS
    body: BodyContact | None = None
    servos: JointServos | None = None
    rails: IntArray | None = None
    springs: JointSprings | None = None
    hard: HardContacts | None = None

    @property
    def yields(self) -> bool:
        """Whether its ground yields, so that slip and the shares of traction of a steady drive are determined."""
        return self.rigid is None and self.hard is None


class VehicleState(NamedTuple):
    """The variable part: configuration q, velocity v, joint torques, states and readings.

    q, v and torque are over all joints that turn, coupled ones included (`Rover.tree_configuration`,
    `Rover.tree_joint_names`); without couplings they are the rover's own q (nq,) and v (nv,). `torque` is an
    external input, in addition to drives and cylinders; `pull` (6,) is another, of a drawbar on the base: force [N] and
    moment [N m] about the base's origin, base axes.
    The first wheels of the rover, as many as `obstacle` has rows, are those that can hit the obstacle.
    """

    q: FloatArray
    v: FloatArray
    torque: FloatArray
    drives: DriveState
    ground: GroundContact
    obstacle: ObstacleContact
    work: Workspace
    cylinders: CylinderState
    pull: FloatArray
    servos: ServoState | None = None


def make_vehicle_state(
    rover: Rover,
    hitting_wheels: int = HITTING_WHEELS,
    cylinders: int = 0,
    supply: float = 0.0,
    servos: Sequence[Servo] = (),
) -> VehicleState:
    """Allocate a rover at rest in its neutral configuration, with so many cylinders, fed with that pressure [Pa].

    Driven joints are at their start angles, held by their servos.
    """
    wheels, speeds = len(rover.wheel_names), rover.chain.speed_parent.size
    return VehicleState(
        rover.tree_configuration(start_configuration(rover, servos)),
        np.zeros(speeds),
        np.zeros(speeds),
        make_drives(wheels),
        make_ground_contact(wheels),
        make_contact(hitting_wheels),
        make_work(rover.chain),
        make_cylinders(cylinders, supply),
        np.zeros(6),
        make_servo_state(servos, speeds),
    )


def start_configuration(rover: Rover, servos: Sequence[Servo]) -> FloatArray:
    """Configuration (nq,) with the base frame on the world frame, driven joints at their start, all others at zero."""
    q = rover.neutral()
    for servo in servos:
        q[7 + rover.joint_names.index(servo.joint)] = servo.start
    return q
