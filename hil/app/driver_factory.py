"""Makes the real drivers of a config, and the frames that stop a link without its driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from drivers.device_sections import DeviceSection
from drivers.driver_type import RigSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import DeviceError, PolledDevice, StopFrames
from drivers.registry import driver_of
from hil.config import Config
from hil.config.error_messages import problems_of
from hil.config.rig_setup import rig_setup
from hil.config.schema.devices import DevicesConfig
from hil.ipc.run_memory import RunMemory
from hil.messages.layout import COMMANDED
from hil.processes.link_bridge import Feed, feed_of


class DriverFactory:
    """Makes the drivers of one rig.

    Args:
        devices: section of the config, with all ports; each device that is made is in it.
        rig: what the drivers have to know of the rig.
        alive: called while a driver waits.
        host: whose clock and ports are used.
    """

    def __init__(
        self, devices: DevicesConfig | None, rig: RigSetup, alive: Alive = lambda: None, host: Host = COMPUTER
    ) -> None:
        assert devices is not None  # ensured by the checks of the config
        self._devices, self._setup = devices, rig
        self._host, self._alive = host, alive

    def device(self, role: str) -> Any:
        """The device of a role, not opened yet. Raises DeviceError: it cannot work as set."""
        section: DeviceSection = getattr(self._devices, role)
        with _refusal_reported(f"devices.{role}"):
            return driver_of(section).make(section, self._setup, self._host, self._alive)

    def stop_frames(self) -> Mapping[str, Sequence[StopFrames]]:
        """Frames that stop each link without its driver, by the link's name."""
        return {name: self.device(name).stop_frames() for name in COMMANDED if getattr(self._devices, name)}


def open_link(name: str, shared: RunMemory, alive: Alive, host: Host = COMPUTER) -> tuple[PolledDevice, Feed]:
    """Open a device by the name of its link; the device, and its feed to shared memory. Raises DeviceError."""
    device = DriverFactory(shared.config.devices, rig_setup(shared.config), alive, host).device(name)
    feed = feed_of(shared, name, device)
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
