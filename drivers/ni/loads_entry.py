"""NI-DAQmx, slow data acquisition of leg sensors and load cell: the registry's entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from drivers.checks import channel_problems
from drivers.driver_type import Connection, LoadsType, RigSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import IoDevice
from drivers.ni.calibrated_type import NiCalibratedType
from drivers.ni.entry import list_devices, physical_channel
from drivers.ni.section import NiLoadsSection
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.ni.channels import NiDaqSettings
    from drivers.ni.daq import NiDaq


class _NiLoadsType(NiCalibratedType, LoadsType[NiLoadsSection]):
    """Leg sensors and load cell on NI devices."""

    name = "ni"
    settings = NiLoadsSection
    uses_servers = True

    @override
    def make(self, section: NiLoadsSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None) -> NiDaq:
        from drivers.ni.daq import NiDaq

        return NiDaq(self.driver_settings(section, rig), host, alive)

    @override
    def check(self, section: NiLoadsSection, rig: RigSetup) -> Iterator[Problem]:
        yield from channel_problems([item.channel for item in section.inputs], rig)

    @override
    def connections(self, section: NiLoadsSection) -> Iterator[Connection]:
        for place, item in enumerate(section.inputs):
            yield physical_channel(f"devices.loads.inputs.{place}.input", item.input, section.server)

    @override
    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        values["server"] = endpoints["daq"]

    @override
    def servers(self, section: NiLoadsSection) -> Sequence[str]:
        return (section.server,)

    @override
    def list_devices(self, server: str) -> tuple[IoDevice, ...]:
        return list_devices(server)

    def driver_settings(self, section: NiLoadsSection, rig: RigSetup) -> NiDaqSettings:
        """The same in the driver's units."""
        from drivers.ni.channels import NiChannel, NiDaqSettings

        assert rig.loads is not None  # else the section would have been refused
        places = {item.channel: item for item in section.inputs}
        # a reading is volts at the sensor whatever the sensitivity, which the estimator applies
        inputs = [(cell, places[cell.name]) for cell in rig.loads.cells]
        channels = [NiChannel(cell.name, item.input, item.kind, 1.0, cell.full_scale) for cell, item in inputs]
        return NiDaqSettings(
            channels=tuple(channels),
            rate_hz=rig.loads.rate_hz,
            block_samples=rig.loads.block_samples,
            server=section.server,
            bridge_V=section.excitation_V,
            device="NI-DAQ loads",
            section="loads",
        )


NI_LOADS = _NiLoadsType()
