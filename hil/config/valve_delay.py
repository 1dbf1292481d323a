"""How late a valve follows its command, and how short a command may be, as the load controller counts on."""

from __future__ import annotations

from drivers.registry import valves_driver
from hil.config.cylinder_parameters import pneumatics
from hil.config.model import UncheckedConfig
from hil.config.rig_setup import rig_setup


def valve_delay_s(config: UncheckedConfig) -> float:
    """From the command to one valve until its chamber fills or vents [s]: the link, where there is one, and the valve.

    A link counts with its worst case. Without compressible gas the valve has no delay of its own.
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
