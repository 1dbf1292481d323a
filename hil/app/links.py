"""From the config to real drivers: which one, where, and how it is stopped without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from pydantic import ValidationError

from drivers.host import COMPUTER, Host
from drivers.interfaces import DeviceError, PolledDevice, StopFrames
from drivers.modbus.valves import ModbusValves
from drivers.ni.daq import NiDaq
from drivers.ni.valves import NiValves
from drivers.roboclaw.drives import RoboClawDrives
from drivers.roboteq.drives import RoboteqDrives
from hil.app import settings
from hil.config import Config
from hil.config.devices import Devices, RoboclawDrives
from hil.config.devices import ModbusValves as ModbusValvesConfig
from hil.config.wording import problems_of
from hil.links.shared import Shared
from hil.workers.pump import BlockFeed, DriveFeed, Feed, ValveFeed

Alive = Callable[[], None]
Drives = RoboClawDrives | RoboteqDrives
Valves = ModbusValves | NiValves


def make_daq(config: Config, alive: Alive = lambda: None, host: Host = COMPUTER) -> NiDaq:
    """The data acquisition, not opened yet."""
    daq = _devices(config).daq
    assert daq is not None
    return NiDaq(settings.ni_daq(config, daq), host, alive)


def make_drives(config: Config, alive: Alive = lambda: None, host: Host = COMPUTER) -> Drives:
    """The wheel drives, not opened yet. Raises DeviceError: they cannot work as set."""
    drives = _devices(config).drives
    assert drives is not None
    with _refusal_told("devices.drives"):
        if isinstance(drives, RoboclawDrives):
            return RoboClawDrives(settings.roboclaw(config, drives), host, alive)
        return RoboteqDrives(settings.roboteq(config, drives), host, alive)


def make_valves(config: Config, alive: Alive = lambda: None, host: Host = COMPUTER) -> Valves:
    """The bogie valves, not opened yet. Raises DeviceError: they cannot work as set."""
    valves = _devices(config).valves
    assert valves is not None
    with _refusal_told("devices.valves"):
        if isinstance(valves, ModbusValvesConfig):
            return ModbusValves(settings.modbus(config, valves), host, alive)
        return NiValves(settings.ni_valves(config, valves), host, alive)


def open_link(
    name: str, config: Config, shared: Shared, alive: Alive, host: Host = COMPUTER
) -> tuple[PolledDevice, Feed]:
    """A device by the name of its link, opened, and what feeds its samples to shared memory. Raises DeviceError."""
    device: PolledDevice
    feed: Feed
    if name == "daq":
        device = daq = make_daq(config, alive, host)
        feed = BlockFeed(shared, daq)
    elif name == "drives":
        device = drives = make_drives(config, alive, host)
        feed = DriveFeed(shared, drives)
    else:
        device = valves = make_valves(config, alive, host)
        feed = ValveFeed(shared, valves)
    device.open()
    return device, feed


def stop_frames(config: Config) -> Mapping[str, Sequence[StopFrames]]:
    """What stops each link without its driver, by the link's name; nothing where there is no real one."""
    if config.rig == "simulated":
        return {}
    return {"drives": make_drives(config).stop_frames(), "valves": make_valves(config).stop_frames()}


def at_endpoints(config: Config, endpoints: Mapping[str, str]) -> Config:
    """The same config with the ports of a simulated rig.

    Raises:
        DeviceError: it has not as many ports as the config needs, or they are no ports.
    """
    raw = config.model_dump(mode="json")
    drives, valves = raw["devices"]["drives"], raw["devices"]["valves"]
    try:
        if drives["driver"] == "roboclaw":
            drives["ports"] = [endpoints[numbered("roboclaw", i)] for i in range(len(drives["ports"]))]
        else:
            for i, controller in enumerate(drives["controllers"]):
                controller["port"] = endpoints[numbered("roboteq", i)]
    except KeyError as error:
        found = f"it has no {error}, which the config's drives need"
        raise DeviceError(f"simulated rig: {found}; start one from this config") from error
    if valves["driver"] == "modbus":
        valves["port"] = endpoints["modbus"]
    else:
        valves["server"] = endpoints["daq"]
    raw["devices"]["daq"]["server"] = endpoints["daq"]
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        wrong = "; ".join(str(problem) for problem in problems_of(error))
        raise DeviceError(f"simulated rig: endpoints that cannot be: {wrong}") from error


def numbered(name: str, number: int) -> str:
    """Name of an endpoint of which there are several: roboclaw, roboclaw_2, ..."""
    return f"{name}_{number + 1}" if number else name


@contextmanager
def _refusal_told(key: str) -> Iterator[None]:
    """A driver refuses settings that cannot work with ValueError. Raises DeviceError that names the config's key."""
    try:
        yield
    except ValueError as error:
        raise DeviceError(f"{key}: {error}") from error


def _devices(config: Config) -> Devices:
    assert config.devices is not None  # the config's own check has seen to it
    return config.devices
