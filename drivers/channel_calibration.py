"""What a driver of sampled channels may also offer: shunt calibration, and data sheets in sensors (TEDS)."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from drivers.host import COMPUTER, Alive, Host


class Shunt(NamedTuple):
    """A resistor that a device switches in parallel to one arm of a bridge, as if there were a known load.

    Attributes:
        resistor_ohm: of the shunt.
        bridge_ohm: of each arm of the bridge.
        arm: which one: R1 to R4; R3 is common.
    """

    resistor_ohm: float
    bridge_ohm: float
    arm: str = "R3"


class Teds(NamedTuple):
    """What a sensor says of itself (IEEE 1451.4, the basic data sheet).

    Attributes:
        manufacturer: its number there.
        model: number.
        version: letter and number.
        serial: number.
    """

    manufacturer: int
    model: int
    version: str
    serial: int


class ChannelCalibration:
    """Calibrations that a driver offers; by default none, and it says so."""

    name: ClassVar[str]

    def shunt_gains(
        self,
        section: Any,  # noqa: ARG002
        rig: Any,  # noqa: ARG002
        channels: tuple[str, ...],  # noqa: ARG002
        shunt: Shunt,  # noqa: ARG002
        host: Host = COMPUTER,  # noqa: ARG002
        alive: Alive = lambda: None,  # noqa: ARG002
    ) -> dict[str, float]:
        """Expected over measured reading with the shunt, by channel: by what a reading is to be multiplied.

        The bridges are without load meanwhile.

        Args:
            section: checked.
            rig: the rig that it is part of, a `RigSetup`.
            channels: names of channels, bridges all.
            shunt: that the device has.
            host: computer whose clock and ports are used.
            alive: called while waiting, every few ms.

        Raises:
            ValueError: the driver does not offer it, or a channel is no bridge.
            DeviceError: the device did not do it.
        """
        raise ValueError(f"the driver {self.name} offers no shunt calibration")

    def teds(
        self,
        section: Any,  # noqa: ARG002
        rig: Any,  # noqa: ARG002
        host: Host = COMPUTER,  # noqa: ARG002
        alive: Alive = lambda: None,  # noqa: ARG002
    ) -> dict[str, Teds | None]:
        """Data sheet in the sensor of each channel; None: it has none.

        Raises:
            ValueError: the driver does not offer it.
            DeviceError: the device did not do it.
        """
        raise ValueError(f"the driver {self.name} reads no TEDS")
