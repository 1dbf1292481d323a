"""From the config to the nominal rig: the rover twin uses it, a simulated rig deviates from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hil.config import cylinder_parameters
from hil.config.device_parameters import disturbance_of, fault_gains, instrument_parameters, load_sensors
from hil.config.integration import stretch
from hil.config.scan.map_text import grid_from, mesh_from
from hil.config.schema.capture import CaptureConfig
from hil.config.schema.equipment import PlantConfig
from hil.config.schema.experiment_section import ExperimentSection
from hil.config.schema.ground_and_obstacle import (
    GroundConfig,
    ObstacleConfig,
    PlateConfig,
    ProfileConfig,
    SoilConfig,
    SoilRegionConfig,
)
from hil.config.schema.loads import LoadsConfig
from hil.config.schema.sensors import DaqConfig
from hil.config.schema.servos import DrivenJoint, ServosConfig
from hil.config.schema.trial import TrialConfig
from hil.config.schema.wheel import WheelConfig, WheelProperties
from hil.config.unchecked_config import UncheckedConfig
from hil.messages.layout import Layout
from models.actuators.drive import Drive, Motor
from models.actuators.servo import Servo
from models.contact.compliant import make_compliant_ground
from models.contact.friction import make_bristles
from models.contact.laws import make_law
from models.contact.obstacle import Obstacle
from models.contact.plate import Plate, make_plate
from models.contact.ruts import SoilRegion
from models.kernels.compiled import FloatArray
from models.plant import (
    GroundParameters,
    Impacts,
    ReadingNoise,
    RigParameters,
    SensedPlate,
    Spread,
    Towing,
    Veer,
    WheelKind,
)
from models.plant.grapple import CaptureParameters
from models.rover.parameters import Parameters
from models.rover.tree import WheelMount
from models.sensors.piezo import Piezo
from models.sensors.rear_frame import REAR, link_share, rear_link_reach
from models.terrain import HeightMap, make_height_map, shapes
from models.terrain.mesh import TriangleMesh
from models.terrain.profile import Profile, make_profile
from models.terrain.shapes import Corners
from models.vehicle import HITTING_WHEELS
from models.vehicle.loads import CubePayload, Drawbar
from models.wheel import Ring, Soil
from models.wheel.soil import PassivePressure, passive_pressure

# Of a carriage's drive: its gain over the mass that it moves [1/s], which is less than a rover's, and its integral time
# [s]. Beyond the peak of a soil's shear stress the pull falls by some 300 N s/m for each kilogram of it.
# A hard body in soil reaches so deep: no wheel comes below it [m].
_BURIED_M = 2.0
# Damping over stiffness of friction that holds on the plate [s], as that of ground has by default: an assumption.
_HOLD_TIME_S = 0.005
_CARRIAGE_RATE, _CARRIAGE_INTEGRAL_S = 500.0, 0.05


def nominal_rig(config: UncheckedConfig) -> RigParameters:
    """The rig as the config describes it, in the models' units."""
    drives, cylinders, rover = config.drives, config.cylinders, config.rover_parameters()
    payload, drawbar, wheels = config.rover.payload, config.rover.drawbar, config.wheels
    front = next(iter(wheels.values()), None)
    return RigParameters(
        rover=rover,
        grouser_heights=tuple(one.tips_m for one in wheels.values()),
        ground=replace(
            _ground(config.ground, config.soil, wheels),
            grousers=tuple((one.grousers, one.tips_m) for one in wheels.values()) if config.wheel.grouser_rim else (),
            first_grouser=math.radians(
                90.0 - config.section.obstacle * config.trial.angle_deg - config.wheel.grouser_offset_deg
            ),
        ),
        launch_speed=config.trial.speed_mps if config.ground.glides and not config.section.captures else 0.0,
        obstacle=_obstacle(config.obstacle, config.trial.angle_deg, rover.tree().wheels, front, config.wheel)
        if config.section.obstacle
        else None,
        start_distance=config.ground.profile.start_m if config.ground.profile else config.trial.start_distance_m,
        start_across=0.0,
        drive=Drive(
            gain=drives.gain,
            integral_gain=drives.integral_gain,
            torque_limit=drives.largest_torque_Nm,
            gear_friction=drives.gear_friction_Nm,
            friction_speed=drives.friction_speed_radps,
            coast_damping=drives.coast_damping,
            brake_damping=drives.brake_damping,
            brakes_on_cut=float(drives.on_cut == "brake"),
            motor=Motor(*drives.axle_motor.model_dump().values()) if config.layout.open_loop else None,
            rotor_inertia=drives.gearbox.at_axle.axle_inertia if drives.gearbox else 0.0,
        ),
        cylinder=cylinder_parameters.cylinder(cylinders),
        piezo=_piezo(config.trial, config.sensitivities_mVpN, config.simulated_droops_s, config.daq)
        if config.daq
        else None,
        cylinder_areas=cylinder_parameters.calibrated_areas(cylinders, config.layout.cylinders),
        loads=load_sensors(config),
        instruments=instrument_parameters(config.instruments, config.encoders),
        sample_rate_hz=config.daq.rate_hz if config.daq else 0,
        alignment=(0.0, 0.0),
        substep_ns=round(config.plant.substep_us * 1e3),
        payload=CubePayload(payload.mass_kg, (payload.x_m, payload.y_m, payload.z_m), payload.edge_m),
        drawbar=Drawbar((-drawbar.pull_N, 0.0, 0.0), (drawbar.x_m, drawbar.y_m, drawbar.z_m)),
        disturbance=disturbance_of(config.daq, config.plant, config.trial.speed_mps / config.wheel_radius_m)
        if config.daq
        else None,
        snap_share=config.obstacle.plate.snap_share if config.obstacle.plate else 0.0,
        cylinder_joints=config.layout.joints,
        linkage=cylinder_parameters.linkage(cylinders),
        pneumatics=cylinder_parameters.pneumatics(cylinders),
        regulated=bool(config.layout.regulators),
        towing=_towing(config.section, rover),
        reading_noise=ReadingNoise(config.plant.noise.pressure_kPa * 1e3, config.plant.noise.speed_radps),
        servos=_servos(config.servos, config.driven_joints),
        capture=_capture(config.capture) if config.section.captures else None,
        stretch=stretch(config),
    )


def _capture(section: CaptureConfig) -> CaptureParameters:
    """How the payload comes, and when the grapple acts."""
    return CaptureParameters(
        gap=section.gap_m,
        speed=section.speed_mps,
        offset=section.offset_m,
        spin=math.radians(section.spin_degps),
        restitution=section.restitution,
        latch_way=1e-3 * section.latch_mm,
        hold_way=1e-3 * section.hold_mm,
        reach=section.reach_m,
    )


def _servos(common: ServosConfig | None, joints: Sequence[DrivenJoint]) -> tuple[Servo, ...]:
    """Those of the driven joints."""
    if common is None:
        return ()
    return tuple(
        Servo(
            joint=one.name,
            start=one.start_rad,
            position_gain=one.position_gain,
            velocity_gain=one.velocity_gain,
            rate=one.rate_radps,
            torque_limit=one.torque_limit_Nm,
            gear_friction=one.gear_friction_Nm,
            friction_speed=one.friction_speed_radps,
            coast_damping=one.coast_damping,
            brake_damping=one.brake_damping,
            brakes_on_cut=float(common.on_cut == "brake"),
        )
        for one in joints
    )


def _towing(section: ExperimentSection, rover: Parameters) -> Towing | None:
    """Where traction is measured; on a slope nothing pulls, and a carriage has a drive that holds its speed."""
    over, winch = section.measured_s, section.winch
    if over is None:
        return None
    if winch is None:
        return Towing(over=over)
    towing = Towing(winch.slip, winch.growth_Nps, winch.largest_N, over, cable=winch.cable_mps)
    tree = rover.tree()
    if not tree.guided:
        return towing
    gain = _CARRIAGE_RATE * sum(body.mass for body in tree.bodies)
    return replace(towing, pushes=True, gain=gain, integral_time=_CARRIAGE_INTEGRAL_S)


def obstacle_stand(nominal: RigParameters) -> FloatArray | None:
    """The ground before each front wheel on which the nominal obstacle stands; None: level ground, or no obstacle."""
    if nominal.obstacle is None:
        return None
    obstacle = replace(nominal, settles=False).assemble()[1].obstacle
    return None if obstacle is None else obstacle.stand


def profile_line(nominal: RigParameters) -> FloatArray | None:
    """Corners (n, 2) of the ground's profile in the world, x and z [m]; None: it has none."""
    if nominal.ground.profile is None:
        return None
    profile = nominal.placed_profile(nominal.make_rover())
    if profile is None:
        return None
    line = profile.point.copy()
    if nominal.ground.kind == "soil":  # in place of faces below the soil, the level of that
        line[0, 0] -= shapes.LEVEL
        line[:, 1] = np.maximum(line[:, 1], line[1, 1])
    return line


def relief_of(ground: GroundConfig) -> HeightMap | None:
    """The height map of a scan; None: the ground is level or a slope."""
    if ground.kind != "scan" or ground.scan is None or ground.scan.map is None:
        return None
    return make_height_map(*grid_from(ground.scan.map))


def mesh_of(ground: GroundConfig) -> TriangleMesh | None:
    """The triangles of a mesh; None: the ground is none."""
    if ground.kind != "mesh" or ground.scan is None or ground.scan.map is None:
        return None
    return mesh_from(ground.scan.map)


def profile_corners(section: ProfileConfig) -> Corners:
    """Corners (x, z) [m] of a profile, which begins to change at x = 0."""
    if section.shape == "step":
        corners = shapes.step(section.height_m, math.radians(section.angle_deg))
    elif section.shape == "ledge":
        corners = shapes.ledge(section.height_m, math.radians(section.plate_deg), section.plate_m)
    elif section.shape == "slope":
        corners = shapes.faces_from([(face.length_m, math.radians(face.angle_deg)) for face in section.faces])
    else:
        corners = [*shapes.BEFORE, *section.points_m]
    return shapes.ended(corners, section.behind, section.top_m, section.drop_m)


def profile_of(ground: GroundConfig) -> Profile | None:
    """The profile of hard ground, which begins to change at x = 0; None: it is level or a slope."""
    if ground.profile is None:
        return None
    corners = profile_corners(ground.profile)
    if ground.on_soil:  # a body that stands in it
        corners[0] = (0.0, -_BURIED_M)
        if ground.profile.behind == "nothing":
            corners.append((corners[-1][0], -_BURIED_M))
    return make_profile(corners, ground.friction, ground.restitution)


def passive_pressure_of(section: SoilConfig | SoilRegionConfig, gravity_mps2: float) -> PassivePressure | None:
    """Passive pressure of the soil that wheels push ahead; None: they push none."""
    if section.density_kgpm3 is None:
        return None
    friction_angle = math.radians(section.friction_angle_deg)
    return passive_pressure(section.cohesion_Pa, friction_angle, section.density_kgpm3 * gravity_mps2)


def _soil(section: SoilConfig | SoilRegionConfig, gravity_mps2: float, **others: Any) -> Soil:
    """The soil of a section; `others` are what only one of both kinds of section has."""
    return Soil(
        section.stiffness,
        section.exponent,
        cohesion=section.cohesion_Pa,
        friction_angle=math.radians(section.friction_angle_deg),
        rebound=section.rebound,
        slip_modulus=section.slip_modulus,
        slip_sinkage=section.slip_sinkage or 0.0,
        bulldozing=passive_pressure_of(section, gravity_mps2),
        **others,
    )


def _wheel_kind(wheel: WheelProperties) -> WheelKind:
    if wheel.variant != "flexible":
        return WheelKind(wheel.variant, thrust_height=wheel.thrust_height_m, rim_friction=wheel.rim_share)
    ring = Ring(wheel.ring.bending_stiffness_Nm2, wheel.ring.hub_stiffness_Npm, wheel.ring.modes)
    return WheelKind(wheel.variant, ring, rim_friction=wheel.rim_share)


def _ground(ground: GroundConfig, soil: SoilConfig, wheels: Mapping[str, WheelProperties]) -> GroundParameters:
    kinds = {name: _wheel_kind(one) for name, one in wheels.items()}
    usual = next(iter(kinds.values()), WheelKind("exact"))
    damping = ground.damping_Nspm if ground.law == "kelvin_voigt" else ground.damping_spm * ground.stiffness
    law = make_law(ground.law, ground.stiffness, exponent=ground.exponent, damping=damping)
    return GroundParameters(
        kind="soil" if ground.kind == "scan" else "firm" if ground.kind == "mesh" else ground.kind,
        soil=_soil(
            soil,
            ground.gravity_mps2,
            shear=soil.shear,
            shear_residual=soil.residual,
            shear_modulus=soil.shear_displacement_m,
            peak_offset=soil.peak_offset,
            peak_slope=soil.peak_slope,
            lateral_rate=soil.lateral_rate,
            slip_modulus_exponent=soil.slip_modulus_exponent or 0.0,
            slip_modulus_speed=soil.slip_modulus_speed_mps or 0.1,
        ),
        wheel=usual,
        own_wheels={name: kind for name, kind in kinds.items() if kind != usual},
        soil_damping=soil.damping_spm,
        slip_speed=soil.slip_speed_mps,
        shear_displacement=soil.shear_displacement_m,
        shear_damping=soil.shear_damping_s,
        ruts=soil.rut == "remembered",
        compliant=make_compliant_ground(law, ground.friction, ground.friction_speed_mps),
        rolling=ground.rolling,
        pitch=math.radians(ground.pitch_deg),
        roll=math.radians(ground.roll_deg),
        wheel_height=ground.wheel_height_m or (),
        relief=relief_of(ground),
        mesh=mesh_of(ground),
        regions=tuple(
            SoilRegion(
                one.corners_m,
                _soil(one, ground.gravity_mps2),
                one.border_m,
                one.under_m,
            )
            for one in soil.regions
        ),
        gravity=ground.gravity_mps2,
        profile=profile_of(ground),
        impacts=Impacts(ground.friction, ground.restitution, ground.impact_law),
        bristles=make_bristles(ground.hold_stiffness_Npm, ground.hold_damping_Nspm),
        holds=ground.friction_holds,
        plate=_sensed_plate(ground.profile),
    )


def _sensed_plate(profile: ProfileConfig | None) -> SensedPlate | None:
    """The plate on force sensors in a face; None: there is none."""
    if profile is None or (plate := profile.plate) is None:
        return None
    return SensedPlate(plate.face, plate.from_m, math.inf if plate.length_m is None else plate.length_m, plate.side)


def _obstacle(
    obstacle: ObstacleConfig,
    angle_deg: float,
    wheels: Sequence[WheelMount],
    front: WheelProperties | None,
    rims: WheelConfig,
) -> Obstacle:
    each = obstacle.legs == "each"
    law = make_law(
        obstacle.law,
        obstacle.plate_stiffness if each else obstacle.leg_stiffness_Npm,
        exponent=obstacle.exponent,
        restitution=obstacle.restitution,
        damping=obstacle.damping_Nspm if obstacle.law == "kelvin_voigt" else None,
    )
    return Obstacle(
        angle=math.radians(angle_deg),
        foot=math.nan,  # set by the start distance
        friction=obstacle.friction,
        friction_speed=obstacle.friction_speed_mps,
        leg_compliance=np.full(len(wheels), obstacle.leg_compliance_mpN(angle_deg) if each else 0.0),
        leg_damping=obstacle.leg_damping_Nspm,
        leg_backlash=obstacle.leg_backlash_m,
        grousers=front.grousers if front else 0,
        grouser_offset=math.radians(rims.grouser_offset_deg),
        rim_below=front.tips_m if front and rims.grouser_rim else 0.0,
        plate=_plate(obstacle.plate, wheels[0].width) if obstacle.plate else None,
        bristles=None if (hold := obstacle.hold_stiffness_Npm) is None else make_bristles(hold, _HOLD_TIME_S * hold),
        **law._asdict(),
    )


def _plate(plate: PlateConfig, wheel_width_m: float) -> Plate:
    return make_plate(
        HITTING_WHEELS,
        width=plate.width_m,
        height=plate.height_m,
        centre_up=plate.centre_up_m,
        centre_across=plate.centre_across_m,
        wheel_width=wheel_width_m,
    )


def spread(plant: PlantConfig, loads: LoadsConfig | None) -> Spread:
    """How far the simulated rig deviates from the nominal one."""
    given, errors = plant.spread, loads.errors if loads else None
    return Spread(
        mass=given.mass,
        soil=given.soil,
        legs=given.legs,
        sensitivity=given.sensitivity,
        start_m=given.start_m,
        droop=given.droop,
        heading=math.radians(given.heading_deg),
        loads=(errors.zero, errors.drift_per_min, errors.gain, errors.cross_talk) if errors else (0.0,) * 4,
        friction=given.friction,
        drives=given.drives,
    )


def veer(plant: PlantConfig, layout: Layout) -> Veer:
    """How the simulated rig stands and drives askew; the nominal one does not."""
    given = plant.veer
    steering = given.steering_deg
    each = steering if isinstance(steering, tuple) else (steering,) * len(layout.wheels) if steering else ()
    return Veer(math.radians(given.heading_deg), given.across_m, tuple(map(math.radians, each)), given.track_error)


def _piezo(
    trial: TrialConfig, sensitivities_mVpN: tuple[float, ...], droops_s: tuple[float, ...], daq: DaqConfig
) -> Piezo:
    angle = math.radians(trial.angle_deg)
    return Piezo(
        place=np.array(daq.places_m),
        sensitivity=np.array([one * 1e-3 for one in sensitivities_mVpN]) * fault_gains(daq),
        bias=np.array([channel.bias_V for channel in daq.channels]),
        noise=np.array([channel.noise_V for channel in daq.channels]),
        range=daq.range_V,
        step=2.0 * daq.range_V / 2**daq.bits,
        droop_time=np.array(droops_s),
        ring_frequency=daq.ring_hz,
        ring_damping=daq.ring_damping,
        ring_share=daq.ring_share,
        rear_reach=rear_link_reach(angle) if daq.link else 0.0,
        link=link_share(daq.link, angle) if daq.link else REAR,
    )
