"""Shunt calibration and TEDS of a rig's channels, where their driver offers them; nothing moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from drivers.channel_calibration import ChannelCalibration, Shunt, Teds
from drivers.interfaces import DeviceError
from drivers.registry import daq_driver, loads_driver
from hil.app.check.access import open_access
from hil.config import Config
from hil.config.rig_setup import rig_setup
from hil.config.schema.devices import DevicesConfig
from hil.messages.layout import SAMPLED


def shunt_gains(
    config: Config,
    group: str,
    channels: tuple[str, ...],
    shunt: Shunt,
    progress: Callable[[str], None] = lambda _: None,
    endpoints: Path | None = None,
) -> dict[str, float]:
    """Gain of each channel by its shunt calibration.

    Args:
        config: of the rig.
        group: of `hil.messages.layout.SAMPLED`.
        channels: names of channels of this group.
        shunt: of the device.
        progress: receives progress lines.
        endpoints: of a running simulated rig at the protocol level.

    Raises:
        DeviceError: the driver does not offer it, or the device did not do it.
    """
    with ExitStack() as stack:
        config = _opened(config, progress, endpoints, stack)
        driver, section = _driver(config.devices, group)
        progress(f"shunt calibration of {', '.join(channels)}: nothing may touch the sensors")
        with _reported(group):
            gains = driver.shunt_gains(section, rig_setup(config), channels, shunt)
    return gains


def read_teds(
    config: Config, progress: Callable[[str], None] = lambda _: None, endpoints: Path | None = None
) -> dict[str, dict[str, Teds | None]]:
    """Data sheet in the sensor of each channel, by group; None: the sensor has none. Raises DeviceError."""
    found: dict[str, dict[str, Teds | None]] = {}
    with ExitStack() as stack:
        config = _opened(config, progress, endpoints, stack)
        for group in (group for group in SAMPLED if config.layout.parts(group)):
            driver, section = _driver(config.devices, group)
            with _reported(group):
                found[group] = driver.teds(section, rig_setup(config))
    return found


def _opened(config: Config, progress: Callable[[str], None], endpoints: Path | None, stack: ExitStack) -> Config:
    if config.rig == "simulated":
        raise DeviceError(
            "rig: simulated has no devices that could be calibrated; use a config of a real rig, or of a simulated one "
            "at the protocol level (rig: simulated_wire)"
        )
    return open_access(config, progress, endpoints, stack)[1]


def _driver(devices: DevicesConfig | None, group: str) -> tuple[ChannelCalibration, Any]:
    """The driver type of a group's channels, and its section."""
    assert devices is not None  # else the config of such a rig would have been refused
    if group == "daq":
        assert devices.daq is not None
        return daq_driver(devices.daq), devices.daq
    assert devices.loads is not None
    return loads_driver(devices.loads), devices.loads


@contextmanager
def _reported(group: str) -> Iterator[None]:
    """Turn the refusal of a driver into a DeviceError that names its key."""
    try:
        yield
    except ValueError as error:
        raise DeviceError(f"devices.{group}.driver: {error}") from error
