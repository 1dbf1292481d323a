"""Valves, load amplifiers and joint encoders on Modbus: the registry's entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from drivers.checks import (
    channel_problems,
    each_once,
    load_problems,
    regulator_problems,
    repeated,
    timeout_problems,
    valve_problems,
)
from drivers.driver_type import Connection, InstrumentType, LineLoad, LoadsType, OnePort, RigSetup, ValvesType, numbered
from drivers.host import line_time_s
from drivers.messages import CAMERA_TRIGGER
from drivers.modbus.section import EncoderRegister, ModbusJointsSection, ModbusLoadsSection, ModbusValvesSection
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
        lines = section.camera_triggers.given if section.camera_triggers else ()
        placed = (section.can_trigger or not rig.valves.trigger) and {*rig.valves.triggers} <= {*lines}
        if wrong or not placed or not rig.valves.outputs or not _is_whole(section, rig):
            return  # a number without a name has no meaning
        from drivers.modbus.valve_requests import problems

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
        from drivers.modbus.simulated.relay_board import simulated_ports

        free = dict(zip(rig.valves.trigger_lines, range(len(rig.valves.valves), 0x10000), strict=False))
        given = {name.rpartition(".")[2]: coil for name, coil in free.items()}
        one, named = given.pop(CAMERA_TRIGGER, None), given or None
        section = section or ModbusValvesSection(
            driver="modbus",
            flash_on=True,
            camera_trigger=one,
            camera_triggers=named,  # type: ignore[arg-type]
        )
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


_JOINTS_KEY = "devices.joints"
# An encoder needs this time in addition to the line time, and so does an adapter.
_ANSWERS_WITHIN_MS = 4.0


class _ModbusJointsType(OnePort[ModbusJointsSection], InstrumentType[ModbusJointsSection]):
    """Absolute encoders of joints on one line."""

    name = "modbus"
    role = "joints"
    settings = ModbusJointsSection
    device = "drivers.modbus.encoders:ModbusEncoders"
    endpoint = "encoders"

    @override
    def check(self, section: ModbusJointsSection, rig: RigSetup) -> Iterator[Problem]:
        if (setup := rig.instruments.get(self.role)) is None:
            return
        names = [encoder.joint for encoder in section.encoders]
        problems = list(
            each_once(f"{_JOINTS_KEY}.encoders", "joint", names, setup.channels, ("joints.encoders", "rover.type"))
        )
        for address, count in repeated(encoder.address for encoder in section.encoders):
            problems.append(Problem(f"{_JOINTS_KEY}.encoders", f"address {address} {count} times", "each address once"))
        for encoder in section.encoders:
            if encoder.counts_per_turn > 1 << encoder.bits:
                found = f"{encoder.counts_per_turn} counts per turn of {encoder.joint}"
                allowed = f"at most {1 << encoder.bits}, which {encoder.bits} bits can tell apart"
                problems.append(Problem(f"{_JOINTS_KEY}.encoders", found, allowed))
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
        return {
            "encoders": SimulatedPort(bus, given.baud, protocol.silence_ns(given.baud), characters=given.characters)
        }

    def _rate_problems(
        self, section: ModbusJointsSection, rate_hz: float, loads: Sequence[LineLoad]
    ) -> Iterator[Problem]:
        """Whether all encoders can be read at the rate of the config."""
        if section.answer_timeout_ms < (least_ms := 1e3 * section.longest_answer_s() + _ANSWERS_WITHIN_MS):
            found, allowed = f"{section.answer_timeout_ms:g}", f"at least {least_ms:.0f} at {section.baud} baud"
            yield Problem(f"{_JOINTS_KEY}.answer_timeout_ms", found, allowed, (f"{_KEY}.baud",))
        too_slow = list(load_problems("joints", section.baud, loads, (f"{_JOINTS_KEY}.encoders",)))
        yield from too_slow
        if not too_slow and (poll_s := section.poll_s()) * rate_hz > 1.0:
            most = f"at most {1.0 / poll_s:.1f}, for {len(section.encoders)} encoders at {section.baud} baud"
            yield Problem("joints.rate_hz", f"{rate_hz:g}", most, (f"{_JOINTS_KEY}.baud", f"{_KEY}.encoders"))


def _typical(joints: Sequence[str]) -> ModbusJointsSection:
    """Encoders as of a typical lab: addresses from 1 on, the position in input registers 1 and 2."""
    encoders = tuple(
        EncoderRegister(joint=joint, address=number, register_number=1) for number, joint in enumerate(joints, 1)
    )
    return ModbusJointsSection(driver="modbus", encoders=encoders)


MODBUS_JOINTS = _ModbusJointsType()
