"""The key `identity`: a number with quotes or without, and a rehearsal whose devices have those of the config."""

from __future__ import annotations

import pytest

from drivers.registry import driver_of
from drivers.roboclaw.simulated import RoboClawBus
from drivers.sim.protocol.plant_ports import PlantPorts
from hil.config import load_config
from hil.config.rig_setup import rig_setup

KEY = "devices.drives.controllers"


@pytest.mark.parametrize("given", ["17", "'17'"])
def test_an_identity_is_a_number_with_quotes_or_without(given: str) -> None:
    drives = load_config("mars_dome", [f"{KEY}.1.identity={given}"]).devices.drives
    assert [one.identity for one in drives.controllers] == ["", "17", ""]


@pytest.mark.parametrize(
    ("ports", "buses", "usb"),
    [("[/dev/ttyUSB5]", (0, 0, 0), False), ("[/dev/ttyACM0, /dev/ttyACM1, /dev/ttyACM2]", (0, 1, 2), True)],
)
def test_a_rehearsal_has_the_connection_and_the_marks_of_the_config(
    ports: str, buses: tuple[int, ...], usb: bool
) -> None:
    own = [
        f"{KEY}.{place}.{key}={value}"
        for place, bus in enumerate(buses)
        for key, value in (("bus", bus), ("identity", 21 + place))
    ]
    config = load_config("mars_dome", ["rig=simulated_wire", f"devices.drives.ports={ports}", *own])
    section = config.devices.drives
    peers = driver_of(section).simulated_ports(section, rig_setup(config), PlantPorts(Still(), None))
    devices = [peer.device for peer in peers.values()]
    assert all(isinstance(device, RoboClawBus) for device in devices)
    assert [one.stored for device in devices for one in device.controllers.values()] == [{0: 21}, {0: 22}, {0: 23}]
    free = b"\x87\x15"  # the version at an address that no controller has
    assert [bool(device.receive(free, 10**9, 10**9)) for device in devices] == [usb] * len(devices)


class Still:
    """Wheels that stand."""

    def speed_radps(self, wheel: int) -> float:
        return 0.0

    angle_rad = current_A = speed_radps
