"""Valves on Modbus coils: the registry's entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from drivers.checks import (
    load_problems,
    regulator_problems,
    timeout_problems,
    valve_problems,
)
from drivers.driver_type import Connection, LineLoad, RigSetup, ValvesType, numbered
from drivers.modbus.section import ModbusValvesSection
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.modbus.valve_requests import ValveRequests
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts

_KEY = "devices.valves"


class ModbusType(ValvesType[ModbusValvesSection]):
    """Valves on the coils of a relay board or valve terminal, and regulators on registers."""

    name = "modbus"
    settings = ModbusValvesSection
    device = "drivers.modbus.valves:ModbusValves"

    @override
    def check(self, section: ModbusValvesSection, rig: RigSetup) -> Iterator[Problem]:
        dead_man, fixed = self.regulators_dead_man(section), section.regulator is not None
        yield from regulator_problems(section.regulators, dead_man, "regulators.watchdog", fixed=fixed, rig=rig)
        yield from (wrong := [*_name_problems(section, rig), *_scale_problems(section)])
        placed = section.can_trigger or not rig.valves.trigger
        if wrong or not placed or not rig.valves.outputs or not _is_whole(section, rig):
            return  # a number without a name has no meaning
        from drivers.modbus.limits import problems

        yield from (wrong := problems(self.requests(section, rig)))
        if not wrong:
            yield from self._load_problems(section, rig)
        yield from valve_problems(section, "pressure_registers", self.dead_man(section), "flash_on")

    @override
    def connections(self, section: ModbusValvesSection) -> Iterator[Connection]:
        yield Connection(f"{_KEY}.port", section.port)
        if section.regulators is not None and section.regulators.port is not None:
            yield Connection(f"{_KEY}.regulators.port", section.regulators.port)

    @override
    def line_loads(self, section: ModbusValvesSection, rig: RigSetup) -> Sequence[LineLoad]:
        valves, regulators = self.requests(section, rig).line_loads()
        loads = [LineLoad(section.port, valves)]
        if regulators is not None and section.regulators is not None:
            loads.append(LineLoad(section.regulators.port or "", regulators))
        return loads

    @override
    def busy(self, section: ModbusValvesSection, rig: RigSetup) -> float:
        return sum(load.share for load in self.line_loads(section, rig))

    @override
    def actuation_s(self, section: ModbusValvesSection, rig: RigSetup) -> tuple[float, float]:
        return self.requests(section, rig).actuation_s()

    @override
    def dead_man(self, section: ModbusValvesSection) -> str:
        return f"flash-on: the board switches off after {section.flash_s:g} s" if section.flash_on else ""

    @override
    def regulators_dead_man(self, section: ModbusValvesSection) -> str:
        watchdog = section.regulators.watchdog if section.regulators else None
        return f"watchdog of the device: it closes them after {watchdog.timeout_ms} ms" if watchdog else ""

    @override
    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        values["port"] = endpoints[self.name]
        if (moved := values.get("regulators")) and moved.get("port") is not None:
            moved["port"] = endpoints[numbered(self.name, 1)]

    @override
    def simulated_ports(
        self, section: ModbusValvesSection | None, rig: RigSetup, ports: PlantPorts
    ) -> Mapping[str, SimulatedPort]:
        from drivers.modbus.simulated.rig_part import simulated_ports

        free = len(rig.valves.valves) if rig.valves.trigger else None
        section = section or ModbusValvesSection(driver="modbus", flash_on=True, camera_trigger=free)
        devices = simulated_ports(self.requests(section, rig), ports.cylinders)
        return {numbered(self.name, number): port for number, port in enumerate(devices)}

    def requests(self, section: ModbusValvesSection, rig: RigSetup) -> ValveRequests:
        """What the driver sends."""
        from drivers.modbus.valve_requests import ValveRequests

        return ValveRequests(section, rig)

    def _load_problems(self, section: ModbusValvesSection, rig: RigSetup) -> Iterator[Problem]:
        needs = (f"{_KEY}.flash_on", f"{_KEY}.pressure_registers", f"{_KEY}.regulators")
        board, *other = self.line_loads(section, rig)
        yield from load_problems("valves", section.baud, [board], needs)
        for load in other:
            baud = self.requests(section, rig).regulator_line[0]
            yield from load_problems("valves", baud, [load], needs, "regulators.baud")


def _name_problems(section: ModbusValvesSection, rig: RigSetup) -> Iterator[Problem]:
    """Valves and regulators that the rig does not have, or that have no place."""
    valves, names = rig.valves.valves, "cylinders.joints"
    yield from section.coils.problems(f"{_KEY}.coils", valves, names)
    if section.pressure_registers is not None:
        yield from section.pressure_registers.problems(f"{_KEY}.pressure_registers", valves, names)


def _is_whole(section: ModbusValvesSection, rig: RigSetup) -> bool:
    """Returns whether each regulator that is moved has a place."""
    return set(section.regulators.given if section.regulators else ()) == set(rig.valves.regulators)


def _scale_problems(section: ModbusValvesSection) -> Iterator[Problem]:
    """Scale and time-out of regulators that are moved."""
    if (moved := section.regulators) is None:
        return
    key = f"{_KEY}.regulators"
    if moved.zero_counts >= moved.full_scale_counts:
        allowed = f"less than {key}.full_scale_counts, {moved.full_scale_counts}"
        yield Problem(f"{key}.zero_counts", f"{moved.zero_counts}", allowed, (f"{key}.full_scale_counts",))
    if moved.watchdog is not None:
        timeout_ms = moved.watchdog.timeout_ms
        yield from timeout_problems("regulators.watchdog.timeout_ms", timeout_ms, section.rate_hz, "valves")


MODBUS = ModbusType()
