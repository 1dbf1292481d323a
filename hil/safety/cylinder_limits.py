"""Limits of the air cylinders that the config alone decides: pressure, and torque on a bogie (MacMahon 2016, 6.1)."""

from __future__ import annotations

from hil.config import Config
from hil.config.cylinder_parameters import cylinder, largest_arm_m
from hil.messages.check import Check


def cylinder_checks(config: Config) -> list[Check]:
    """Whether the cylinders stay within the pressure and the torque that they are meant for; none without cylinders."""
    if not config.layout.cylinders:
        return []
    limits, supply_kPa = config.limits, config.cylinders.supply_kPa
    torque_Nm = cylinder(config.cylinders).area * supply_kPa * 1e3 * largest_arm_m(config.cylinders)
    found, allowed = f"{supply_kPa:g} kPa", f"at most {limits.cylinder_kPa:g} kPa (limits.cylinder_kPa)"
    most = f"at most {limits.bogie_torque_Nm:g} N m (limits.bogie_torque_Nm)"
    lower = "turn the supply down, and lower cylinders.supply_kPa to it"
    ok, torque = torque_Nm <= limits.bogie_torque_Nm, f"{torque_Nm:.1f} N m"
    checks = [
        Check("cylinder supply", supply_kPa <= limits.cylinder_kPa, found, allowed, lower),
        Check("cylinder torque, at full pressure", ok, torque, most, lower),
    ]
    if config.section.controls_loads:
        wanted_Nm = config.normal_force.torque_limit_Nm
        ok = wanted_Nm <= limits.bogie_torque_Nm
        lower = "lower normal_force.torque_limit_Nm"
        checks.append(Check("cylinder torque, controlled", ok, f"{wanted_Nm:g} N m", most, lower))
    return checks
