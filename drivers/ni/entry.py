"""NI-DAQmx, data acquisition and valves: the registry's entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import override

from drivers.channel_calibration import ChannelCalibration, Shunt, Teds
from drivers.checks import channel_problems, regulator_problems, valve_problems
from drivers.driver_type import Connection, DaqType, DriverType, LoadsType, RigSetup, ValvesType
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import IoDevice
from drivers.ni.section import NiDaqSection, NiLoadsSection, NiValvesSection, chassis_of
from drivers.section import Problem, settings_of

if TYPE_CHECKING:
    from drivers.ni.channels import NiDaqSettings
    from drivers.ni.daq import NiDaq
    from drivers.ni.valves import NiValves, NiValveSettings
    from drivers.sim.server import ServerSetup, SimulatedServer


S = TypeVar("S", NiDaqSection, NiLoadsSection, NiValvesSection)


class _ByServer(DriverType[S]):
    """What all NI devices have in common: they are reached by a device server, or on this computer."""

    name = "ni"
    uses_servers = True

    @override
    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        values["server"] = endpoints["daq"]

    @override
    def servers(self, section: S) -> Sequence[str]:
        return (section.server,)

    @override
    def list_devices(self, server: str) -> tuple[IoDevice, ...]:
        from drivers.ni.session import NiSession

        session = NiSession("NI devices", server, lambda: None)
        try:
            session.open()
            return session.devices()
        finally:
            session.close()


class _CalibratedType(ChannelCalibration):
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


class NiDaqType(_ByServer[NiDaqSection], _CalibratedType, DaqType[NiDaqSection]):
    """Force sensors on NI devices."""

    settings = NiDaqSection

    @override
    def make(self, section: NiDaqSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None) -> NiDaq:
        from drivers.ni.daq import NiDaq

        return NiDaq(self.driver_settings(section, rig), host, alive)

    @override
    def connections(self, section: NiDaqSection) -> Iterator[Connection]:
        for place, item in enumerate(section.inputs):
            yield physical_channel(f"devices.daq.inputs.{place}.channel", item.channel, section.server)
        if section.e_stop is not None:
            yield physical_channel("devices.daq.e_stop", section.e_stop, section.server)

    @override
    def simulated_server(self, setup: ServerSetup) -> SimulatedServer:
        from drivers.ni.simulated.rig_part import NiRigPart

        return NiRigPart(setup)

    def driver_settings(self, section: NiDaqSection, rig: RigSetup) -> NiDaqSettings:
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
        return settings_of(
            NiDaqSettings,
            section,
            channels=tuple(channels),
            rate_hz=rig.sample_rate_hz,
            block_samples=rig.block_samples,
            e_stop=section.e_stop or "",
        )


class _NiValvesType(_ByServer[NiValvesSection], ValvesType[NiValvesSection]):
    """Valves on digital lines of NI devices."""

    settings = NiValvesSection

    @override
    def make(
        self, section: NiValvesSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> NiValves:
        from drivers.ni.valves import NiValves

        return NiValves(self.driver_settings(section, rig), host, alive)

    @override
    def check(self, section: NiValvesSection, rig: RigSetup) -> Iterator[Problem]:
        valves, names = rig.valves.valves, "cylinders.joints"
        yield from section.lines.problems("devices.valves.lines", valves, names)
        if section.pressure_channels is not None:
            yield from section.pressure_channels.problems("devices.valves.pressure_channels", valves, names)
        yield from valve_problems(section, "pressure_channels", self.dead_man(section), "watchdog_ms")
        dead_man, fixed = self.regulators_dead_man(section), section.regulator is not None
        yield from regulator_problems(section.regulators, dead_man, "watchdog_ms", fixed=fixed, rig=rig)

    @override
    def connections(self, section: NiValvesSection) -> Iterator[Connection]:
        for key in ("lines", "pressure_channels", "regulators"):
            named = getattr(section, key)
            for name, channel in named.given.items() if named is not None else ():
                yield physical_channel(f"devices.valves.{key}.{name}", channel, section.server)
        if section.regulator is not None:
            yield physical_channel("devices.valves.regulator.channel", section.regulator.channel, section.server)
        if section.camera_trigger is not None:
            yield physical_channel("devices.valves.camera_trigger", section.camera_trigger, section.server)

    @override
    def dead_man(self, section: NiValvesSection) -> str:
        return "" if section.watchdog_ms is None else f"NI's watchdog: {section.watchdog_ms} ms"

    @override
    def regulators_dead_man(self, section: NiValvesSection) -> str:
        return self.dead_man(section)

    def driver_settings(self, section: NiValvesSection, rig: RigSetup) -> NiValveSettings:
        """The same in the driver's units."""
        from drivers.ni.valves import NiValveSettings

        inputs, fixed, moved = section.pressure_channels, section.regulator, section.regulators
        lines = section.lines.in_order(rig.valves.valves)
        if rig.valves.trigger:
            lines += (section.camera_trigger or "",)
        outputs = moved or fixed
        return settings_of(
            NiValveSettings,
            section,
            lines=lines,
            valves=rig.valves,
            watchdog_device=chassis_of(lines[0]) if section.watchdog_ms else "",
            watchdog_s=(section.watchdog_ms or 0) * 1e-3,
            outputs=moved.in_order(rig.valves.regulators) if moved else (fixed.channel,) if fixed else (),
            output_VpkPa=1.0 / outputs.kPa_per_V if outputs else 1.0,
            output_zero_V=moved.zero_V if moved else 0.0,
            supply_kPa=rig.supply_kPa,
            pressures=inputs.in_order(rig.valves.valves) if inputs else (),
            pressure_VpkPa=1.0 / inputs.kPa_per_V if inputs else 1.0,
        )


class _NiLoadsType(_ByServer[NiLoadsSection], _CalibratedType, LoadsType[NiLoadsSection]):
    """Leg sensors and load cell on NI devices."""

    settings = NiLoadsSection

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

    def driver_settings(self, section: NiLoadsSection, rig: RigSetup) -> NiDaqSettings:
        """The same in the driver's units."""
        from drivers.ni.channels import NiChannel, NiDaqSettings

        assert rig.loads is not None  # else the section would have been refused
        places = {item.channel: item for item in section.inputs}
        # a reading is volts at the sensor whatever the sensitivity, which the estimator applies
        inputs = [(cell, places[cell.name]) for cell in rig.loads.cells]
        channels = [NiChannel(cell.name, item.input, item.kind, 1.0, cell.full_scale) for cell, item in inputs]
        return settings_of(
            NiDaqSettings,
            section,
            channels=tuple(channels),
            rate_hz=rig.loads.rate_hz,
            block_samples=rig.loads.block_samples,
            device="NI-DAQ loads",
            section="loads",
        )


# Names of one and the same host: two runs that name a server differently lock one another out all the same.
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]", "::1", "ip6-localhost"})


def physical_channel(key: str, channel: str, server: str) -> Connection:
    """The connection of a channel or line that a key of the config names."""
    host, _, port = server.lower().rpartition(":")
    place = f"{'this computer' if host in _LOOPBACK else host}:{port}" if server else "this computer"
    return Connection(key, channel, server, f"{chassis_of(channel).lower()} on {place}")


NI_DAQ = NiDaqType()
NI_VALVES = _NiValvesType()
NI_LOADS = _NiLoadsType()
