"""Joint encoders on Modbus: the registry's entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from typing_extensions import override

from drivers.checks import each_once, load_problems, repeated
from drivers.driver_type import InstrumentType, LineLoad, OnePort, RigSetup
from drivers.modbus.section import EncoderRegister, ModbusJointsSection
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts

_KEY = "devices.joints"
_ENDPOINT = "encoders"
# An encoder needs this time in addition to the line time, and so does an adapter.
_ANSWERS_WITHIN_MS = 4.0


class _ModbusJointsType(OnePort[ModbusJointsSection], InstrumentType[ModbusJointsSection]):
    """Absolute encoders of joints on one line."""

    name = "modbus"
    role = "joints"
    settings = ModbusJointsSection
    device = "drivers.modbus.encoders:ModbusEncoders"
    endpoint = _ENDPOINT

    @override
    def check(self, section: ModbusJointsSection, rig: RigSetup) -> Iterator[Problem]:
        if (setup := rig.instruments.get(self.role)) is None:
            return
        names = [encoder.joint for encoder in section.encoders]
        problems = list(
            each_once(f"{_KEY}.encoders", "joint", names, setup.channels, ("joints.encoders", "rover.type"))
        )
        for address, count in repeated(encoder.address for encoder in section.encoders):
            problems.append(Problem(f"{_KEY}.encoders", f"address {address} {count} times", "each address once"))
        for encoder in section.encoders:
            if encoder.counts_per_turn > 1 << encoder.bits:
                found = f"{encoder.counts_per_turn} counts per turn of {encoder.joint}"
                allowed = f"at most {1 << encoder.bits}, which {encoder.bits} bits can tell apart"
                problems.append(Problem(f"{_KEY}.encoders", found, allowed))
        yield from problems
        if not problems:
            yield from self._rate_problems(section, setup.rate_hz, self.line_loads(section, rig))

    @override
    def line_loads(self, section: ModbusJointsSection, rig: RigSetup) -> Sequence[LineLoad]:
        return [LineLoad(section.port, section.bytes_s() * rig.instruments[self.role].rate_hz)]

    @override
    def busy(self, section: ModbusJointsSection, rig: RigSetup) -> float:
        return section.poll_s() * rig.instruments[self.role].rate_hz

    @override
    def simulated_ports(
        self, section: ModbusJointsSection | None, rig: RigSetup, ports: PlantPorts
    ) -> Mapping[str, SimulatedPort]:
        instrument, setup = ports.instruments.get(self.role), rig.instruments.get(self.role)
        if instrument is None or setup is None:
            return {}
        from drivers.modbus import protocol
        from drivers.modbus.simulated.encoders import EncoderBus
        from drivers.sim.protocol.line import SimulatedPort

        given = section or _typical(setup.channels)
        by_joint = {encoder.joint: encoder for encoder in given.encoders}
        bus = EncoderBus(instrument, [by_joint[name] for name in setup.channels], given.baud)
        return {_ENDPOINT: SimulatedPort(bus, given.baud, protocol.silence_ns(given.baud), characters=given.characters)}

    def _rate_problems(
        self, section: ModbusJointsSection, rate_hz: float, loads: Sequence[LineLoad]
    ) -> Iterator[Problem]:
        """Whether all encoders can be read at the rate of the config."""
        if section.answer_timeout_ms < (least_ms := 1e3 * section.longest_answer_s() + _ANSWERS_WITHIN_MS):
            found, allowed = f"{section.answer_timeout_ms:g}", f"at least {least_ms:.0f} at {section.baud} baud"
            yield Problem(f"{_KEY}.answer_timeout_ms", found, allowed, (f"{_KEY}.baud",))
        too_slow = list(load_problems("joints", section.baud, loads, (f"{_KEY}.encoders",)))
        yield from too_slow
        if not too_slow and (poll_s := section.poll_s()) * rate_hz > 1.0:
            most = f"at most {1.0 / poll_s:.1f}, for {len(section.encoders)} encoders at {section.baud} baud"
            yield Problem("joints.rate_hz", f"{rate_hz:g}", most, (f"{_KEY}.baud", f"{_KEY}.encoders"))


def _typical(joints: Sequence[str]) -> ModbusJointsSection:
    """Encoders as of a typical lab: addresses from 1 on, the position in input registers 1 and 2."""
    encoders = tuple(
        EncoderRegister(joint=joint, address=number, register_number=1) for number, joint in enumerate(joints, 1)
    )
    return ModbusJointsSection(driver="modbus", encoders=encoders)


MODBUS_JOINTS = _ModbusJointsType()
