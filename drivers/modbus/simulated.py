"""A relay board with eight coils on Modbus RTU, and a valve terminal's registers; simulated at the protocol level."""

from __future__ import annotations

import struct
from collections.abc import Callable

import msgspec

from drivers.modbus import protocol
from drivers.modbus.protocol import Code, Function
from drivers.modbus.settings import ALL_COILS, FLASH_ON, FLASH_STEP_S, FLASH_STEPS
from drivers.serial.link import BadFrameError
from drivers.sim.protocol.plant_ports import Cylinders

COILS = 8


class Terminal(msgspec.Struct, frozen=True):
    """Registers of a board, besides its coils.

    Attributes:
        pressure_registers: input registers of the four chambers.
        Pa_per_count: of these [Pa].
        regulator_register: holding register of the supply's set-point; the board stores it, and the plant's supply
            does not follow it.
    """

    pressure_registers: tuple[int, int, int, int] | None = None
    Pa_per_count: float = 100.0
    regulator_register: int | None = None


class _RefusedError(Exception):
    """A request that is answered with an exception."""

    def __init__(self, code: Code) -> None:
        self.code = code


class RelayBoard:
    """A `SimulatedSerialDevice`. Its coils stay as they are when its host dies, except those that were flashed on.

    Simplified: a whole frame is answered when its last byte has arrived, so set the line's turnaround to
    `protocol.silence_ns(baud)`, in which a real board makes sure that the frame is over. Bytes that arrive within that
    silence are dropped.

    Args:
        cylinders: cylinders that its coils act on.
        coils: of left extend, left retract, right extend, right retract.
        address: of the board.
        baud: of its line; sets the silence between frames.
        flash: whether it supports flash-on: coil 0x0200 + n for the written value times 0.1 s.
        terminal: registers, if it has any.

    Attributes:
        on: (8,) which coils are powered.
        stuck: valves that do not follow their coils.
        switched: (time [ns], coil, on), oldest first.
        regulator: counts in the regulator's register.
    """

    def __init__(
        self,
        cylinders: Cylinders,
        coils: tuple[int, int, int, int] = (0, 1, 2, 3),
        *,
        address: int = 1,
        baud: int = 9600,
        flash: bool = True,
        terminal: Terminal | None = None,
    ) -> None:
        self._cylinders, self._valve_at = cylinders, {coil: valve for valve, coil in enumerate(coils)}
        self._address, self._flash, self._terminal = address, flash, terminal or Terminal()
        self._silence_ns = protocol.silence_ns(baud)
        self._buffer, self._heard_ns, self._answered = b"", -(2**62), False
        self._until_ns: dict[int, int] = {}
        self.on = [False] * COILS
        self.stuck: set[int] = set()
        self.switched: list[tuple[int, int, bool]] = []
        self.regulator = 0
        self._served: dict[int, Callable[[bytes, int], bytes]] = {
            Function.READ_COILS: self._read_coils,
            Function.READ_HOLDING: self._read_holding,
            Function.READ_INPUT: self._read_input,
            Function.WRITE_COIL: self._write_coil,
            Function.WRITE_REGISTER: self._write_register,
            Function.WRITE_COILS: self._write_coils,
            Function.WRITE_REGISTERS: self._write_registers,
        }

    def wake(self, now_ns: int) -> None:
        """Switch off coils whose time is over."""
        for coil, until_ns in list(self._until_ns.items()):
            if until_ns <= now_ns:
                self._switch(coil, False, until_ns)

    def press(self, pressed: bool) -> None:  # noqa: ARG002
        """Raises ValueError: it reads no emergency stop."""
        raise ValueError("this device has no emergency stop")

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        """Receive bytes of a host; the bytes sent back."""
        self.wake(began_ns)
        if began_ns - self._heard_ns >= self._silence_ns:
            self._buffer, self._answered = b"", False
        self._heard_ns = ended_ns
        self._buffer += data
        if self._answered:
            return b""
        try:
            address, function, asked = protocol.unframe(self._buffer)
        except BadFrameError:
            self._buffer = self._buffer[-1024:]
            return b""
        self._answered = True
        if address not in (self._address, protocol.BROADCAST):
            return b""
        answer = self._answer(function, asked, ended_ns)
        return b"" if address == protocol.BROADCAST else answer

    def _answer(self, function: int, asked: bytes, t_ns: int) -> bytes:
        try:
            if (serve := self._served.get(function)) is None:
                raise _RefusedError(Code.FUNCTION)
            return protocol.frame(self._address, function, serve(asked, t_ns))
        except BadFrameError:
            return protocol.refusal(self._address, function, Code.VALUE)
        except _RefusedError as refused:
            return protocol.refusal(self._address, function, refused.code)

    def _switch(self, coil: int, on: bool, t_ns: int, until_ns: int | None = None) -> None:
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
        first, count = _span(asked, 4)
        _within(first, count, COILS)
        packed = protocol.pack(tuple(self.on[first : first + count]))
        return bytes([len(packed)]) + packed

    def _write_coil(self, asked: bytes, t_ns: int) -> bytes:
        coil, value = protocol.pair(asked)
        if len(asked) != 4:
            raise _RefusedError(Code.VALUE)
        flashed = coil - FLASH_ON
        if self._flash and 0 <= flashed < COILS:
            if value not in FLASH_STEPS:
                raise _RefusedError(Code.VALUE)
            self._switch(flashed, True, t_ns, t_ns + round(value * FLASH_STEP_S * 1e9))
            return asked
        if coil != ALL_COILS and coil >= COILS:
            raise _RefusedError(Code.ADDRESS)
        if value not in (protocol.ON, protocol.OFF):
            raise _RefusedError(Code.VALUE)
        for one in range(COILS) if coil == ALL_COILS else (coil,):
            self._switch(one, value == protocol.ON, t_ns)
        return asked

    def _write_coils(self, asked: bytes, t_ns: int) -> bytes:
        first, count = protocol.pair(asked)
        if not 1 <= count <= protocol.MAX_COILS or len(asked) != 5 + (count + 7) // 8 or asked[4] != (count + 7) // 8:
            raise _RefusedError(Code.VALUE)
        _within(first, count, COILS)
        for place, on in enumerate(protocol.unpack(asked[5:], count)):
            self._switch(first + place, on, t_ns)
        return asked[:4]

    def _read_input(self, asked: bytes, t_ns: int) -> bytes:  # noqa: ARG002
        first, count = _span(asked, 4)
        at = {register: valve for valve, register in enumerate(self._terminal.pressure_registers or ())}
        if not at or not min(at) <= first <= first + count - 1 <= max(at):
            raise _RefusedError(Code.ADDRESS)
        counts = [self._pressure(at[one]) if one in at else 0 for one in range(first, first + count)]
        return bytes([2 * count]) + struct.pack(f">{count}h", *counts)

    def _pressure(self, valve: int) -> int:
        counts = round(self._cylinders.pressure_Pa(valve) / self._terminal.Pa_per_count)
        return min(max(counts, -0x8000), 0x7FFF)

    def _read_holding(self, asked: bytes, t_ns: int) -> bytes:  # noqa: ARG002
        first, count = _span(asked, 4)
        self._check_regulator(first, count)
        return b"\x02" + struct.pack(">h", self.regulator)

    def _write_register(self, asked: bytes, t_ns: int) -> bytes:  # noqa: ARG002
        register, _ = protocol.pair(asked)
        if len(asked) != 4:
            raise _RefusedError(Code.VALUE)
        self._check_regulator(register, 1)
        (self.regulator,) = struct.unpack(">h", asked[2:])
        return asked

    def _write_registers(self, asked: bytes, t_ns: int) -> bytes:  # noqa: ARG002
        first, count = protocol.pair(asked)
        if not 1 <= count <= protocol.MAX_REGISTERS or len(asked) != 5 + 2 * count or asked[4] != 2 * count:
            raise _RefusedError(Code.VALUE)
        self._check_regulator(first, count)
        (self.regulator,) = struct.unpack(">h", asked[5:])
        return asked[:4]

    def _check_regulator(self, first: int, count: int) -> None:
        if count != 1 or first != self._terminal.regulator_register:
            raise _RefusedError(Code.ADDRESS)


def _span(asked: bytes, length: int) -> tuple[int, int]:
    """First address and count of a read request."""
    first, count = protocol.pair(asked)
    if len(asked) != length or not 1 <= count <= protocol.MAX_REGISTERS:
        raise _RefusedError(Code.VALUE)
    return first, count


def _within(first: int, count: int, of: int) -> None:
    if first + count > of:
        raise _RefusedError(Code.ADDRESS)
