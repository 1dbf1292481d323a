"""The cylinders of a config in the models' units, and how late a valve follows its command."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from drivers.registry import drives_driver, valves_driver
from hil.config.rig_setup import rig_setup
from hil.config.schema.normal_force import CylindersConfig, LinkageConfig
from hil.config.unchecked_config import UncheckedConfig
from hil.messages.layout import Layout
from models.actuators.compressible import SOUND_SPEED, Pneumatics
from models.actuators.linkage import CylinderForces, Linkage, piston
from models.actuators.pneumatic import Cylinder

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
