"""Which motor currents and supply voltages a rig measures."""

from __future__ import annotations

from drivers.registry import drives_driver
from hil.config.schema.devices import DevicesConfig
from hil.config.schema.equipment import LimitsConfig

# The one supply of a rig that is simulated without its controllers.
SIMULATED = ("rig",)


def measured_supplies(rig: str, devices: DevicesConfig | None) -> tuple[str, ...]:
    """Names of the supply voltages that the rig measures, with the motors' currents; empty: neither."""
    if rig == "simulated":
        return SIMULATED
    drives = devices.drives if devices else None
    return drives_driver(drives).supplies(drives) if drives is not None else ()


def watched_supplies(rig: str, devices: DevicesConfig | None, limits: LimitsConfig) -> tuple[str, ...]:
    """The same where a limit is set; a rig without one neither passes them on nor records them."""
    return measured_supplies(rig, devices) if limits.motor_current_A or limits.supply_V else ()
