"""Shared by the physics tests: Pinocchio's model of a rover, read from its URDF alone, and a rover on soil."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from models.actuators.drive import Drive
from models.contact.ground import Ground
from models.contact.obstacle import Obstacle
from models.rover import rcp
from models.rover.rover import Rover
from models.vehicle import VehicleModel, VehicleState, make_vehicle_state, run
from models.wheel import RigidWheel, Soil


class Peer:
    """A rover in Pinocchio."""

    def __init__(self, rover: Rover) -> None:
        import pinocchio

        self.pinocchio = pinocchio
        self.names = rover.tree_joint_names
        self.model = pinocchio.buildModelFromXML(rover.urdf(), pinocchio.JointModelFreeFlyer())
        self.data = self.model.createData()

    def q(self, q):
        """Pinocchio stores an endless (URDF 'continuous') joint as cosine and sine; ours keeps the angle."""
        out = self.pinocchio.neutral(self.model)
        out[:3] = q[:3]
        out[3:7] = q[3:7] / np.linalg.norm(q[3:7])
        for name, angle in zip(self.names, q[7:], strict=True):
            joint = self.model.joints[self.model.getJointId(name)]
            out[joint.idx_q : joint.idx_q + joint.nq] = (np.cos(angle), np.sin(angle)) if joint.nq == 2 else (angle,)
        return out

    def mass_matrix(self, q):
        upper = np.triu(self.pinocchio.crba(self.model, self.data, self.q(q)))
        return upper + np.triu(upper, 1).T

    def energy(self, q, v, gravity=(0.0, 0.0, 0.0)) -> float:
        """Kinetic and potential energy [J]."""
        self.model.gravity.linear = np.array(gravity)
        kinetic = self.pinocchio.computeKineticEnergy(self.model, self.data, self.q(q), v)
        return kinetic + self.pinocchio.computePotentialEnergy(self.model, self.data, self.q(q))

    def momentum(self, q, v):
        """Linear momentum [kg m/s] and angular momentum about the world's origin [kg m^2/s], world axes."""
        about_com = self.pinocchio.computeCentroidalMomentum(self.model, self.data, self.q(q), v)
        com = self.pinocchio.centerOfMass(self.model, self.data, self.q(q))
        return np.concatenate([about_com.linear, about_com.angular + np.cross(com, about_com.linear)])


@pytest.fixture(scope="session")
def as_peer():
    return Peer


class Bench:
    """An RCP with added weights on the soil of Juno's first run (Petersen 2012, Table 6.1), friction angle assumed."""

    dt = 1e-4
    radius = 0.175
    mass, g = 142.7, 9.81
    stiffness = 5.5e4  # of the plate
    soil = Soil(2.07e5, 0.583, friction_angle=math.radians(30.0), rebound=0.0674, slip_modulus=0.689)
    wheel = RigidWheel(radius, 0.15, soil)
    drive = Drive(
        gain=200.0, integral_gain=2000.0, torque_limit=40.0, gear_friction=0.5, friction_speed=0.02,
        coast_damping=0.5, brake_damping=40.0, brakes_on_cut=0.0,
    )  # fmt: skip
    free = drive._replace(gear_friction=0.0, coast_damping=0.0)  # nothing lost in the drives once cut

    def __init__(self) -> None:
        self.rover = rcp(added_mass=22.7, wheel_width=0.15)
        joints = self.rover.joint_names
        # in the order of wheel_names
        self.axles = [6 + joints.index(f"{name}_drive") for name in self.rover.wheel_names]
        self.peer = Peer(self.rover)
        self.settled = make_vehicle_state(self.rover)
        run(self.vehicle(), self.settled, 20000, self.dt)

    def vehicle(
        self,
        *,
        damping=2.0,
        slip_speed=0.02,
        shear=0.001,
        drive=drive,
        angle_deg=90.0,
        foot=1e6,
        friction=0.0,
        slope=0.0,
    ) -> VehicleModel:
        return VehicleModel(
            self.rover.chain,
            Ground(np.array(self.wheel.parameters), damping, slip_speed, shear, 0.005),
            drive,
            Obstacle(math.radians(angle_deg), foot, self.stiffness, 1.0, 0.9, friction, 0.005),
            self.g * np.array([math.sin(slope), 0.0, -math.cos(slope)]),
        )

    def resting(self) -> VehicleState:
        """A rover at rest, two seconds after it was put on the soil with its drives cut."""
        motion = make_vehicle_state(self.rover)
        motion.q[:] = self.settled.q
        return motion

    def driving(self, where: VehicleModel, seconds: float, speed: float = 0.4, dt: float = dt) -> VehicleState:
        """A rover whose drives have been set to a speed [rad/s] from rest, some time ago."""
        motion = self.resting()
        motion.drives.cut[:] = 0.0
        motion.drives.set_speed[:] = speed
        run(where, motion, round(seconds / dt), dt)
        return motion

    def sinkage(self, motion: VehicleState):
        """Of every wheel [m], from the configuration."""
        return self.radius - self.rover.wheel_positions(motion.q)[:, 2]

    def momentum(self, motion: VehicleState):
        return self.peer.momentum(motion.q, motion.v)

    def energy(self, motion: VehicleState) -> float:
        """Kinetic and potential energy, and what the static laws of soil and plate have stored [J]."""
        soil = sum(quad(lambda z: self.wheel.normal_force(z)[0], 0.0, z)[0] for z in self.sinkage(motion))
        plate = 0.5 * self.stiffness * np.sum(np.maximum(-motion.obstacle.gap, 0.0) ** 2)
        return self.peer.energy(motion.q, motion.v, gravity=(0.0, 0.0, -self.g)) + soil + plate


@pytest.fixture(scope="session")
def bench() -> Bench:
    return Bench()
