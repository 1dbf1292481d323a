"""What the driver types of NI's analogue channels have in common: the calibrations that NI-DAQmx offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

from drivers.channel_calibration import ChannelCalibration, Shunt, Teds
from drivers.driver_type import RigSetup
from drivers.host import COMPUTER, Alive, Host

if TYPE_CHECKING:
    from drivers.ni.channels import NiDaqSettings


class NiCalibratedType(ChannelCalibration):
    """Shunt calibration of bridges and TEDS, through the settings that the driver itself has."""

    @override
    def shunt_gains(
        self,
        section: Any,
        rig: RigSetup,
        channels: tuple[str, ...],
        shunt: Shunt,
        host: Host = COMPUTER,
        alive: Alive = lambda: None,
    ) -> dict[str, float]:
        from drivers.ni.channel_calibration import shunt_gains

        return shunt_gains(self.driver_settings(section, rig), channels, shunt, host, alive)

    @override
    def teds(
        self, section: Any, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> dict[str, Teds | None]:
        from drivers.ni.channel_calibration import read_teds

        return read_teds(self.driver_settings(section, rig), host, alive)

    def driver_settings(self, section: Any, rig: RigSetup) -> NiDaqSettings:
        """The section's settings in the driver's units."""
        raise NotImplementedError
