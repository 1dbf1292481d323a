"""Which simulated devices are connected to which line, as the config says, or as a lab would have them."""

from __future__ import annotations

from drivers.registry import BUILT_IN, driver_of
from drivers.sim.protocol.line import SimulatedPort
from drivers.sim.protocol.plant_ports import PlantPorts
from hil.config import Config
from hil.config.rig_setup import rig_setup


def serial_peers(config: Config, ports: PlantPorts) -> dict[str, SimulatedPort]:
    """All serial devices by the names of their endpoints.

    Those of our own drivers that the config does not have are served beside its own, on the same rover; none for a link
    that the rig does not have.
    """
    sections = {driver_of(one): one for one in (config.devices.sections() if config.devices else ())}
    found: dict[str, SimulatedPort] = {}
    for kind in dict.fromkeys((*BUILT_IN, *sections)):
        if kind.role in config.layout.links:
            found |= kind.simulated_ports(sections.get(kind), rig_setup(config), ports)
    return found


def has_server(config: Config) -> bool:
    """Whether the rig has anything that a device server serves: force sensors, or valves on digital lines."""
    sections = config.devices.sections() if config.devices else ()
    return config.daq is not None or any(driver_of(one).uses_servers for one in sections)
