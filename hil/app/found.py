"""`hil devices`: what is there, and which keys of a config mean it. No serial port is opened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from drivers.interfaces import DeviceError
from drivers.ni.session import NiDevice, NiSession
from drivers.serial.ports import SerialPort, serial_ports
from hil.config import Config
from hil.config.devices import VALVES, ModbusValves, NiValves, RoboclawDrives


class NiFound(NamedTuple):
    """Devices of a computer with NI's driver, or why there are none.

    Attributes:
        server: HOST:PORT of its device server; "" for this computer.
        devices: all of them.
        problem: why they could not be listed; "" if they were.
    """

    server: str
    devices: tuple[NiDevice, ...]
    problem: str


class Key(NamedTuple):
    """A key of the config that names a port or channel, what it names, and whether that is there; None: not known."""

    key: str
    wanted: str
    found: bool | None


class Found(NamedTuple):
    """Everything that was found."""

    serial: tuple[SerialPort, ...]
    ni: tuple[NiFound, ...]
    keys: tuple[Key, ...]


def find_devices(config: Config | None = None, server: str | None = None) -> Found:
    """List serial ports and NI devices.

    Args:
        config: whose keys are looked for, and whose device servers are asked; None: of none.
        server: HOST:PORT of the only device server to ask; None: those of the config, or this computer.
    """
    servers = [server] if server is not None else _servers(config)
    ni = tuple(_of(each) for each in dict.fromkeys(servers))
    return Found(serial_ports(), ni, tuple(_keys(config, ni, server)) if config else ())


def _servers(config: Config | None) -> list[str]:
    devices = config.devices if config else None
    servers = [devices.daq.server] if devices and devices.daq else [""]
    if devices and isinstance(devices.valves, NiValves):
        servers.append(devices.valves.server)
    return servers


def _of(server: str) -> NiFound:
    session = NiSession("NI devices", server, lambda: None)
    try:
        session.open()
        return NiFound(server, session.devices(), "")
    except DeviceError as error:
        return NiFound(server, (), str(error))
    finally:
        session.close()


def _keys(config: Config, ni: Sequence[NiFound], only: str | None) -> Iterator[Key]:
    devices = config.devices
    if devices is None:
        return
    drives, valves, daq = devices.drives, devices.valves, devices.daq
    if isinstance(drives, RoboclawDrives):
        for place, port in enumerate(drives.ports):
            yield _port(f"devices.drives.ports.{place}", port)
    elif drives is not None:
        for place, controller in enumerate(drives.controllers):
            yield _port(f"devices.drives.controllers.{place}.port", controller.port)
    known = {one.server: _channels(one.devices) for one in ni if not one.problem}

    def channel(key: str, name: str, server: str) -> Key:
        channels = known.get(server if only is None else only)
        return Key(key, name, None if channels is None else name.lstrip("/").lower() in channels)

    if isinstance(valves, ModbusValves):
        yield _port("devices.valves.port", valves.port)
    elif valves is not None:
        for valve in VALVES:
            yield channel(f"devices.valves.lines.{valve}", getattr(valves.lines, valve), valves.server)
        if valves.pressure_channels is not None:
            for valve in VALVES:
                name = getattr(valves.pressure_channels, valve)
                yield channel(f"devices.valves.pressure_channels.{valve}", name, valves.server)
        if valves.regulator is not None:
            yield channel("devices.valves.regulator.channel", valves.regulator.channel, valves.server)
    if daq is not None:
        for place, item in enumerate(daq.inputs):
            yield channel(f"devices.daq.inputs.{place}.channel", item.channel, daq.server)
        if daq.e_stop is not None:
            yield channel("devices.daq.e_stop", daq.e_stop, daq.server)


def _port(key: str, port: str) -> Key:
    return Key(key, port, Path(port).is_char_device() if port else None)


def _channels(devices: Sequence[NiDevice]) -> set[str]:
    """NI writes names in any case."""
    return {name.lower() for one in devices for name in (*one.ai, *one.ao, *one.di, *one.do)}
