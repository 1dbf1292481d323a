"""Makes the real drivers of a config, and the frames that stop a link without its driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pydantic import ValidationError

from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import (
    DaqDevice,
    DeviceError,
    DrivesDevice,
    InstrumentDevice,
    PolledDevice,
    ServosDevice,
    StopFrames,
    ValvesDevice,
)
from drivers.registry import (
    daq_driver,
    driver_of,
    drives_driver,
    instrument_driver,
    loads_driver,
    servos_driver,
    valves_driver,
)
from hil.config import Config
from hil.config.error_messages import problems_of
from hil.config.rig_setup import rig_setup
from hil.ipc.run_memory import RunMemory
from hil.messages.layout import INSTRUMENTS, SAMPLED
from hil.processes.link_bridge import BlockFeed, DriveFeed, Feed, ReadingFeed, ServoFeed, ValveFeed


class DriverFactory:
    """Makes the drivers of one rig.

    Args:
        config: of the rig, with all ports.
        alive: called while a driver waits.
        host: whose clock and ports are used.
    """

    def __init__(self, config: Config, alive: Alive = lambda: None, host: Host = COMPUTER) -> None:
        assert config.devices is not None  # ensured by the checks of the config
        self._devices, self._setup = config.devices, rig_setup(config)
        self._host, self._alive = host, alive

    def daq(self) -> DaqDevice:
        """The data acquisition, not opened yet. Raises DeviceError: it cannot work as set."""
        daq = self._devices.daq
        assert daq is not None
        with _refusal_reported("devices.daq"):
            return daq_driver(daq).make(daq, self._setup, self._host, self._alive)

    def loads(self) -> DaqDevice:
        """The data acquisition of the load channels, not opened yet. Raises DeviceError: it cannot work as set."""
        loads = self._devices.loads
        assert loads is not None
        with _refusal_reported("devices.loads"):
            return loads_driver(loads).make(loads, self._setup, self._host, self._alive)

    def instrument(self, role: str) -> InstrumentDevice:
        """An instrument of motion, not opened yet. Raises DeviceError: it cannot work as set."""
        section = getattr(self._devices, role)
        with _refusal_reported(f"devices.{role}"):
            return instrument_driver(section).make(section, self._setup, self._host, self._alive)

    def drives(self) -> DrivesDevice:
        """The wheel drives, not opened yet. Raises DeviceError: they cannot work as set."""
        drives = self._devices.drives
        assert drives is not None
        with _refusal_reported("devices.drives"):
            return drives_driver(drives).make(drives, self._setup, self._host, self._alive)

    def valves(self) -> ValvesDevice:
        """The bogie valves, not opened yet. Raises DeviceError: they cannot work as set."""
        valves = self._devices.valves
        assert valves is not None
        with _refusal_reported("devices.valves"):
            return valves_driver(valves).make(valves, self._setup, self._host, self._alive)

    def servos(self) -> ServosDevice:
        """The servos of driven joints, not opened yet. Raises DeviceError: they cannot work as set."""
        servos = self._devices.servos
        assert servos is not None
        with _refusal_reported("devices.servos"):
            return servos_driver(servos).make(servos, self._setup, self._host, self._alive)

    def stop_frames(self) -> Mapping[str, Sequence[StopFrames]]:
        """Frames that stop each link without its driver, by the link's name."""
        frames = {"drives": self.drives().stop_frames()}
        if self._devices.valves:
            frames["valves"] = self.valves().stop_frames()
        return frames | ({"servos": self.servos().stop_frames()} if self._devices.servos else {})


def open_link(name: str, shared: RunMemory, alive: Alive, host: Host = COMPUTER) -> tuple[PolledDevice, Feed]:
    """Open a device by the name of its link; the device, and its feed to shared memory. Raises DeviceError."""
    make = DriverFactory(shared.config, alive, host)
    device: PolledDevice
    feed: Feed
    if name in SAMPLED:
        device = daq = make.daq() if name == "daq" else make.loads()
        feed = BlockFeed(shared, daq, name)
    elif name in INSTRUMENTS:
        device = instrument = make.instrument(name)
        feed = ReadingFeed(shared, instrument, name)
    elif name == "drives":
        device = drives = make.drives()
        feed = DriveFeed(shared, drives)
    elif name == "servos":
        device = servos = make.servos()
        feed = ServoFeed(shared, servos)
    else:
        device = valves = make.valves()
        feed = ValveFeed(shared, valves)
    device.open()
    return device, feed


def at_endpoints(config: Config, endpoints: Mapping[str, str]) -> Config:
    """The same config with the ports of a simulated rig.

    Raises:
        DeviceError: the rig has fewer ports than the config needs, or they are not valid.
    """
    raw = config.model_dump(mode="json")
    assert config.devices is not None
    for section in config.devices.sections():
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
