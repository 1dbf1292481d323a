"""Analogue outputs on Modbus RTU that set pressure regulators, simulated at the protocol level."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from drivers.modbus import protocol
from drivers.modbus.protocol import Code, Function
from drivers.modbus.section import OutputWatchdog
from drivers.modbus.simulated.rtu import ModbusExceptionError, Serve, registers, span
from drivers.modbus.valve_requests import Regulator
from drivers.sim.protocol.plant_ports import NEVER_NS, CylinderPorts


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
