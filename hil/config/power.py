"""Which motor currents and supply voltages a rig measures, and how a simulated one makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drivers.registry import drives_driver

if TYPE_CHECKING:
    from hil.config.model import UncheckedConfig

# The one supply of a rig that is simulated without its controllers.
SIMULATED = ("rig",)


def measured_supplies(config: UncheckedConfig) -> tuple[str, ...]:
    """Names of the supply voltages that the rig measures, with the motors' currents; empty: neither."""
    if config.rig == "simulated":
        return SIMULATED
    drives = config.devices.drives if config.devices else None
    return drives_driver(drives).supplies(drives) if drives is not None else ()


def watched_supplies(config: UncheckedConfig) -> tuple[str, ...]:
    """The same where a limit is set; a rig without one neither passes them on nor records them."""
    limits = config.limits
    return measured_supplies(config) if limits.motor_current_A or limits.supply_V else ()
