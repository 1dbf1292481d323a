"""Joint encoders on Modbus: the registry's entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from drivers.checks import each_once, load_problems, repeated
from drivers.driver_type import Connection, InstrumentType, LineLoad, RigSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.modbus.section import EncoderRegister, ModbusJointsSection
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.modbus.encoder_settings import EncodersSettings
    from drivers.modbus.encoders import ModbusEncoders
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts

_KEY = "devices.joints"
_ENDPOINT = "encoders"
# Besides the line time an encoder needs so long, and so does an adapter.
_ANSWERS_WITHIN_MS = 4.0


class _ModbusJointsType(InstrumentType[ModbusJointsSection]):
    """Absolute encoders of joints on one line."""

    name = "modbus"
    role = "joints"
    settings = ModbusJointsSection

    @override
    def make(
        self, section: ModbusJointsSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> ModbusEncoders:
        from drivers.modbus.encoders import ModbusEncoders

        return ModbusEncoders(self.driver_settings(section, rig), host, alive)

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
            yield from self._rate_problems(section, rig)

    @override
    def connections(self, section: ModbusJointsSection) -> Iterator[Connection]:
        yield Connection(f"{_KEY}.port", section.port)

    @override
    def line_loads(self, section: ModbusJointsSection, rig: RigSetup) -> Sequence[LineLoad]:
        settings = self.driver_settings(section, rig)
        return [LineLoad(section.port, settings.bytes_s() * settings.rate_hz)]

    @override
    def busy(self, section: ModbusJointsSection, rig: RigSetup) -> float:
        settings = self.driver_settings(section, rig)
        return settings.poll_s() * settings.rate_hz

    @override
    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        values["port"] = endpoints[_ENDPOINT]

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

        given = self.driver_settings(section or _typical(setup.channels), rig)
        bus = EncoderBus(instrument, given.encoders, given.baud)
        return {_ENDPOINT: SimulatedPort(bus, given.baud, protocol.silence_ns(given.baud), characters=given.characters)}

    def driver_settings(self, section: ModbusJointsSection, rig: RigSetup) -> EncodersSettings:
        """The same in the driver's units."""
        from drivers.modbus.encoder_settings import Encoder, EncodersSettings
        from drivers.modbus.protocol import FUNCTIONS

        setup = rig.instruments[self.role]
        by_joint = {encoder.joint: encoder for encoder in section.encoders}
        encoders = [
            Encoder(
                joint=given.joint,
                address=given.address,
                register=given.register_number,
                function=FUNCTIONS[given.registers],
                bits=given.bits,
                counts_per_turn=given.counts_per_turn,
                high_first=given.word_order == "high_first",
                multi_turn=given.multi_turn,
            )
            for given in (by_joint[name] for name in setup.channels)
        ]
        timeout_ms = section.answer_timeout_ms
        return EncodersSettings(
            section.port, tuple(encoders), setup.rate_hz, section.baud, timeout_ms, section.characters
        )

    def _rate_problems(self, section: ModbusJointsSection, rig: RigSetup) -> Iterator[Problem]:
        """Whether all encoders can be read at the rate of the config."""
        settings, key = self.driver_settings(section, rig), "joints.rate_hz"
        if settings.answer_timeout_ms < (least_ms := 1e3 * settings.longest_answer_s() + _ANSWERS_WITHIN_MS):
            found, allowed = f"{settings.answer_timeout_ms:g}", f"at least {least_ms:.0f} at {section.baud} baud"
            yield Problem(f"{_KEY}.answer_timeout_ms", found, allowed, (f"{_KEY}.baud",))
        loads = self.line_loads(section, rig)
        too_slow = list(load_problems("joints", section.baud, loads, (f"{_KEY}.encoders",)))
        yield from too_slow
        if not too_slow and settings.poll_s() * settings.rate_hz > 1.0:
            most = (
                f"at most {1.0 / settings.poll_s():.1f}, for {len(settings.encoders)} encoders at {section.baud} baud"
            )
            yield Problem(key, f"{settings.rate_hz:g}", most, (f"{_KEY}.baud", f"{_KEY}.encoders"))


def _typical(joints: Sequence[str]) -> ModbusJointsSection:
    """Encoders as of a typical lab: addresses from 1 on, the position in input registers 1 and 2."""
    encoders = tuple(
        EncoderRegister(joint=joint, address=number, register_number=1) for number, joint in enumerate(joints, 1)
    )
    return ModbusJointsSection(driver="modbus", encoders=encoders)


MODBUS_JOINTS = _ModbusJointsType()
