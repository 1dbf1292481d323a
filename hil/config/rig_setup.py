"""The values that models and drivers need of the cylinders, channels and limits of a config."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from drivers.device_sections import LoadReading
from drivers.driver_type import InstrumentSetup, LoadChannelSetup, LoadSetup, RigSetup, SensorSetup, ServoSetup
from drivers.registry import drives_driver, valves_driver
from hil.config.schema.loads import AXES, FRAME, PULL, LegSensorsConfig, LoadsConfig
from hil.config.schema.normal_force import CylindersConfig, LinkageConfig
from hil.config.unchecked_config import UncheckedConfig
from hil.messages.layout import Layout
from models.actuators.compressible import SOUND_SPEED, Pneumatics
from models.actuators.linkage import CylinderForces, Linkage, piston
from models.actuators.pneumatic import Cylinder

Floats = NDArray[np.float64]


def full_loads(legs: LegSensorsConfig) -> Floats:
    """Largest load of each axis (6,) [N, N m]."""
    return np.array([legs.force_N] * 3 + [legs.moment_Nm] * 3)


def full_scales(config: UncheckedConfig) -> Floats:
    """Reading of each channel at full scale, in the unit of its readings (channels,)."""
    layout, loads = config.layout, config.loads
    assert loads is not None
    if config.load_reading == "V":
        return np.full(len(layout.loads), loads.range_V)
    return np.array(loads.loads_at_full_scale(layout.wheels))


def noises(config: UncheckedConfig) -> Floats:
    """Noise of each channel, in the unit of its readings (channels,)."""
    loads = config.loads
    assert loads is not None
    noise_V = np.array(loads.noises_V(config.layout.wheels))
    return noise_V if config.load_reading == "V" else noise_V / loads.range_V * full_scales(config)


def nominal_gain(loads: LoadsConfig, legs: LegSensorsConfig, reading: LoadReading) -> Floats:
    """Readings (6,) of all axes from the loads (6,), from full scale and cross-talk (6, 6) [V/N, V/(N m)]."""
    talk = np.zeros((6, 6)) if legs.cross_talk is None else np.array(legs.cross_talk)
    full = full_loads(legs)
    reached = np.full(6, loads.range_V) if reading == "V" else full
    gain: Floats = reached[:, None] * np.where(np.eye(6) > 0.0, 1.0, talk) / full
    return gain


def leg_matrix(loads: LoadsConfig, legs: LegSensorsConfig, wheel: str, reading: LoadReading) -> Floats:
    """Loads of the measured axes from their readings (axes, axes) [N/V, N m/V].

    Rows that the calibration states come from there, the others from the inverse of the nominal gain.

    Raises numpy.linalg.LinAlgError: the cross-talk cannot be undone.
    """
    used = [AXES.index(axis) for axis in legs.axes]
    matrix = np.asarray(np.linalg.inv(nominal_gain(loads, legs, reading)[np.ix_(used, used)]), np.float64)
    for row, axis in enumerate(legs.axes):
        if (stated := loads.sheet(f"{wheel}_{axis}").gains(reading)) is not None:
            matrix[row] = stated
    return matrix * [loads.sheet(f"{wheel}_{axis}").shunt_gain or 1.0 for axis in legs.axes]


def normal_force_rows(config: UncheckedConfig) -> Floats:
    """Wheels' normal forces, and the drawbar pull if there is a load cell, from all readings (outputs, channels) [N/V].

    The normal force is that along the z axis of the leg.
    """
    layout, loads = config.layout, config.loads
    assert loads is not None
    legs, cell = loads.leg_sensors, loads.load_cell
    rows = np.zeros((len(layout.wheels) * layout.leg_sensors + layout.load_cell, len(layout.loads)))
    if legs is not None:
        axes = len(legs.axes)
        for number, wheel in enumerate(layout.wheels):
            row = leg_matrix(loads, legs, wheel, config.load_reading)[legs.axes.index("fz")]
            rows[number, number * axes : (number + 1) * axes] = row
    if cell is not None:
        place, stated = layout.loads.index(PULL), loads.sheet(PULL).gains(config.load_reading)
        newtons = cell.force_N / full_scales(config)[place] if stated is None else stated[0]
        rows[-1, place] = newtons * (loads.sheet(PULL).shunt_gain or 1.0)
    return rows


def links_gain(config: UncheckedConfig) -> float:
    """Compression of both links [N] from the reading of the strain gauges, which the rig has."""
    assert config.loads is not None
    gauges, stated = config.loads.strain_gauges, config.loads.sheet(FRAME).gains(config.load_reading)
    assert gauges is not None
    scale = float(full_scales(config)[config.layout.loads.index(FRAME)])
    return (gauges.force_N / scale if stated is None else stated[0]) * (config.loads.sheet(FRAME).shunt_gain or 1.0)


def offsets(config: UncheckedConfig) -> Floats:
    """Readings without load, from the calibration (channels,), in the unit of the readings."""
    assert config.loads is not None
    return np.array([config.loads.sheet(name).offset(config.load_reading) for name in config.layout.loads])


# How often motor currents and supply voltages are read [1/s]: where limits watch them, and where they are only shown.
WATCHED_POWER_HZ, READ_POWER_HZ = 5.0, 1.0


def rig_setup(config: UncheckedConfig) -> RigSetup:
    """Of the rig of a config."""
    daq, loads = config.daq, config.loads
    sensors = zip(daq.channels if daq else (), config.sensitivities_mVpN, strict=True)
    return RigSetup(
        rover=config.rover.type,
        wheels=config.layout.wheels,
        wheel_speed_limit_radps=config.limits.wheel_speed_radps,
        on_cut=config.drives.on_cut,
        valves=config.layout.valve_layout,
        supply_kPa=config.cylinders.supply_kPa,
        sensors=tuple(SensorSetup(channel.name, sensitivity) for channel, sensitivity in sensors),
        range_V=daq.range_V if daq else 0.0,
        sample_rate_hz=daq.rate_hz if daq else 0,
        block_samples=daq.block_samples if daq else 0,
        open_loop=config.layout.open_loop,
        loads=LoadSetup(_cells(config), loads.rate_hz, loads.block_samples) if loads else None,
        instruments={
            role: InstrumentSetup(config.layout.parts(role), section.rate_hz, round(section.delay_ms * 1e6))
            for role, section in config.instruments.items()
        },
        servos=_servos(config),
        servos_on_cut=config.servos.on_cut if config.servos else "brake",
        power_hz=WATCHED_POWER_HZ if config.layout.supplies else READ_POWER_HZ,
    )


def _servos(config: UncheckedConfig) -> tuple[ServoSetup, ...]:
    """The driven joints; none of a rover whose sizes are not consistent, which loading names."""
    with suppress(ValueError):
        return tuple(
            ServoSetup(
                one.name, one.start_rad, one.low_rad, one.high_rad, one.rate_radps, one.acceleration_radps2, one.slides
            )
            for one in config.driven_joints
        )
    return ()


def _cells(config: UncheckedConfig) -> tuple[LoadChannelSetup, ...]:
    """The load channels, with the unit and the full scale of what their driver hands out."""
    scales, layout = full_scales(config).tolist(), config.layout
    return tuple(map(LoadChannelSetup, layout.loads, layout.units_of("loads"), scales))


# l/(s bar) in m^3/(s Pa), and kPa over g/s in Pa over kg/s.
_CONDUCTANCE, _DROOP = 1e-8, 1e6
# Places in a stroke at which the arm of a cylinder is computed.
STROKE_POINTS = 501


def cylinder(given: CylindersConfig) -> Cylinder:
    """One cylinder, its valves as exponentials and its constant lever."""
    return Cylinder(
        area=math.pi / 4.0 * (given.bore_mm * 1e-3) ** 2,
        supply=given.supply_kPa * 1e3,
        fill_time=given.fill_time_s,
        vent_time=given.vent_time_s,
        lever=given.lever_m,
        rod_share=1.0 - (given.rod_mm / given.bore_mm) ** 2,
    )


def calibrated_areas(given: CylindersConfig, cylinders: Sequence[str]) -> tuple[float, ...]:
    """Piston area (cylinders,) [m^2] of each, that of its bore where it has no sheet; empty if none has one."""
    sheets, nominal = given.calibration, cylinder(given).area
    if not sheets:
        return ()
    _, arm = piston(_pins(given), 0.0)
    areas = []
    for sheet in map(sheets.get, cylinders):
        if sheet is not None and sheet.torque_NmpkPa is not None:
            areas.append(sheet.torque_NmpkPa * 1e-3 / arm)
        elif sheet is not None and sheet.force_NpkPa is not None:
            areas.append(sheet.force_NpkPa * 1e-3)
        else:
            areas.append(nominal)
    return tuple(areas)


def cylinder_forces(given: CylindersConfig, layout: Layout) -> CylinderForces:
    """What the nominal cylinders of a rig can do."""
    parameters = cylinder(given)
    area = np.array(calibrated_areas(given, layout.cylinders) or (parameters.area,) * len(layout.cylinders))
    extend, retract = (parameters.supply * (way in layout.ways) for way in ("extend", "retract"))
    return CylinderForces(
        _pins(given), area, parameters.rod_share * area, extend * area, retract * parameters.rod_share * area
    )


def linkage(given: CylindersConfig) -> Linkage | None:
    """Pins, stroke and friction; None where a constant lever is all that acts."""
    if given.linkage is None and given.friction is None and given.model == "first_order":
        return None
    return _pins(given)


def _pins(given: CylindersConfig) -> Linkage:
    pins = given.linkage or LinkageConfig()
    made = Linkage(
        post=np.array((pins.post_along_m, pins.post_up_m)),
        clevis=np.array((pins.clevis_along_m, pins.clevis_up_m)),
        fixed_arm=0.0 if given.linkage else given.lever_m,
        retracted=pins.retracted_m,
        stroke=given.stroke_mm * 1e-3,
    )
    rubs = given.friction
    if rubs is None:
        return made
    return made._replace(
        static=rubs.static_N,
        coulomb=rubs.coulomb_N,
        stribeck=rubs.stribeck_mps,
        viscous=rubs.viscous_Nspm,
        presliding=rubs.presliding_mm * 1e-3,
    )


def pneumatics(given: CylindersConfig) -> Pneumatics | None:
    """Compressible gas; None with the chambers as exponentials."""
    if given.model == "first_order":
        return None
    valve, bottle = given.valve, given.bottle
    delay = valve.line_m / SOUND_SPEED
    made = Pneumatics(
        conductance=valve.conductance_lpsbar * _CONDUCTANCE,
        exhaust=valve.exhaust_lpsbar * _CONDUCTANCE,
        critical=valve.critical_ratio,
        on_time=valve.on_ms * 1e-3 + delay,
        off_time=valve.off_ms * 1e-3 + delay,
        least_on=valve.least_on_ms * 1e-3,
        dead_volume=valve.dead_volume_ml * 1e-6 + math.pi / 4.0 * (valve.line_bore_mm * 1e-3) ** 2 * valve.line_m,
        exponent=valve.polytropic_exponent,
        regulator_time=given.regulator_time_s,
    )
    if bottle is None:
        return made
    return made._replace(
        bottle_volume=bottle.volume_l * 1e-3,
        bottle_pressure=bottle.pressure_kPa * 1e3,
        droop=bottle.droop_kPaspg * _DROOP,
    )


def largest_arm_m(given: CylindersConfig) -> float:
    """Largest arm of a cylinder about its joint, over its stroke [m]."""
    if given.linkage is None:
        return given.lever_m
    pins = given.linkage
    post = math.hypot(pins.post_along_m, pins.post_up_m)
    clevis = math.hypot(pins.clevis_along_m, pins.clevis_up_m)
    length = pins.retracted_m + np.linspace(0.0, given.stroke_mm * 1e-3, STROKE_POINTS)
    cosine = (post**2 + clevis**2 - length**2) / (2.0 * post * clevis)  # between the two, by the law of cosines
    return float((post * clevis * np.sqrt(np.maximum(1.0 - cosine**2, 0.0)) / length).max())


# From the end of a block until it is in the loop's memory [ms]: a request to a device server or to the driver.
DELIVERY_MS = 0.5


class _DelayPart(NamedTuple):
    """A part of the delay: its name, how long it takes at worst [ms], and where that comes from."""

    name: str
    ms: float
    source: str


def cut_delay(config: UncheckedConfig, filter_delay_ms: float = 0.0) -> list[_DelayPart] | None:
    """All parts of the delay of a cut by the detector; the converters' filter delay [ms] is as their device reports it.

    Returns:
        The parts in their order; None: the driver of the drives does not report how long its stop takes.

    Raises:
        ValueError: the rig has no force sensors, which detect the impact.
    """
    daq = config.daq
    if daq is None:
        raise ValueError("daq is null: without force sensors nothing detects an impact")
    detected = [
        _DelayPart("converter's filter", filter_delay_ms, "as reported by the device"),
        _DelayPart("samples in a row", (config.detector.consecutive - 1) / daq.rate_hz * 1e3, "detector.consecutive"),
        _DelayPart("block", daq.block_ms, "daq.block_ms"),
    ]
    tick = _DelayPart("tick", 1e3 / config.loop.rate_hz, "loop.rate_hz")
    drives = config.devices.drives if config.devices else None
    if config.rig == "simulated" or drives is None:
        delivery = _DelayPart("delivery", config.links.daq_delay_ms, "links.daq_delay_ms")
        return [*detected, delivery, tick, _DelayPart("stop", config.links.drives_delay_ms, "links.drives_delay_ms")]
    times_s = drives_driver(drives).stop_times_s(drives, rig_setup(config))
    if times_s is None:
        return None
    in_flight_s, cut_s = times_s
    return [
        *detected,
        _DelayPart("delivery", DELIVERY_MS, "assumed: a request to the device server or to the driver"),
        tick,
        _DelayPart("transaction in flight", in_flight_s * 1e3, "devices.drives.baud"),
        _DelayPart("stop frames", cut_s * 1e3, "devices.drives.baud, and controllers on a bus"),
    ]


def valve_delay_s(config: UncheckedConfig) -> float:
    """From the command to one valve until its chamber fills or vents [s]: the link, where there is one, and the valve.

    A link counts with its worst case. Without compressible gas the valve itself has no delay.
    """
    gas = pneumatics(config.cylinders)
    valve_s = 0.0 if gas is None else 0.5 * (gas.on_time + gas.off_time)
    valves = config.devices.valves if config.devices else None
    if config.rig == "simulated" or valves is None:
        return valve_s
    link_s = valves_driver(valves).actuation_s(valves, rig_setup(config))
    return valve_s + (link_s[0] if link_s else 0.0)


def least_pulse_s(config: UncheckedConfig) -> float:
    """Shortest time that a valve may be on, or off between two pulses [s]: a shorter command would do nothing."""
    gas, allowed_s = pneumatics(config.cylinders), config.limits.valve_least_on_ms * 1e-3
    return allowed_s if gas is None else max(allowed_s, gas.on_time, gas.off_time, gas.least_on)
