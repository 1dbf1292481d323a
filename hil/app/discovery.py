"""`hil devices`: which devices and installed packages exist, and which keys of a config name them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from drivers.driver_type import Connection, DriverType
from drivers.interfaces import DeviceError, IoDevice, PolledDevice
from drivers.registry import broken_drivers, built_in, driver_of
from drivers.serial.ports import SerialPortInfo, serial_ports
from hil.config.rig import Rig
from hil.config.schema.devices import DevicesConfig
from hil.config.schema.rover import broken_rovers
from hil.experiments.registry import broken_experiments


def broken_extensions() -> list[str]:
    """A message for each package that does not provide what it declares; all of them are imported for this."""
    return [*broken_drivers(), *broken_experiments(), *broken_rovers()]


# What an instrument on the network sends is looked at for so long [ns].
LOOK_NS = 1_000_000_000


class _ServerFound(NamedTuple):
    """Devices of a computer, as a manufacturer's library lists them, or why there are none."""

    server: str
    devices: tuple[IoDevice, ...]
    problem: str


class Key(NamedTuple):
    """A key of the config that names a port or channel, the name, and whether that exists; None: not known."""

    key: str
    wanted: str
    found: bool | None


class _NetworkFound(NamedTuple):
    """A device on the network that the config names."""

    address: str
    driver: str
    answers: bool
    words: str
    rate_hz: float = math.nan


class DiscoveredDevices(NamedTuple):
    """Everything that was found; device servers by the name of the driver that asked them."""

    serial: tuple[SerialPortInfo, ...]
    servers: dict[str, tuple[_ServerFound, ...]]
    network: tuple[_NetworkFound, ...]
    keys: tuple[Key, ...]


def find_devices(rig: Rig | None = None, server: str | None = None) -> DiscoveredDevices:
    """List serial ports, and devices behind device servers.

    Args:
        rig: whose keys are looked up, and whose device servers are asked; None: none.
        server: HOST:PORT of the only device server to ask; None: those of its config, or this computer.
    """
    devices = rig.config.devices if rig else None
    asked = _servers(devices)
    servers = {
        kind.name: tuple(_of(kind, each) for each in ([server] if server is not None else dict.fromkeys(addresses)))
        for kind, addresses in asked.items()
    }
    network = tuple(_network(rig)) if rig else ()
    keys = tuple(_keys(devices, servers, server, network)) if rig else ()
    return DiscoveredDevices(serial_ports(), servers, network, keys)


def _servers(devices: DevicesConfig | None) -> dict[DriverType[Any], list[str]]:
    """By driver that uses device servers: those of the config; for built-in ones also this computer, if it has none."""
    sections = devices.sections() if devices else []
    servers: dict[str, tuple[DriverType[Any], list[str]]] = {}
    for section in sorted(sections, key=lambda section: section.role):  # the data acquisition's first
        kind = driver_of(section)
        if kind.uses_servers:
            servers.setdefault(kind.name, (kind, []))[1].extend(kind.servers(section))
    for kind in built_in("daq"):
        if kind.uses_servers and not (devices and devices.daq):
            servers.setdefault(kind.name, (kind, []))[1].insert(0, "")
    return dict(servers.values())


def _of(kind: DriverType[Any], server: str) -> _ServerFound:
    try:
        return _ServerFound(server, kind.list_devices(server), "")
    except DeviceError as error:
        return _ServerFound(server, (), str(error))


def _network(rig: Rig) -> Iterator[_NetworkFound]:
    """Ask each instrument on the network, and look at what it sends for LOOK_NS."""
    for section in rig.config.devices.sections() if rig.config.devices else ():
        kind = driver_of(section)
        for connection in kind.connections(section):
            if connection.network and connection.name and section.role in rig.config.instruments:
                yield _asked(connection.name, section.driver, kind.make(section, rig.setup))


def _asked(address: str, driver: str, device: PolledDevice) -> _NetworkFound:
    with closing(device):
        try:
            device.open()
            until_ns = time.monotonic_ns() + LOOK_NS
            while time.monotonic_ns() < until_ns:
                device.step()
        except DeviceError as error:
            return _NetworkFound(address, driver, False, str(error))
        health = device.health()
        return _NetworkFound(address, driver, True, health.detail, health.rate_hz)


def _keys(
    devices: DevicesConfig | None,
    servers: Mapping[str, Sequence[_ServerFound]],
    only: str | None,
    network: Sequence[_NetworkFound],
) -> Iterator[Key]:
    answers = {found.address: found.answers for found in network}
    for section in devices.sections() if devices else ():
        known = {
            server.server: _channels(server.devices) for server in servers.get(section.driver, ()) if not server.problem
        }
        for connection in driver_of(section).connections(section):
            there = answers.get(connection.name) if connection.network else _is_there(connection, known, only)
            yield Key(connection.key, connection.name, there)


def _is_there(connection: Connection, known: Mapping[str, set[str]], only: str | None) -> bool | None:
    if connection.server is None:
        return Path(connection.name).is_char_device() if connection.name else None
    channels = known.get(connection.server if only is None else only)
    return None if channels is None else connection.place[1] in channels


def _channels(devices: Sequence[IoDevice]) -> set[str]:
    """Names in lower case: they may be written in any case."""
    return {name.lower() for device in devices for name in (*device.ai, *device.ao, *device.di, *device.do, *device.ci)}
