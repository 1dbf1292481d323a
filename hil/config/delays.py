"""How late a valve follows its command, and how late a cut is at worst."""

from __future__ import annotations

from typing import NamedTuple

from drivers.registry import drives_driver, valves_driver
from hil.config.cylinder_parameters import pneumatics
from hil.config.rig_setup import rig_setup
from hil.config.unchecked_config import UncheckedConfig

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
