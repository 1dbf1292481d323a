"""NI-DAQmx, data acquisition and valves: the registry's entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from drivers.checks import valve_problems
from drivers.device_sections import VALVES
from drivers.driver_type import Connection, DaqType, RigSetup, ValvesType
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import IoDevice
from drivers.ni.section import NiDaq as DaqSection
from drivers.ni.section import NiValves as ValvesSection
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.ni.channels import NiDaqSettings
    from drivers.ni.daq import NiDaq
    from drivers.ni.valves import NiValves, NiValveSettings
    from drivers.sim.server import ServerSetup, SimulatedServer


class NiDaqType(DaqType[DaqSection]):
    """Force sensors on NI devices."""

    name = "ni"
    settings = DaqSection
    uses_servers = True

    def make(self, section: DaqSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None) -> NiDaq:
        """See DriverType."""
        from drivers.ni.daq import NiDaq

        return NiDaq(self.driver_settings(section, rig), host, alive)

    def connections(self, section: DaqSection) -> Iterator[Connection]:
        """See DriverType."""
        for place, item in enumerate(section.inputs):
            yield _channel(f"devices.daq.inputs.{place}.channel", item.channel, section.server)
        if section.e_stop is not None:
            yield _channel("devices.daq.e_stop", section.e_stop, section.server)

    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        """See DriverType."""
        values["server"] = endpoints["daq"]

    def servers(self, section: DaqSection) -> Sequence[str]:
        """See DriverType."""
        return (section.server,)

    def list_devices(self, server: str) -> tuple[IoDevice, ...]:
        """See DriverType."""
        return _list_devices(server)

    def simulated_server(self, setup: ServerSetup) -> SimulatedServer:
        """See DaqType."""
        from drivers.ni.simulated.rig_part import NiRigPart

        return NiRigPart(setup)

    def driver_settings(self, section: DaqSection, rig: RigSetup) -> NiDaqSettings:
        """The same in the driver's units."""
        from drivers.ni.channels import NiChannel, NiDaqSettings

        by_sensor = {item.sensor: item for item in section.inputs}
        channels = []
        for sensor in rig.sensors:
            place, sheet = by_sensor[sensor.name], section.sheet(sensor.name)
            # a bridge's sensitivity is per volt of excitation
            scale = section.excitation_V if place.kind == "bridge" else 1.0
            serial = sheet.serial if sheet else ""
            sensitivity = sensor.sensitivity_mVpN / scale
            channels.append(NiChannel(sensor.name, place.channel, place.kind, sensitivity, rig.range_V, serial))
        return NiDaqSettings(
            channels=tuple(channels),
            rate_hz=rig.sample_rate_hz,
            block_samples=rig.block_samples,
            server=section.server,
            excitation_A=section.excitation_mA * 1e-3,
            bridge_V=section.excitation_V,
            e_stop=section.e_stop or "",
        )


class NiValvesType(ValvesType[ValvesSection]):
    """Valves on digital lines of NI devices."""

    name = "ni"
    settings = ValvesSection
    uses_servers = True

    def make(
        self, section: ValvesSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> NiValves:
        """See DriverType."""
        from drivers.ni.valves import NiValves

        return NiValves(self.driver_settings(section, rig), host, alive)

    def check(self, section: ValvesSection, rig: RigSetup) -> Iterator[Problem]:  # noqa: ARG002
        """See DriverType."""
        yield from valve_problems(section, "pressure_channels", self.dead_man(section), "watchdog_ms")

    def connections(self, section: ValvesSection) -> Iterator[Connection]:
        """See DriverType."""
        for valve, line in zip(VALVES, section.lines.in_order, strict=True):
            yield _channel(f"devices.valves.lines.{valve}", line, section.server)
        if (inputs := section.pressure_channels) is not None:
            for valve, channel in zip(VALVES, inputs.in_order, strict=True):
                yield _channel(f"devices.valves.pressure_channels.{valve}", channel, section.server)
        if section.regulator is not None:
            yield _channel("devices.valves.regulator.channel", section.regulator.channel, section.server)

    def dead_man(self, section: ValvesSection) -> str:
        """See ValvesType."""
        return "" if section.watchdog_ms is None else f"NI's watchdog: {section.watchdog_ms} ms"

    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        """See DriverType."""
        values["server"] = endpoints["daq"]

    def servers(self, section: ValvesSection) -> Sequence[str]:
        """See DriverType."""
        return (section.server,)

    def list_devices(self, server: str) -> tuple[IoDevice, ...]:
        """See DriverType."""
        return _list_devices(server)

    def driver_settings(self, section: ValvesSection, rig: RigSetup) -> NiValveSettings:
        """The same in the driver's units."""
        from drivers.ni.valves import NiValveSettings

        lines, inputs, regulator = section.lines, section.pressure_channels, section.regulator
        return NiValveSettings(
            lines=lines.in_order,
            server=section.server,
            watchdog_device=chassis_of(lines.left_extend) if section.watchdog_ms else "",
            watchdog_s=(section.watchdog_ms or 0) * 1e-3,
            regulator=regulator.channel if regulator else "",
            regulator_VpkPa=1.0 / regulator.kPa_per_V if regulator else 1.0,
            supply_kPa=rig.supply_kPa if regulator else 0.0,
            pressures=inputs.in_order if inputs else (),
            pressure_VpkPa=1.0 / inputs.kPa_per_V if inputs else 1.0,
            rate_hz=section.rate_hz,
        )


def chassis_of(channel: str) -> str:
    """The device that is reserved and has the watchdog; for a module of a chassis, the chassis."""
    return channel.lstrip("/").partition("/")[0].partition("Mod")[0]


def _channel(key: str, channel: str, server: str) -> Connection:
    reserved = f"{chassis_of(channel).lower()} on {server.lower() or 'this computer'}"
    return Connection(key, channel, server, reserved)


def _list_devices(server: str) -> tuple[IoDevice, ...]:
    from drivers.ni.session import NiSession

    session = NiSession("NI devices", server, lambda: None)
    try:
        session.open()
        return session.devices()
    finally:
        session.close()


NI_DAQ = NiDaqType()
NI_VALVES = NiValvesType()
