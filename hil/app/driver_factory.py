"""Makes the real drivers of a config, and the frames that stop a link without its driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pydantic import ValidationError

from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import DaqDevice, DeviceError, DrivesDevice, PolledDevice, StopFrames, ValvesDevice
from drivers.registry import daq_driver, driver_of, drives_driver, loads_driver, valves_driver
from hil.config import Config
from hil.config.error_messages import problems_of
from hil.config.rig_setup import rig_setup
from hil.config.schema.devices import DevicesConfig
from hil.ipc.run_memory import RunMemory
from hil.messages.layout import SAMPLED
from hil.processes.link_bridge import BlockFeed, DriveFeed, Feed, ValveFeed


def make_daq(config: Config, alive: Alive = lambda: None, host: Host = COMPUTER) -> DaqDevice:
    """The data acquisition, not opened yet. Raises DeviceError: it cannot work as set."""
    daq = _devices(config.devices).daq
    assert daq is not None
    with _refusal_reported("devices.daq"):
        return daq_driver(daq).make(daq, rig_setup(config), host, alive)


def make_loads(config: Config, alive: Alive = lambda: None, host: Host = COMPUTER) -> DaqDevice:
    """The data acquisition of the load channels, not opened yet. Raises DeviceError: it cannot work as set."""
    loads = _devices(config.devices).loads
    assert loads is not None
    with _refusal_reported("devices.loads"):
        return loads_driver(loads).make(loads, rig_setup(config), host, alive)


def make_drives(config: Config, alive: Alive = lambda: None, host: Host = COMPUTER) -> DrivesDevice:
    """The wheel drives, not opened yet. Raises DeviceError: they cannot work as set."""
    drives = _devices(config.devices).drives
    assert drives is not None
    with _refusal_reported("devices.drives"):
        return drives_driver(drives).make(drives, rig_setup(config), host, alive)


def make_valves(config: Config, alive: Alive = lambda: None, host: Host = COMPUTER) -> ValvesDevice:
    """The bogie valves, not opened yet. Raises DeviceError: they cannot work as set."""
    valves = _devices(config.devices).valves
    assert valves is not None
    with _refusal_reported("devices.valves"):
        return valves_driver(valves).make(valves, rig_setup(config), host, alive)


def open_link(
    name: str, config: Config, shared: RunMemory, alive: Alive, host: Host = COMPUTER
) -> tuple[PolledDevice, Feed]:
    """Open a device by the name of its link; the device, and its feed to shared memory. Raises DeviceError."""
    device: PolledDevice
    feed: Feed
    if name in SAMPLED:
        device = daq = {"daq": make_daq, "loads": make_loads}[name](config, alive, host)
        feed = BlockFeed(shared, daq, name)
    elif name == "drives":
        device = drives = make_drives(config, alive, host)
        feed = DriveFeed(shared, drives)
    else:
        device = valves = make_valves(config, alive, host)
        feed = ValveFeed(shared, valves)
    device.open()
    return device, feed


def stop_frames(config: Config) -> Mapping[str, Sequence[StopFrames]]:
    """Frames that stop each link without its driver, by the link's name; none without real links."""
    if config.rig == "simulated":
        return {}
    frames = {"drives": make_drives(config).stop_frames()}
    return frames | ({"valves": make_valves(config).stop_frames()} if "valves" in config.layout.links else {})


def at_endpoints(config: Config, endpoints: Mapping[str, str]) -> Config:
    """The same config with the ports of a simulated rig.

    Raises:
        DeviceError: the rig has fewer ports than the config needs, or they are not valid.
    """
    raw = config.model_dump(mode="json")
    for section in _devices(config.devices).sections():
        try:
            driver_of(section).at_endpoints(raw["devices"][section.role], endpoints)
        except KeyError as error:
            found = f"it has no {error}, which the config's {section.role} need"
            raise DeviceError(f"simulated rig: {found}; start one from this config") from error
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        wrong = "; ".join(str(problem) for problem in problems_of(error))
        raise DeviceError(f"simulated rig: endpoints that are not valid: {wrong}") from error


@contextmanager
def _refusal_reported(key: str) -> Iterator[None]:
    """Turn the ValueError of a driver that refuses its settings into a DeviceError that names the config's key."""
    try:
        yield
    except ValueError as error:
        raise DeviceError(f"{key}: {error}") from error


def _devices(devices: DevicesConfig | None) -> DevicesConfig:
    assert devices is not None  # ensured by the checks of the config
    return devices
