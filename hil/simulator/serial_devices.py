"""Which simulated devices are connected to which line: as in the config, or as in a typical lab."""

from __future__ import annotations

from drivers.registry import BUILT_IN, driver_of
from drivers.sim.protocol.line import SimulatedPort
from drivers.sim.protocol.plant_ports import PlantPorts
from hil.config import Config
from hil.config.rig_setup import rig_setup
from hil.config.schema.devices import DevicesConfig
from hil.config.schema.sensors import DaqConfig


def serial_peers(config: Config, ports: PlantPorts) -> dict[str, SimulatedPort]:
    """All serial devices by the names of their endpoints.

    Devices of built-in drivers that the config does not use are served too, on the same rover; a link that the rig does
    not have gets none.
    """
    sections = {driver_of(section): section for section in (config.devices.sections() if config.devices else ())}
    peers: dict[str, SimulatedPort] = {}
    for kind in dict.fromkeys((*BUILT_IN, *sections)):
        if kind.role in config.layout.links:
            peers |= kind.simulated_ports(sections.get(kind), rig_setup(config), ports)
    return peers


def has_server(devices: DevicesConfig | None, daq: DaqConfig | None) -> bool:
    """Whether the rig needs a device server: it has force sensors, or valves on digital lines."""
    sections = devices.sections() if devices else ()
    return daq is not None or any(driver_of(section).uses_servers for section in sections)
