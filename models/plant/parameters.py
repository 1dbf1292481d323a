"""What a rig is made of, nominal or perturbed."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from models.actuators.drive import Drive, check_drive
from models.actuators.pneumatic import Cylinder, check_cylinder
from models.contact.obstacle import Obstacle, check_obstacle
from models.plant.ground import GroundParameters
from models.rover import Parameters, Rover, rover_of
from models.sensors.piezo import Piezo, check_piezo
from models.step import Motion, Vehicle, make_motion, settle

GRAVITY = (0.0, 0.0, -9.81)
WEIGHTLESS = (0.0, 0.0, 0.0)
# Axles that nothing drives and nothing holds.
OFF = Drive(0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Spread:
    """How far a simulated rig strays from its nominal model, one standard deviation.

    Attributes:
        mass: relative, each mass of the rover by itself.
        soil: relative, stiffness of the ground and slip modulus of soil.
        legs: relative, leg stiffness, of each leg by itself where each gives by itself.
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
        rover: masses and sizes; its steering is locked straight ahead.
        grouser_height: of the wheels [m]; how many there are, is said in `obstacle`.
        ground: what the rover stands on.
        launch_speed: at which it comes gliding from the start on [m/s], its axles free, for ground on which no wheel
            could drive it; 0: it stands, and is driven.
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

    rover: Parameters
    grouser_height: float
    ground: GroundParameters
    launch_speed: float
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
        """The rover, settled on its ground at the start distance. Raises ValueError with what is out of range."""
        check_obstacle(self.obstacle)
        check_drive(self.drive)
        check_cylinder(self.cylinder)
        check_piezo(self.piezo)
        rover = rover_of(self.rover, locks={"steering": 0.0}).with_grousers(self.grouser_height)
        front = rover.wheel_positions(rover.neutral())[0, 0]
        beta = self.obstacle.angle
        reach = rover.tree.wheels[0].radius * (1.0 - math.cos(beta)) / math.sin(beta)
        soil, firm, held = self.ground.under(rover)
        vehicle = Vehicle(
            rover.chain,
            soil,
            OFF if self.launch_speed > 0.0 else self.drive,
            self.obstacle._replace(foot=front + self.start_distance + reach),
            np.array(WEIGHTLESS if self.ground.kind == "none" else GRAVITY),
            firm,
            held,
        )
        motion = make_motion(rover)
        motion.q[2] = self.grouser_height
        settle(vehicle, motion)
        motion.q[0], motion.q[1], motion.v[0] = 0.0, self.start_across, self.launch_speed
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
        soil = self.ground.soil
        stiffness, slip_modulus = vary(soil.stiffness, spread.soil), vary(soil.slip_modulus, spread.soil)
        soil = replace(soil, stiffness=stiffness, slip_modulus=slip_modulus)
        gains = np.array([vary(value, spread.sensitivity) for value in self.piezo.sensitivity])
        places = spread.start_m * random.standard_normal(4)
        # with legs that give by themselves, `stiffness` is the plate's
        lumped = not self.obstacle.leg_compliance.any()
        contact = vary(self.obstacle.stiffness, spread.legs if lumped else 0.0)
        legs = np.array([1.0 / vary(1.0, spread.legs) for _ in self.obstacle.leg_compliance])
        firm = self.ground.firm
        firm = firm._replace(law=firm.law._replace(stiffness=vary(firm.law.stiffness, spread.soil)))
        return replace(
            self,
            rover=replace(self.rover, **masses),
            ground=replace(self.ground, soil=soil, firm=firm),
            obstacle=self.obstacle._replace(stiffness=contact, leg_compliance=self.obstacle.leg_compliance * legs),
            piezo=self.piezo._replace(sensitivity=gains),
            start_distance=max(self.start_distance + float(places[0]), 1e-3),
            start_across=self.start_across + float(places[1]),
            alignment=(self.alignment[0] + float(places[2]), self.alignment[1] + float(places[3])),
        )
