"""Valves on Modbus coils, regulators, an amplifier and encoders on registers, in a rig config."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import override

from drivers.device_sections import (
    Baud,
    JointsSection,
    LoadsSection,
    MovedRegulators,
    Port,
    TriggerValues,
    ValvesSection,
    ValveValues,
)
from drivers.host import Characters, line_time_s
from drivers.modbus import protocol
from drivers.section import Listed, Section, is_none

# Registers are signed, of 16 bits.
MOST_COUNTS, MOST_SIGNED = 0xFFFF, 0x7FFF
Address = Annotated[int, Field(ge=1, le=247)]
Registers = Literal["input", "holding"]
_CHARACTERS = "as set in the devices on the line: data bits, parity (none, even, odd) and stop bits"
# Registers that one request of an amplifier may read, and those between two readings that are read with them.
MOST_REGISTERS, _GAP = protocol.MAX_REGISTERS, 4
WordOrder = Literal["high_first", "low_first"]


class Coils(ValveValues[int]):
    """Coil of each valve, counted from 0. Without a value it is the valve's place among the rig's valves."""

    needed = False
    model_config = ConfigDict(json_schema_extra={"each": "valve", "needed": False})
    __pydantic_extra__: dict[str, Annotated[int, Field(ge=0, le=65535, description="its coil")]] = Field(init=False)

    @override
    def in_order(self, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.given.get(name, place) for place, name in enumerate(names))


class _TriggerCoils(TriggerValues[int]):
    """Coil of each trigger line, counted from 0."""

    __pydantic_extra__: dict[str, Annotated[int, Field(ge=0, le=65535, description="its coil")]] = Field(init=False)


class PressureRegisters(ValveValues[int]):
    """Register of the pressure in each chamber that has a valve, counted from 0; the first of two of 32 bits."""

    __pydantic_extra__: dict[str, Annotated[int, Field(ge=0, le=65535, description="its register")]] = Field(init=False)
    kPa_per_count: float = Field(ge=1e-6, le=1e3, description="of gauge pressure")
    zero_counts: int = Field(0, ge=-(2**31), le=2**32 - 1, description="register at no gauge pressure")
    registers: Registers = Field("input", description="kind of these registers")
    bits: Literal[16, 32] = Field(16, description="of a pressure")
    signed: bool = Field(True, description="the register is a signed number; false: 0 to 65535, or to 2^32 - 1")
    word_order: WordOrder = Field("high_first", description="of the two registers of 32 bits")
    read_gaps: bool = Field(True, description="registers between these may be read; false: the device refuses that")
    lowest_kPa: float = Field(-101.5, ge=-1e5, le=1e5, description="a lower gauge pressure is an error of the register")
    highest_kPa: float = Field(1e5, ge=-1e5, le=1e5, description="a higher one is an error of the register")


class _RegulatorRegister(Section):
    """Holding register that sets a proportional regulator to cylinders.supply_kPa when the link is opened."""

    holding_register: int = Field(ge=0, le=65535, description="counted from 0")
    kPa_per_count: float = Field(ge=1e-6, le=1e3, description="of gauge pressure")


class _RegulatorPlace(Section):
    """Where a regulator's set-point is."""

    holding_register: int = Field(ge=0, le=65535, description="of its set-point, counted from 0")
    address: Address | None = Field(None, description="of its device; null: that of the board")


class OutputWatchdog(Section):
    """A time-out of the regulators' device: it closes them when nothing has addressed it for so long."""

    holding_register: int = Field(ge=0, le=65535, description="of the time-out, counted from 0")
    timeout_ms: int = Field(ge=10, le=60000, description="written to it when the link is opened")
    ms_per_count: float = Field(1.0, ge=1e-3, le=1e4, description="of that register")

    @property
    def counts(self) -> int:
        """The register's value."""
        return round(self.timeout_ms / self.ms_per_count)


class _RegulatorRegisters(MovedRegulators[_RegulatorPlace]):
    """Regulators that are moved during a run, behind holding registers."""

    __pydantic_extra__: dict[str, _RegulatorPlace] = Field(init=False)
    full_scale_kPa: float = Field(ge=1, le=1e5, description="gauge pressure at full_scale_counts")
    full_scale_counts: int = Field(
        ge=1, le=MOST_COUNTS, description="register at full_scale_kPa; above 32767: of a register without a sign"
    )
    zero_counts: int = Field(0, ge=0, le=MOST_COUNTS, description="register at no pressure, as for 4 of 4-20 mA")
    port: Port | None = Field(None, description="serial port; null: that of the valves")
    baud: Baud | None = Field(None, description="of that port; null: that of the valves")
    characters: Characters | None = Field(None, description="of that port; null: those of the valves")
    watchdog: OutputWatchdog | None = Field(None, description="dead-man of the regulators; null: none")

    @property
    @override
    def highest_kPa(self) -> float:
        return self.full_scale_kPa


class ModbusValvesSection(ValvesSection):
    """Valves on the coils of a relay board or valve terminal, Modbus RTU."""

    driver: Literal["modbus"] = Field(description="which driver")
    port: Port = Field("", description="serial port")
    baud: Baud = Field(9600, description="of the port")
    characters: Characters = Field("8n1", description=_CHARACTERS)
    address: Address = Field(1, description="of the board")
    rate_hz: float = Field(10.0, ge=1, le=200, description="coils and pressures read, and regulators written, a second")
    coils: Coils = Field(default_factory=Coils, description="coil of each valve")
    flash_on: bool = Field(
        False, description="the board switches a valve off unless the command is repeated: a dead-man"
    )
    flash_s: float = Field(0.5, ge=0.1, le=10, description="after so long")
    pressure_registers: PressureRegisters | None = Field(None, description="of the chambers; null: not measured")
    regulator: _RegulatorRegister | None = Field(None, description="proportional regulator; null: set by hand")
    regulators: _RegulatorRegisters | None = Field(
        None, description="those that are moved during a run (cylinders.regulators); null: none"
    )
    camera_trigger: int | None = Field(
        None, ge=0, le=65535, description="coil of the camera's trigger line (camera.trigger); null: there is none"
    )
    camera_triggers: _TriggerCoils | None = Field(
        None, description="those of camera.triggers; null: none", exclude_if=is_none
    )

    @property
    @override
    def measures_pressures(self) -> bool:
        return self.pressure_registers is not None

    @property
    @override
    def can_regulate(self) -> bool:
        return True

    @property
    @override
    def can_trigger(self) -> bool:
        return self.camera_trigger is not None


class AmplifierInput(Section):
    """Where an amplifier holds the reading of a load channel."""

    channel: str = Field(
        min_length=1,
        max_length=100,
        description="name of the load channel",
        json_schema_extra={"note": "a wheel and an axis, like front_left_fz, or pull"},
    )
    register_number: int = Field(
        ge=0, le=65534, description="first of two registers with its 32-bit reading, counted from 0"
    )


class ModbusLoadsSection(LoadsSection):
    """Amplifier of leg sensors and load cell, Modbus RTU; it is read loads.rate_hz times a second."""

    driver: Literal["modbus"] = Field(description="which driver")
    port: Port = Field("", description="serial port")
    baud: Baud = Field(115200, description="of the port")
    characters: Characters = Field("8n1", description=_CHARACTERS)
    address: int = Field(1, ge=1, le=247, description="of the amplifier")
    registers: Registers = Field("input", description="kind of the registers of readings")
    signed: bool = Field(True, description="a reading is a signed number; false: 0 to 2^32 - 1")
    word_order: WordOrder = Field("high_first", description="of the two registers of a reading")
    read_gaps: bool = Field(
        True, description="up to four registers between readings may be read; false: the device refuses that"
    )
    V_per_count: float = Field(1e-6, ge=1e-12, le=1, description="of a reading at the amplifier's input")
    inputs: Listed[AmplifierInput] = Field((), max_length=400, description="one a load channel")

    @property
    def function(self) -> protocol.Function:
        """Reads the registers."""
        return protocol.FUNCTIONS[self.registers]

    def places(self, channels: Sequence[str]) -> tuple[int, ...]:
        """Returns the first register of each of these channels."""
        places = {item.channel: item.register_number for item in self.inputs}
        return tuple(places[name] for name in channels)

    def spans(self) -> list[range]:
        """Registers to read in one request each: runs without large holes, none longer than a request may be."""
        spans: list[range] = []
        reach = _GAP if self.read_gaps else 0
        for register in sorted(item.register_number for item in self.inputs):
            last = spans[-1] if spans else None
            if last is not None and register + 2 - last.start <= MOST_REGISTERS and register <= last.stop + reach:
                spans[-1] = range(last.start, register + 2)
            else:
                spans.append(range(register, register + 2))
        return spans

    def requests(self) -> list[protocol.ModbusRequest[tuple[int, ...]]]:
        """One for each of the spans."""
        return [protocol.read_registers(self.address, span.start, len(span), self.function) for span in self.spans()]

    def poll_s(self) -> float:
        """Returns the line time of reading all channels once, with the silences after each frame [s]."""
        return sum(protocol.exchange_s(request, self.baud, self.characters) for request in self.requests())

    def wrong(self, rate_hz: float) -> list[str]:
        """Returns what cannot work when all channels are read at this rate, in words."""
        registers = sorted(item.register_number for item in self.inputs)
        if not registers or len({*registers}) != len(registers):
            return [f"registers: {registers}, needed: different ones"]
        if any(after - before < 2 for before, after in pairwise(registers)):
            return [f"registers: {registers}, needed: two for each channel, so at least 2 apart"]
        if (poll_s := self.poll_s()) * rate_hz > 1.0:
            return [f"rate_hz: {rate_hz:g}, allowed: at most {1.0 / poll_s:.1f}, for {len(registers)} channels"]
        return []


class EncoderRegister(Section):
    """Where the encoder of a joint holds its position."""

    joint: str = Field(
        min_length=1,
        max_length=100,
        description="name of the joint",
        json_schema_extra={"note": "one of joints.encoders, or of the rover's joints that turn"},
    )
    address: Address = Field(description="of the encoder")
    register_number: int = Field(ge=0, le=65535, description="of its position, the first of two of 32 bits, from 0")
    registers: Registers = Field("input", description="kind of that register")
    bits: Literal[16, 32] = Field(32, description="of a position")
    counts_per_turn: int = Field(4096, ge=2, le=2**24, description="of the position")
    word_order: WordOrder = Field("high_first", description="of the two registers of 32 bits")
    multi_turn: bool = Field(
        False, description="the position, signed, is an angle over many turns; else it is one within a turn"
    )

    @property
    def words(self) -> int:
        """Registers of a position."""
        return self.bits // 16

    def request(self) -> protocol.ModbusRequest[tuple[int, ...]]:
        """Reads the position."""
        function = protocol.FUNCTIONS[self.registers]
        return protocol.read_registers(self.address, self.register_number, self.words, function)

    def angle_rad(self, words: tuple[int, ...]) -> float:
        """Angle at a position [rad]: within (-pi, pi] of one turn, or over many turns.

        A position that is no place within a turn, from 0 on, is taken as a signed number: an encoder that has turned
        backwards over its zero counts -1, -2 and so on.

        Args:
            words: registers of the position, as read; each a signed number of 16 bits.

        Example:
            >>> encoder = EncoderRegister(joint="left_bogie", address=1, register_number=1, bits=16)
            >>> encoder.angle_rad((1024,)) / math.pi
            0.5
        """
        high_first = self.word_order == "high_first"
        counts = protocol.number_of(words, high_first=high_first, signed=self.multi_turn)
        if counts >= self.counts_per_turn and not self.multi_turn:
            counts = protocol.number_of(words, high_first=high_first)
        if self.multi_turn:
            return 2.0 * math.pi * counts / self.counts_per_turn
        turned = counts % self.counts_per_turn
        if 2 * turned > self.counts_per_turn:
            turned -= self.counts_per_turn
        return 2.0 * math.pi * turned / self.counts_per_turn

    def held(self, counts: int) -> tuple[int, ...]:
        """The registers of a position, each an unsigned number of 16 bits: what a device holds."""
        return protocol.words_of(counts, self.words, high_first=self.word_order == "high_first")


class ModbusJointsSection(JointsSection):
    """Absolute encoders of joints, Modbus RTU, on one line; all are read joints.rate_hz times a second."""

    driver: Literal["modbus"] = Field(description="which driver")
    port: Port = Field("", description="serial port")
    baud: Baud = Field(115200, description="of the port")
    characters: Characters = Field("8n1", description=_CHARACTERS)
    answer_timeout_ms: float = Field(50.0, ge=5, le=1000, description="an encoder answers within this time")
    encoders: Listed[EncoderRegister] = Field((), max_length=64, description="one a joint")

    def poll_s(self) -> float:
        """Returns the line time of reading all encoders once, with the silences after each frame [s]."""
        return sum(protocol.exchange_s(encoder.request(), self.baud, self.characters) for encoder in self.encoders)

    def bytes_s(self) -> float:
        """Returns the line time of the bytes of that alone [s]."""
        return line_time_s(sum(self._sizes()), self.baud, self.characters)

    def longest_answer_s(self) -> float:
        """Returns the line time of a request and its answer, of the encoder with the longest [s]."""
        return line_time_s(max(self._sizes(), default=0), self.baud, self.characters)

    def _sizes(self) -> list[int]:
        requests = [encoder.request() for encoder in self.encoders]
        return [len(request.frame) + request.length for request in requests]
