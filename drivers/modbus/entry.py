"""Valves on Modbus coils: the registry's entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from drivers.checks import load_problems, repeated, valve_problems
from drivers.driver_type import Connection, LineLoad, RigSetup, ValvesType
from drivers.host import COMPUTER, Alive, Host
from drivers.modbus.section import ModbusValves as Section
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.modbus.settings import ModbusValvesSettings
    from drivers.modbus.valves import ModbusValves
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts

_Pa_PER_kPa = 1e3
USUAL_BAUD = 9600


class ModbusType(ValvesType[Section]):
    """Valves on the coils of a relay board or valve terminal."""

    name = "modbus"
    settings = Section

    def make(self, section: Section, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None) -> ModbusValves:
        """See DriverType."""
        from drivers.modbus.valves import ModbusValves

        return ModbusValves(self.driver_settings(section, rig), host, alive)

    def check(self, section: Section, rig: RigSetup) -> Iterator[Problem]:  # noqa: ARG002
        """See DriverType."""
        for coil, count in repeated(section.coils.in_order):
            yield Problem("devices.valves.coils", f"coil {coil} for {count} valves", "a different coil for each valve")
        needs = ("devices.valves.flash_on", "devices.valves.pressure_registers")
        yield from load_problems("valves", section.baud, self.line_loads(section), needs)
        tenths = section.flash_s * 10.0
        if abs(tenths - round(tenths)) > 1e-6:
            yield Problem("devices.valves.flash_s", f"{section.flash_s:g}", "a whole number of tenths of a second")
        if section.pressure_registers is not None:
            for register, count in repeated(section.pressure_registers.in_order):
                found = f"register {register} for {count} chambers"
                yield Problem("devices.valves.pressure_registers", found, "a different register for each chamber")
        yield from valve_problems(section, "pressure_registers", self.dead_man(section), "flash_on")

    def connections(self, section: Section) -> Iterator[Connection]:
        """See DriverType."""
        yield Connection("devices.valves.port", section.port)

    def line_loads(self, section: Section) -> Sequence[LineLoad]:
        """See DriverType."""
        return [LineLoad(section.port, section.line_load())]

    def busy(self, section: Section, rig: RigSetup) -> float:
        """See DriverType."""
        from drivers.modbus.settings import budget

        return budget(self.driver_settings(section, rig))

    def dead_man(self, section: Section) -> str:
        """See ValvesType."""
        return f"flash-on: the board switches off after {section.flash_s:g} s" if section.flash_on else ""

    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        """See DriverType."""
        values["port"] = endpoints[self.name]

    def simulated_ports(self, section: Section | None, rig: RigSetup, ports: PlantPorts) -> Mapping[str, SimulatedPort]:
        """See DriverType."""
        from drivers.modbus import protocol
        from drivers.modbus.simulated import RelayBoard, Terminal
        from drivers.sim.protocol.line import SimulatedPort

        if section is None:
            board, baud = RelayBoard(ports.cylinders), USUAL_BAUD
        else:
            given, baud = self.driver_settings(section, rig), section.baud
            register = given.regulator.register if given.regulator else None
            terminal = Terminal(given.pressure_registers, given.Pa_per_count, register)
            board = RelayBoard(
                ports.cylinders,
                given.coils,
                address=given.address,
                baud=baud,
                flash=given.flash_on,
                terminal=terminal,
            )
        return {self.name: SimulatedPort(board, baud, protocol.silence_ns(baud))}

    def driver_settings(self, section: Section, rig: RigSetup) -> ModbusValvesSettings:
        """The same in the driver's units."""
        from drivers.modbus.settings import ModbusValvesSettings, Regulator

        registers, regulator = section.pressure_registers, section.regulator
        return ModbusValvesSettings(
            port=section.port,
            coils=section.coils.in_order,
            baud=section.baud,
            address=section.address,
            flash_on=section.flash_on,
            flash_s=section.flash_s,
            pressure_registers=registers.in_order if registers else None,
            Pa_per_count=registers.kPa_per_count * _Pa_PER_kPa if registers else 1.0,
            regulator=(
                Regulator(
                    regulator.holding_register, rig.supply_kPa * _Pa_PER_kPa, regulator.kPa_per_count * _Pa_PER_kPa
                )
                if regulator
                else None
            ),
            rate_hz=section.rate_hz,
        )


MODBUS = ModbusType()
