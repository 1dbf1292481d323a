"""What a rig is made of, nominal or perturbed."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from models.actuators.drive import Drive
from models.actuators.pneumatic import Cylinder
from models.contact.ground import Ground
from models.contact.obstacle import Obstacle, check_obstacle
from models.rover import RcpParameters, Rover, rcp
from models.sensors.piezo import Piezo
from models.step import Motion, Vehicle, make_motion, settle
from models.wheel import RigidWheel, Soil

GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True)
class Spread:
    """How far a simulated rig strays from its nominal model, one standard deviation.

    Attributes:
        mass: relative, each mass of the rover by itself.
        soil: relative, stiffness and slip modulus.
        legs: relative, leg stiffness.
        sensitivity: relative, each piezo channel.
        start_m: start distance, lateral place and sensor alignment [m].
    """

    mass: float
    soil: float
    legs: float
    sensitivity: float
    start_m: float


@dataclass(frozen=True)
class RigParameters:
    """A rig: rover, soil, obstacle, actuators and sensors.

    Attributes:
        rover: masses and sizes.
        soil: of the ground.
        wheel_variant: of the wheel-soil model.
        soil_damping: [s/m], see models.contact.ground.
        slip_speed, shear_displacement, shear_damping: [m/s], [m], [s], see models.contact.ground.
        obstacle: plane and contact law; its foot is set from start_distance.
        start_distance: way of the front wheels to the obstacle [m].
        start_across: lateral place of the rover [m], to port.
        drive: of every wheel.
        cylinder: of both side bogies.
        piezo: channels of the starboard obstacle, or of the front wheels' bumpers.
        sample_rate_hz: of the piezo channels.
        alignment: (across, up) error of the sensing triangle [m].
        substep_ns: longest contact sub-step.
    """

    rover: RcpParameters
    soil: Soil
    wheel_variant: str
    soil_damping: float
    slip_speed: float
    shear_displacement: float
    shear_damping: float
    obstacle: Obstacle
    start_distance: float
    start_across: float
    drive: Drive
    cylinder: Cylinder
    piezo: Piezo
    sample_rate_hz: int
    alignment: tuple[float, float]
    substep_ns: int

    def build(self) -> tuple[Rover, Vehicle, Motion]:
        """The rover, settled on its soil at the start distance. Raises ValueError with what is out of range."""
        check_obstacle(self.obstacle)
        rover = rcp(**vars(self.rover))
        wheel = rover.tree.wheels[0]
        packed = RigidWheel(wheel.radius, wheel.width, self.soil, self.wheel_variant).parameters
        front = rover.wheel_positions(rover.neutral())[0, 0]
        beta = self.obstacle.angle
        reach = wheel.radius * (1.0 - math.cos(beta)) / math.sin(beta)
        vehicle = Vehicle(
            rover.chain,
            Ground(packed, self.soil_damping, self.slip_speed, self.shear_displacement, self.shear_damping),
            self.drive,
            self.obstacle._replace(foot=front + self.start_distance + reach),
            np.array(GRAVITY),
        )
        motion = make_motion(rover)
        settle(vehicle, motion)
        motion.q[0], motion.q[1] = 0.0, self.start_across
        return rover, vehicle, motion

    def perturbed(self, spread: Spread, random: np.random.Generator) -> RigParameters:
        """Another rig of the same kind: the plant is not the twin."""

        def vary(value: float, relative: float) -> float:
            return value * (1.0 + relative * float(random.standard_normal()))

        masses = {
            item.name: vary(getattr(self.rover, item.name), spread.mass)
            for item in fields(self.rover)
            if item.name.endswith("_mass")
        }
        stiffness, slip_modulus = vary(self.soil.stiffness, spread.soil), vary(self.soil.slip_modulus, spread.soil)
        soil = replace(self.soil, stiffness=stiffness, slip_modulus=slip_modulus)
        gains = np.array([vary(value, spread.sensitivity) for value in self.piezo.sensitivity])
        places = spread.start_m * random.standard_normal(4)
        return replace(
            self,
            rover=replace(self.rover, **masses),
            soil=soil,
            obstacle=self.obstacle._replace(stiffness=vary(self.obstacle.stiffness, spread.legs)),
            piezo=self.piezo._replace(sensitivity=gains),
            start_distance=max(self.start_distance + float(places[0]), 1e-3),
            start_across=self.start_across + float(places[1]),
            alignment=(self.alignment[0] + float(places[2]), self.alignment[1] + float(places[3])),
        )
