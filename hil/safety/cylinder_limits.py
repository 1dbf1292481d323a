"""Limits of the air cylinders that the config alone decides: pressure, and torque on a bogie (MacMahon 2016, 6.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil.config.cylinder_parameters import cylinder, largest_arm_m
from hil.messages.check import Check

if TYPE_CHECKING:
    from hil.config.rig import Rig


def cylinder_checks(rig: Rig) -> list[Check]:
    """Whether the cylinders stay within the pressure and the torque that they are meant for; none without cylinders."""
    if not rig.layout.cylinders:
        return []
    limits, supply_kPa = rig.limits, rig.config.cylinders.supply_kPa
    torque_Nm = cylinder(rig.config.cylinders).area * supply_kPa * 1e3 * largest_arm_m(rig.config.cylinders)
    found, allowed = f"{supply_kPa:g} kPa", f"at most {limits.cylinder_kPa:g} kPa (limits.cylinder_kPa)"
    most = f"at most {limits.bogie_torque_Nm:g} N m (limits.bogie_torque_Nm)"
    lower = "turn the supply down, and lower cylinders.supply_kPa to it"
    ok, torque = torque_Nm <= limits.bogie_torque_Nm, f"{torque_Nm:.1f} N m"
    checks = [
        Check("cylinder supply", supply_kPa <= limits.cylinder_kPa, found, allowed, lower),
        Check("cylinder torque, at full pressure", ok, torque, most, lower),
    ]
    if rig.section.controls_loads:
        wanted_Nm = rig.config.normal_force.torque_limit_Nm
        ok = wanted_Nm <= limits.bogie_torque_Nm
        lower = "lower normal_force.torque_limit_Nm"
        checks.append(Check("cylinder torque, controlled", ok, f"{wanted_Nm:g} N m", most, lower))
    return checks
