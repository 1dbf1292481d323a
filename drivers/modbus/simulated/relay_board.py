"""A relay board and analogue outputs of regulators on Modbus RTU; simulated at the protocol level."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from drivers.host import Characters
from drivers.modbus import protocol
from drivers.modbus.protocol import Code, Function
from drivers.modbus.section import OutputWatchdog
from drivers.modbus.simulated.rtu import ModbusExceptionError, RtuBus, Serve, Slave, registers, span
from drivers.modbus.valve_requests import (
    ALL_COILS,
    FLASH_ON,
    FLASH_STEP_S,
    FLASH_STEPS,
    ChamberRegisters,
    Regulator,
    ValveRequests,
)
from drivers.sim.protocol.line import SimulatedPort
from drivers.sim.protocol.plant_ports import NEVER_NS, CylinderPorts

# Boards have so many coils, or a multiple.
BOARD_COILS = 8


class RelayBoard:
    """A `Slave`. Its coils stay as they are when its host dies, except those that were flashed on.

    Args:
        cylinders: cylinders that its coils act on.
        coils: of the valves, in their order.
        address: of the board.
        count: number of its coils.
        flash: whether it supports flash-on: coil 0x0200 + n for the written value times 0.1 s.
        pressures: registers of pressures, if it has any; without `gaps` it refuses those between them.

    Attributes:
        on: (count,) which coils are powered.
        stuck: valves that do not follow their coils.
        forced: what registers of pressures hold whatever the pressure is, by number.
        switched: (time [ns], coil, on), oldest first.
    """

    def __init__(
        self,
        cylinders: CylinderPorts,
        coils: tuple[int, ...] = (0, 1, 2, 3),
        *,
        address: int = 1,
        count: int = BOARD_COILS,
        flash: bool = True,
        pressures: ChamberRegisters | None = None,
    ) -> None:
        self._cylinders, self._valve_at = cylinders, {coil: valve for valve, coil in enumerate(coils)}
        self.address, self._flash, self._pressures = address, flash, pressures
        self._until_ns: dict[int, int] = {}
        self.on = [False] * count
        self.stuck: set[int] = set()
        self.forced: dict[int, int] = {}
        self.switched: list[tuple[int, int, bool]] = []
        reads: dict[int, Serve] = {pressures.function if pressures else Function.READ_INPUT: self._read_pressures}
        self.served: Mapping[int, Serve] = {
            Function.READ_COILS: self._read_coils,
            Function.WRITE_COIL: self._write_coil,
            Function.WRITE_COILS: self._write_coils,
            **reads,
        }

    def wake(self, now_ns: int) -> int:
        """Switch off coils whose time is over; see `Slave`."""
        for coil, until_ns in list(self._until_ns.items()):
            if until_ns <= now_ns:
                self.switch(coil, False, until_ns)
        return min(self._until_ns.values(), default=NEVER_NS)

    def note_addressed(self, t_ns: int) -> None:
        """It has no time-out but those of its coils."""

    def switch(self, coil: int, on: bool, t_ns: int, until_ns: int | None = None) -> None:
        """Switch a coil at a time [ns], until another one if there is one; no wake before that."""
        self._until_ns.pop(coil, None)
        if until_ns is not None:
            self._until_ns[coil] = until_ns
        if self.on[coil] == on:
            return
        self.on[coil] = on
        self.switched.append((t_ns, coil, on))
        valve = self._valve_at.get(coil)
        if valve is not None and valve not in self.stuck:
            self._cylinders.power(valve, on)

    def _read_coils(self, asked: bytes, t_ns: int) -> bytes:  # noqa: ARG002
        first, count = span(asked, 4)
        self._within(first, count)
        packed = protocol.pack(tuple(self.on[first : first + count]))
        return bytes([len(packed)]) + packed

    def _write_coil(self, asked: bytes, t_ns: int) -> bytes:
        coil, value = protocol.pair(asked)
        if len(asked) != 4:
            raise ModbusExceptionError(Code.VALUE)
        flashed = coil - FLASH_ON
        if self._flash and 0 <= flashed < len(self.on):
            if value not in FLASH_STEPS:
                raise ModbusExceptionError(Code.VALUE)
            self.switch(flashed, True, t_ns, t_ns + round(value * FLASH_STEP_S * 1e9))
            return asked
        if coil != ALL_COILS and coil >= len(self.on):
            raise ModbusExceptionError(Code.ADDRESS)
        if value not in (protocol.ON, protocol.OFF):
            raise ModbusExceptionError(Code.VALUE)
        for switched in range(len(self.on)) if coil == ALL_COILS else (coil,):
            self.switch(switched, value == protocol.ON, t_ns)
        return asked

    def _write_coils(self, asked: bytes, t_ns: int) -> bytes:
        first, count = protocol.pair(asked)
        if not 1 <= count <= protocol.MAX_COILS or len(asked) != 5 + (count + 7) // 8 or asked[4] != (count + 7) // 8:
            raise ModbusExceptionError(Code.VALUE)
        self._within(first, count)
        for place, on in enumerate(protocol.unpack(asked[5:], count)):
            self.switch(first + place, on, t_ns)
        return asked[:4]

    def _read_pressures(self, asked: bytes, t_ns: int) -> bytes:  # noqa: ARG002
        first, count = span(asked, 4)
        wanted, pressures = range(first, first + count), self._pressures
        if pressures is None or not any(first in one and wanted[-1] in one for one in pressures.spans()):
            raise ModbusExceptionError(Code.ADDRESS)
        held: dict[int, int] = {}
        for valve in range(len(pressures.registers)):
            held |= pressures.held(valve, self._cylinders.pressure_Pa(valve))
        held |= self.forced
        return registers([held.get(register, 0) for register in wanted])

    def _within(self, first: int, count: int) -> None:
        if first + count > len(self.on):
            raise ModbusExceptionError(Code.ADDRESS)


class AnalogOutputs:
    """A `Slave`: holding registers with the set-points of regulators, and of a time-out.

    Args:
        cylinders: whose regulators it moves.
        regulators: by their number among those of the rig.
        address: of the device.
        stored: registers that it only stores: the plant's supply does not follow them.
        watchdog: its time-out; off until its register is written. After it all regulators have 0.

    Attributes:
        values: counts by register.
        closed_ns: when the watchdog closed them [ns], oldest first.
    """

    def __init__(
        self,
        cylinders: CylinderPorts,
        regulators: Mapping[int, Regulator],
        *,
        address: int = 1,
        stored: tuple[int, ...] = (),
        watchdog: OutputWatchdog | None = None,
    ) -> None:
        self.address, self._cylinders, self._watchdog = address, cylinders, watchdog
        self._at = {regulator.register: (which, regulator) for which, regulator in regulators.items()}
        timeout = (watchdog.holding_register,) if watchdog else ()
        self.values = dict.fromkeys((*self._at, *stored, *timeout), 0)
        self.closed_ns: list[int] = []
        self._addressed_ns = 0
        self.switched: Sequence[tuple[int, int, bool]] = ()  # it has no coils
        self.served: Mapping[int, Serve] = {
            Function.READ_HOLDING: self._read,
            Function.WRITE_REGISTER: self._write_one,
            Function.WRITE_REGISTERS: self._write_many,
        }

    def wake(self, now_ns: int) -> int:
        """The watchdog may close the regulators; see `Slave`."""
        if self._watchdog is None or not any(self.values[register] for register in self._at):
            return NEVER_NS
        timeout_ns = round(self.values[self._watchdog.holding_register] * self._watchdog.ms_per_count * 1e6)
        over_ns = self._addressed_ns + timeout_ns if timeout_ns else NEVER_NS
        if now_ns < over_ns:
            return over_ns
        self.closed_ns.append(over_ns)
        for register in self._at:
            self._set(register, 0)
        return NEVER_NS

    def note_addressed(self, t_ns: int) -> None:
        """The watchdog's time begins anew."""
        self._addressed_ns = t_ns

    def _set(self, register: int, counts: int) -> None:
        self.values[register] = counts
        if register in self._at:
            which, regulator = self._at[register]
            above = max(counts - regulator.zero_counts, 0)
            self._cylinders.regulate(which, above * regulator.Pa_per_count)

    def _read(self, asked: bytes, t_ns: int) -> bytes:  # noqa: ARG002
        first, count = span(asked, 4)
        self._check(first, count)
        return registers([self.values[register] for register in range(first, first + count)])

    def _write_one(self, asked: bytes, t_ns: int) -> bytes:  # noqa: ARG002
        register, _ = protocol.pair(asked)
        if len(asked) != 4:
            raise ModbusExceptionError(Code.VALUE)
        self._check(register, 1)
        self._set(register, *struct.unpack(">H", asked[2:]))
        return asked

    def _write_many(self, asked: bytes, t_ns: int) -> bytes:  # noqa: ARG002
        first, count = protocol.pair(asked)
        if not 1 <= count <= protocol.MAX_REGISTERS or len(asked) != 5 + 2 * count or asked[4] != 2 * count:
            raise ModbusExceptionError(Code.VALUE)
        self._check(first, count)
        for place, counts in enumerate(struct.unpack(f">{count}H", asked[5:])):
            self._set(first + place, counts)
        return asked[:4]

    def _check(self, first: int, count: int) -> None:
        if not all(register in self.values for register in range(first, first + count)):
            raise ModbusExceptionError(Code.ADDRESS)


def simulated_ports(requests: ValveRequests, cylinders: CylinderPorts) -> list[SimulatedPort]:
    """Returns the line of the board, and the line of the regulators if that is another one.

    Args:
        requests: of the driver.
        cylinders: that they act on.
    """
    board = RelayBoard(
        cylinders,
        requests.coils[: len(requests.valves.valves)],  # the trigger lines move nothing
        address=requests.section.address,
        count=-(-(max(requests.coils, default=0) + 1) // BOARD_COILS) * BOARD_COILS,
        flash=requests.section.flash_on,
        pressures=requests.pressures,
    )
    first: list[Slave] = [board]
    if requests.supply is not None:
        first.append(AnalogOutputs(cylinders, {}, address=requests.section.address, stored=(requests.supply.register,)))
    modules: list[Slave] = [
        AnalogOutputs(
            cylinders,
            {which: regulator for which, regulator in enumerate(requests.regulators) if regulator.address == address},
            address=address,
            watchdog=requests.watchdog,
        )
        for address in requests.regulator_addresses
    ]
    if requests.regulators_port is None:
        return [_port([*first, *modules], *requests.line)]
    return [_port(first, *requests.line), _port(modules, *requests.regulator_line)]


def _port(slaves: list[Slave], baud: int, characters: Characters) -> SimulatedPort:
    return SimulatedPort(RtuBus(slaves, baud), baud, protocol.silence_ns(baud), characters=characters)
