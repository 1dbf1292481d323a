"""The cylinders of a config, in the models' units."""

from __future__ import annotations

import math

import numpy as np

from hil.config.schema.cylinders import CylindersConfig, LinkageConfig
from models.actuators.compressible import SOUND_SPEED, Pneumatics
from models.actuators.linkage import Linkage
from models.actuators.pneumatic import Cylinder

# l/(s bar) in m^3/(s Pa), and kPa over g/s in Pa over kg/s.
_CONDUCTANCE, _DROOP = 1e-8, 1e6


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


def linkage(given: CylindersConfig) -> Linkage | None:
    """Pins, stroke and friction; None where a constant lever is all that acts."""
    if given.linkage is None and given.friction is None and given.model == "first_order":
        return None
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
