"""Parameters of a rig, nominal or perturbed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np
from scipy.spatial.transform import Rotation

from models.actuators.compressible import Gas, Pneumatics, check_pneumatics, make_gas
from models.actuators.drive import Drive, check_drive
from models.actuators.linkage import Linkage, check_linkage
from models.actuators.pneumatic import Cylinder, check_cylinder, mount_cylinders
from models.actuators.servo import Servo, make_servos
from models.actuators.springs import make_springs
from models.actuators.stops import make_stops
from models.contact.body_ground import make_body_contact
from models.contact.obstacle import Obstacle, check_obstacle
from models.kernels.compiled import FloatArray, IntArray
from models.plant.advance import StepLengths
from models.plant.grapple import CaptureParameters
from models.plant.ground import GroundParameters
from models.plant.instruments import InstrumentParameters
from models.plant.put_down import put_down
from models.plant.reading_noise import ReadingNoise
from models.plant.towing import Towing
from models.plant.veer import Veer
from models.rover import Parameters
from models.rover.locks import with_joints_at
from models.rover.rover import Rover
from models.sensors.disturbance import SensorDisturbances
from models.sensors.load_sensors import LoadSensors
from models.sensors.piezo import Piezo, check_piezo
from models.terrain.profile import Profile, moved
from models.terrain.surface import quaternion_of, stand_on, surface
from models.vehicle import HITTING_WHEELS, RAILS, VehicleModel, VehicleState, make_vehicle_state, settle
from models.vehicle.loads import CubePayload, Drawbar
from models.vehicle.model import start_configuration

WEIGHTLESS = (0.0, 0.0, 0.0)
# Axles without drive and brake.
OFF = Drive(0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Spread:
    """Deviation of a simulated rig from its nominal model, one standard deviation each.

    Attributes:
        mass: relative, each mass of the rover independently.
        soil: relative, stiffness of the ground and slip modulus of soil.
        legs: relative, leg stiffness, of each leg independently where each leg has a spring.
        sensitivity: relative, each piezo channel.
        start_m: start distance, lateral place and sensor alignment; of a payload its gap and its offset [m].
        heading: of the rover at the start [rad].
        droop: relative, time constant of each piezo channel.
        loads: of the load channels: zero, drift, gain and cross-talk as in `LoadSensors.perturbed`.
        friction: relative, of the cylinders.
        drives: relative, gains, gear friction and damping of the drives, each independently, and of each servo.
    """

    mass: float
    soil: float
    legs: float
    sensitivity: float
    start_m: float
    droop: float = 0.0
    heading: float = 0.0
    loads: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    friction: float = 0.0
    drives: float = 0.0


@dataclass(frozen=True)
class RigParameters:
    """A rig: rover, ground, obstacle if any, loads, actuators and sensors.

    Attributes:
        rover: masses and sizes; its steering is locked straight ahead.
        grouser_heights: of each wheel [m]; the number of grousers on those that hit is in `obstacle`.
        ground: under the rover.
        launch_speed: initial speed [m/s], with free axles, for ground on which the wheels have no traction; 0: the
            rover starts at rest and is driven.
        obstacle: plane and contact law; its foot is set from start_distance. None: there is none.
        start_distance: distance of the front wheels to the obstacle, or to where a profile begins to change [m].
        start_across: lateral place of the rover [m], to port.
        drive: of every wheel.
        cylinder: each cylinder of the rover.
        piezo: channels of the starboard obstacle, or of the front wheels' bumpers. None: there are none.
        sample_rate_hz: of the piezo channels; ignored without them.
        alignment: (across, up) error of the sensing triangle [m].
        substep_ns: longest step of time at a contact.
        payload: what the rover carries.
        drawbar: pull on the rover, which settles under it with the axles held.
        disturbance: of the piezo channels, or None.
        snap_share: of the force at a slip off the plate's edge, with which the shield snaps back.
        veer: how the rover stands and drives askew.
        cylinder_joints: those with a cylinder; None: the usual ones of the rover (`Parameters.cylinder_joints`).
        linkage: pins, stroke and friction of each cylinder, or None.
        pneumatics: compressible gas in the cylinders, which then need a linkage, or None.
        regulated: the cylinders' supply is moved during a run, and closed at the start.
        towing: what holds the driving rover back, at the place of the drawbar, or None.
        loads: leg sensors and load cell, or None.
        cylinder_areas: (cylinders,) calibrated piston area of each [m^2]; empty: that of `cylinder`.
        reading_noise: of the pressures and speeds that the devices read.
        instruments: of motion, by role.
        settles: whether `build` lets the rover settle; without, it is as it was put down, and no step is run.
        servos: of the driven joints, which turn (`rover`); empty: there are none.
        capture: of a payload by a space arm; None: there is nothing to capture.
        stretch: a step where nothing stiff is near may be so many times as long as `substep_ns`.
    """

    rover: Parameters
    grouser_heights: tuple[float, ...]
    ground: GroundParameters
    launch_speed: float
    obstacle: Obstacle | None
    start_distance: float
    start_across: float
    drive: Drive
    cylinder: Cylinder
    piezo: Piezo | None
    sample_rate_hz: int
    alignment: tuple[float, float]
    substep_ns: int
    payload: CubePayload = field(default_factory=CubePayload)
    drawbar: Drawbar = field(default_factory=Drawbar)
    disturbance: SensorDisturbances | None = None
    snap_share: float = 0.0
    veer: Veer = field(default_factory=Veer)
    cylinder_joints: tuple[str, ...] | None = None
    linkage: Linkage | None = None
    pneumatics: Pneumatics | None = None
    regulated: bool = False
    towing: Towing | None = None
    loads: LoadSensors | None = None
    cylinder_areas: tuple[float, ...] = ()
    reading_noise: ReadingNoise = field(default_factory=ReadingNoise)
    instruments: Mapping[str, InstrumentParameters] = field(default_factory=dict)
    settles: bool = True
    servos: tuple[Servo, ...] = ()
    capture: CaptureParameters | None = None
    stretch: int = 1

    @property
    def step_lengths(self) -> StepLengths:
        """Limits of a step of time."""
        return StepLengths(self.substep_ns, self.stretch * self.substep_ns)

    def build(self) -> tuple[Rover, VehicleModel, VehicleState]:
        """The rover, settled on its ground at the start distance. Raises ValueError with what is out of range."""
        pull = self.drawbar.wrench()
        rover, vehicle, state = self.assemble()
        if self.settles and rover.wheel_names:  # what has no wheels floats where it is
            self._settle(rover, vehicle, state, pull)
        state.pull[:] = pull
        return rover, vehicle, state

    def assemble(self) -> tuple[Rover, VehicleModel, VehicleState]:
        """The same before it has settled. Raises ValueError with what is out of range."""
        check_drive(self.drive)
        check_cylinder(self.cylinder)
        if self.linkage is not None:
            check_linkage(self.linkage)
        if self.pneumatics is not None:
            check_pneumatics(self.pneumatics)
        if self.piezo is not None:
            check_piezo(self.piezo)
        rover = self.make_rover()
        under = replace(self.ground, profile=self.placed_profile(rover)).under(rover)
        joints = self.rover.cylinder_joints if self.cylinder_joints is None else self.cylinder_joints
        vehicle = VehicleModel(
            rover.chain,
            under.soil,
            OFF if self.launch_speed > 0.0 else self.drive,
            self._placed_obstacle(rover),
            np.array(WEIGHTLESS if self.ground.kind == "none" else (0.0, 0.0, -self.ground.gravity)),
            under.compliant,
            under.rigid,
            self.ground.terrain_under(len(rover.wheel_names)),
            mount_cylinders(rover, joints, self.cylinder, self.linkage, self.cylinder_areas),
            make_stops(rover),
            # of a body on a profile or a mesh there is no model
            make_body_contact(rover) if self.ground.kind != "none" and not self.ground.shaped else None,
            servos=make_servos(rover, self.servos),
            rails=self._rails(rover),
            hard=under.hard,
            springs=make_springs(rover),
        )
        supply = 0.0 if self.regulated else self.cylinder.supply
        return rover, vehicle, make_vehicle_state(rover, cylinders=len(joints), supply=supply, servos=self.servos)

    @property
    def held(self) -> RigParameters:
        """The same, driven joints locked at their start angles and sprung ones relaxed: what statics ask for.

        Itself without any.
        """
        sprung = [joint.name for joint in self.rover.tree().joints if joint.stiffness and joint.locked_at is None]
        angles = (*((servo.joint, servo.start) for servo in self.servos), *((name, 0.0) for name in sprung))
        if not angles:
            return self
        return replace(self, rover=with_joints_at(self.rover, angles), servos=())

    def _rails(self, rover: Rover) -> IntArray | None:
        """The speeds that a carriage's rails hold. Raises ValueError: on ground on which there are no rails."""
        if not rover.tree.guided:
            return None
        ground = self.ground
        if ground.kind not in ("soil", "firm") or ground.pitch or ground.roll or ground.relief is not None:
            raise ValueError(f"rover {rover.tree.name} is guided by rails, allowed: level soil or firm ground")
        return RAILS

    def make_rover(self) -> Rover:
        """The rover with its payload and grousers, locked as on the rig. Runs no kernel."""
        locks = self.veer.locks(self.rover.rig_locks(), self.rover.wheels())
        return self.payload.on(self.rover.build(locks=locks)).with_grousers(self.grouser_heights)

    def make_gas(self, vehicle: VehicleModel, state: VehicleState) -> Gas | None:
        """Gas in the cylinders of a vehicle that was built from this; None: none, or their chambers have no gas model.

        Raises:
            ValueError: they have no linkage, and so no volume.
        """
        mounts = vehicle.cylinders
        if self.pneumatics is None or not mounts.speed.size:
            return None
        if mounts.linkage is None:
            raise ValueError("pneumatics: the cylinders have no linkage, needed: one, for the volume of their chambers")
        return make_gas(self.pneumatics, self.cylinder.supply, mounts, state.cylinders, state.q[mounts.speed + 1])

    def placed_profile(self, rover: Rover) -> Profile | None:
        """The profile in the world: it begins to change at the start distance before the front wheels' rims.

        On a height map it stands on the surface there, in the middle of the rover's way.
        """
        profile = self.ground.profile
        if profile is None:
            return None
        places = rover.wheel_positions(start_configuration(rover, self.servos))
        ahead = float((places[:, 0] + rover.chain.wheel_radius).max()) + self.start_distance
        up = 0.0 if self.ground.relief is None else surface(self.ground.terrain, ahead, 0.0)[0]
        return moved(profile, ahead, up)

    def _placed_obstacle(self, rover: Rover) -> Obstacle | None:
        """The obstacle at the start distance before the front wheels."""
        if self.obstacle is None:
            return None
        check_obstacle(self.obstacle)
        if any(self.ground.wheel_height):
            raise ValueError(f"ground: wheel_height is {self.ground.wheel_height} m, allowed with an obstacle: 0")
        terrain = self.ground.terrain
        tracks = rover.wheel_positions(start_configuration(rover, self.servos))[:HITTING_WHEELS]
        beta = self.obstacle.angle
        radii = {wheel.radius for wheel in rover.tree.wheels[:HITTING_WHEELS]}
        if len(radii) > 1:
            found = " and ".join(f"{radius:g}" for radius in sorted(radii))
            raise ValueError(f"front wheels of radius {found} m, allowed before an obstacle: the same for both")
        reach = radii.pop() * (1.0 - math.cos(beta)) / math.sin(beta)
        foot, across = float(tracks[0, 0]) + self.start_distance + reach, tracks[:, 1]
        stand = stand_on(terrain, foot, across)
        if terrain is not None and terrain.relief is not None:  # the stand is there
            foot, across = 0.0, np.zeros(len(tracks))
        plate = self.obstacle.plate
        if plate is not None:  # before each wheel, where it hits if the rover drives straight
            plate = plate._replace(across=plate.across + across, slipped=np.zeros(len(across)))
        return self.obstacle._replace(foot=foot, plate=plate, stand=stand)

    def _settle(self, rover: Rover, vehicle: VehicleModel, state: VehicleState, pull: FloatArray) -> None:
        """Settle the rover on its ground under the pull (6,) of its drawbar, and move it to the start."""
        step = self.substep_ns * 1e-9
        if vehicle.terrain is None:
            state.q[2] = self._height(rover)
            if self.veer.heading != 0.0:
                self.veer.turn(state.q, self.veer.heading)
            settle(vehicle, state, step=step)
            if pull.any():
                self._hold(vehicle, state, step, pull)
            state.q[0], state.q[1], state.v[0] = 0.0, self.start_across + self.veer.across, self.launch_speed
            return
        terrain = vehicle.terrain
        ahead, left, normal = (np.array(axis) for axis in terrain[:3])
        highest = 0.0 if terrain.wheel_height is None else max(0.0, float(terrain.wheel_height.max()))
        state.q[:3], state.q[3:7] = (self._height(rover) + highest) * normal, quaternion_of(terrain)
        uneven = terrain.relief is not None or terrain.given is not None
        if uneven:
            put_down(rover, terrain, state.q, self.start_across + self.veer.across, self.veer.heading)
        self._hold(vehicle, state, step)
        if pull.any():
            self._hold(vehicle, state, step, pull)
        if uneven:  # it stays where it has settled: elsewhere the ground is another
            return
        if self.veer.heading != 0.0:
            turn = Rotation.from_rotvec(self.veer.heading * normal) * Rotation.from_quat(state.q[3:7])
            state.q[3:7] = turn.as_quat()
        across = self.start_across + self.veer.across
        state.q[:3] += (across - left @ state.q[:3]) * left - (ahead @ state.q[:3]) * ahead
        state.v[0] = self.launch_speed

    def _height(self, rover: Rover) -> float:
        """Of the base [m] over level ground that the lowest wheel touches."""
        alike = len({*self.grouser_heights}) == len({wheel.radius for wheel in rover.tree.wheels}) == 1
        if alike and not self.servos:  # then the rims stand on the ground in the neutral configuration
            return self.grouser_heights[0]
        places = rover.wheel_positions(start_configuration(rover, self.servos))
        return float((rover.chain.wheel_radius - places[:, 2]).max())

    @staticmethod
    def _hold(vehicle: VehicleModel, state: VehicleState, step: float, pull: FloatArray | None = None) -> None:
        """Settle with the axles held: otherwise the rover would roll away, down a slope or after the pull (6,)."""
        state.drives.cut[:] = 0.0
        settle(vehicle, state, step=step, pull=pull)
        state.drives.cut[:], state.drives.wound[:] = 1.0, 0.0

    def perturbed(self, spread: Spread, random: np.random.Generator) -> RigParameters:
        """A perturbed rig of the same kind: the plant is not the twin."""

        def vary(value: float, relative: float) -> float:
            return value * (1.0 + relative * float(random.standard_normal()))

        masses = {
            item.name: vary(getattr(self.rover, item.name), spread.mass)
            for item in fields(self.rover)
            if item.name.endswith("_mass") and getattr(self.rover, item.name) is not None
        }
        soil = self.ground.soil
        stiffness, slip_modulus = vary(soil.stiffness, spread.soil), vary(soil.slip_modulus, spread.soil)
        factors = stiffness / soil.stiffness, slip_modulus / soil.slip_modulus
        soil = replace(soil, stiffness=stiffness, slip_modulus=slip_modulus)
        regions = tuple(one.varied(*factors) for one in self.ground.regions)
        piezo = self.piezo
        if piezo is not None:
            gains = np.array([vary(value, spread.sensitivity) for value in piezo.sensitivity])
            piezo = piezo._replace(sensitivity=gains)
        places = spread.start_m * random.standard_normal(4)
        obstacle = self.obstacle
        if obstacle is not None:
            # with compliant legs, `stiffness` is the plate's
            lumped = not obstacle.leg_compliance.any()
            contact = vary(obstacle.stiffness, spread.legs if lumped else 0.0)
            legs = np.array([1.0 / vary(1.0, spread.legs) for _ in obstacle.leg_compliance])
            obstacle = obstacle._replace(stiffness=contact, leg_compliance=obstacle.leg_compliance * legs)
        compliant = self.ground.compliant
        compliant = compliant._replace(law=compliant.law._replace(stiffness=vary(compliant.law.stiffness, spread.soil)))
        if piezo is not None and spread.droop > 0.0:
            piezo = piezo._replace(droop_time=np.array([vary(value, spread.droop) for value in piezo.droop_time]))
        veer = self.veer
        if spread.heading > 0.0:
            veer = replace(veer, heading=veer.heading + spread.heading * float(random.standard_normal()))
        linkage = self.linkage
        if linkage is not None and spread.friction > 0.0:
            share = max(vary(1.0, spread.friction), 0.0)
            linkage = linkage._replace(static=share * linkage.static, coulomb=share * linkage.coulomb)
        drive = self.drive
        if spread.drives > 0.0:
            names = "gain", "integral_gain", "gear_friction", "coast_damping", "brake_damping"
            # a drive without any gain is a fault, not a deviation
            varied = {name: max(vary(1.0, spread.drives), 0.1) * getattr(drive, name) for name in names}
            drive = drive._replace(**varied)
        servos = self.servos
        if spread.drives > 0.0:
            names = "position_gain", "velocity_gain", "gear_friction", "coast_damping", "brake_damping"
            servos = tuple(
                one._replace(**{name: max(vary(1.0, spread.drives), 0.1) * getattr(one, name) for name in names})
                for one in servos
            )
        capture = self.capture
        if capture is not None:
            gap, offset = max(capture.gap + float(places[0]), 1e-3), capture.offset + float(places[1])
            capture = capture._replace(gap=gap, offset=offset)
        disturbance = None if self.disturbance is None else self.disturbance.drawn(random)
        loads = None if self.loads is None else self.loads.perturbed(*spread.loads, random)
        instruments = {role: one.perturbed(random) for role, one in self.instruments.items()}
        return replace(
            self,
            drive=drive,
            servos=servos,
            capture=capture,
            loads=loads,
            instruments=instruments,
            disturbance=disturbance,
            linkage=linkage,
            veer=veer,
            rover=replace(self.rover, **masses),
            ground=replace(self.ground, soil=soil, compliant=compliant, regions=regions),
            obstacle=obstacle,
            piezo=piezo,
            start_distance=max(self.start_distance + float(places[0]), 1e-3),
            start_across=self.start_across + float(places[1]),
            alignment=(self.alignment[0] + float(places[2]), self.alignment[1] + float(places[3])),
        )
