"""Load amplifier on Modbus: the registry's entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from typing_extensions import override

from drivers.checks import channel_problems, load_problems
from drivers.driver_type import LineLoad, LoadsType, OnePort, RigSetup
from drivers.host import line_time_s
from drivers.modbus.section import ModbusLoadsSection
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts


class _ModbusLoadsType(OnePort[ModbusLoadsSection], LoadsType[ModbusLoadsSection]):
    """Leg sensors and load cell on a polled amplifier."""

    name = "modbus"
    settings = ModbusLoadsSection
    device = "drivers.modbus.amplifier:ModbusAmplifier"
    endpoint = "amplifier"
    even = False

    @override
    def check(self, section: ModbusLoadsSection, rig: RigSetup) -> Iterator[Problem]:
        problems = list(channel_problems([item.channel for item in section.inputs], rig))
        yield from problems
        if rig.loads is None or problems:
            return
        if rig.loads.block_samples != 1:
            found = f"{rig.loads.block_samples} samples in a block"
            allowed = f"{1e3 / rig.loads.rate_hz:g}, one sample: an amplifier on Modbus is polled sample by sample"
            yield Problem("loads.block_ms", found, allowed, ("loads.rate_hz", "devices.loads.driver"))
        if wrong := section.wrong(rig.loads.rate_hz):
            found = f"load amplifier: {'; '.join(wrong)}"
            yield Problem("devices.loads.inputs", found, "registers and a rate that fit", ("loads.rate_hz",))
        else:
            bytes_s = sum(len(request.frame) + request.length for request in section.requests()) * rig.loads.rate_hz
            load = LineLoad(section.port, line_time_s(bytes_s, section.baud, section.characters))
            yield from load_problems("loads", section.baud, [load], ())

    @override
    def busy(self, section: ModbusLoadsSection, rig: RigSetup) -> float:
        assert rig.loads is not None  # else the section would have been refused
        return section.poll_s() * rig.loads.rate_hz

    @override
    def simulated_ports(
        self, section: ModbusLoadsSection | None, rig: RigSetup, ports: PlantPorts
    ) -> Mapping[str, SimulatedPort]:
        if section is None or ports.readings is None or rig.loads is None:
            return {}
        from drivers.modbus import protocol
        from drivers.modbus.simulated.amplifier import Amplifier
        from drivers.sim.protocol.line import SimulatedPort

        device, silence_ns = Amplifier(ports.readings, section, rig.loads.channels), protocol.silence_ns(section.baud)
        return {"amplifier": SimulatedPort(device, section.baud, silence_ns, characters=section.characters)}


MODBUS_LOADS = _ModbusLoadsType()
