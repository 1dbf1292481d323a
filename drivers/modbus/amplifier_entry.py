"""Load amplifier on Modbus: the registry's entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from drivers.checks import channel_problems, load_problems
from drivers.driver_type import Connection, LineLoad, LoadsType, RigSetup
from drivers.host import COMPUTER, Alive, Host, line_time_s
from drivers.modbus.section import ModbusLoadsSection
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.modbus.amplifier import AmplifierSettings, ModbusAmplifier
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts


class _ModbusLoadsType(LoadsType[ModbusLoadsSection]):
    """Leg sensors and load cell on a polled amplifier."""

    name = "modbus"
    settings = ModbusLoadsSection
    even = False

    @override
    def make(
        self, section: ModbusLoadsSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> ModbusAmplifier:
        from drivers.modbus.amplifier import ModbusAmplifier

        return ModbusAmplifier(self.driver_settings(section, rig), host, alive)

    @override
    def check(self, section: ModbusLoadsSection, rig: RigSetup) -> Iterator[Problem]:
        from drivers.modbus.amplifier import check

        problems = list(channel_problems([item.channel for item in section.inputs], rig))
        yield from problems
        if rig.loads is None or problems:
            return
        if rig.loads.block_samples != 1:
            found = f"{rig.loads.block_samples} samples in a block"
            allowed = f"{1e3 / rig.loads.rate_hz:g}, one sample: an amplifier on Modbus is polled sample by sample"
            yield Problem("loads.block_ms", found, allowed, ("loads.rate_hz", "devices.loads.driver"))
        settings = self.driver_settings(section, rig)
        try:
            check(settings)
        except ValueError as error:
            yield Problem("devices.loads.inputs", str(error), "registers and a rate that fit", ("loads.rate_hz",))
        else:
            yield from load_problems("loads", section.baud, [self._load(settings)], ())

    @override
    def connections(self, section: ModbusLoadsSection) -> Iterator[Connection]:
        yield Connection("devices.loads.port", section.port)

    @override
    def busy(self, section: ModbusLoadsSection, rig: RigSetup) -> float:
        settings = self.driver_settings(section, rig)
        return settings.poll_s() * settings.rate_hz

    @override
    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        values["port"] = endpoints["amplifier"]

    @override
    def simulated_ports(
        self, section: ModbusLoadsSection | None, rig: RigSetup, ports: PlantPorts
    ) -> Mapping[str, SimulatedPort]:
        if section is None or ports.readings is None:
            return {}
        from drivers.modbus import protocol
        from drivers.modbus.simulated.amplifier import Amplifier
        from drivers.sim.protocol.line import SimulatedPort

        given = self.driver_settings(section, rig)
        device = Amplifier(
            ports.readings,
            given.registers,
            address=given.address,
            baud=given.baud,
            function=given.function,
            signed=given.signed,
            high_first=given.high_first,
            gaps=given.gaps,
            V_per_count=given.V_per_count,
        )
        return {
            "amplifier": SimulatedPort(device, given.baud, protocol.silence_ns(given.baud), characters=given.characters)
        }

    def driver_settings(self, section: ModbusLoadsSection, rig: RigSetup) -> AmplifierSettings:
        """The same in the driver's units."""
        from drivers.modbus.amplifier import AmplifierSettings
        from drivers.modbus.protocol import FUNCTIONS

        assert rig.loads is not None  # else the section would have been refused
        places = {item.channel: item.register_number for item in section.inputs}
        return AmplifierSettings(
            port=section.port,
            registers=tuple(places[name] for name in rig.loads.channels),
            rate_hz=rig.loads.rate_hz,
            baud=section.baud,
            characters=section.characters,
            address=section.address,
            function=FUNCTIONS[section.registers],
            signed=section.signed,
            high_first=section.word_order == "high_first",
            gaps=section.read_gaps,
            V_per_count=section.V_per_count,
            range_V=rig.loads.cells[0].full_scale,  # of readings in volts all are equal
        )

    @staticmethod
    def _load(settings: AmplifierSettings) -> LineLoad:
        """Share of its time that the line carries bytes."""
        bytes_ = sum(len(request.frame) + request.length for request in settings.requests())
        return LineLoad(settings.port, line_time_s(bytes_ * settings.rate_hz, settings.baud, settings.characters))


MODBUS_LOADS = _ModbusLoadsType()
