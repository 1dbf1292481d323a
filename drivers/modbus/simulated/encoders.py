"""Absolute encoders on one Modbus RTU line, simulated at the protocol level."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from drivers.modbus.protocol import FUNCTIONS, Code
from drivers.modbus.section import EncoderRegister
from drivers.modbus.simulated.rtu import ModbusExceptionError, RtuBus, Serve, registers, span
from drivers.sim.protocol.plant_ports import NEVER_NS, Instrument


class _NewestAngles:
    """The newest reading of an instrument at a time; a value that was not measured stays what it was.

    Args:
        instrument: of the joints.
    """

    def __init__(self, instrument: Instrument) -> None:
        self._instrument, self._sequence = instrument, 0
        self._coming: deque[tuple[int, tuple[float, ...]]] = deque()
        self._angles = [0.0] * len(instrument.channels)

    def at(self, t_ns: int) -> Sequence[float]:
        """(joints,) angles [rad]."""
        for number, measured_ns, values in self._instrument.since(self._sequence):
            self._sequence = number
            self._coming.append((measured_ns, values))
        while self._coming and self._coming[0][0] <= t_ns:
            for place, value in enumerate(self._coming.popleft()[1]):
                if math.isfinite(value):
                    self._angles[place] = value
        return self._angles


class _SimulatedEncoder:
    """A `Slave`: its position is in its registers, and others refuse.

    Args:
        angles: of all joints.
        place: of its joint among them.
        encoder: its settings.

    Attributes:
        slipped: counts that it is off, since its coupling slipped.
        silent: it does not answer.
        wraps: its position begins anew after each turn; false: it counts on below 0.
        quarter: counts of a quarter of a turn.
    """

    switched: Sequence[tuple[int, int, bool]] = ()  # it has no coils

    def __init__(self, angles: _NewestAngles, place: int, encoder: EncoderRegister) -> None:
        self._angles, self._place, self._encoder = angles, place, encoder
        self.address = encoder.address
        self.slipped, self.silent, self.quarter = 0, False, encoder.counts_per_turn // 4
        self.wraps = not encoder.multi_turn
        self.served: Mapping[int, Serve] = {FUNCTIONS[encoder.registers]: self._read}

    def wake(self, now_ns: int) -> int:  # noqa: ARG002
        """Nothing happens by itself."""
        return NEVER_NS

    def note_addressed(self, t_ns: int) -> None:
        """It has no time-out."""

    def _read(self, asked: bytes, t_ns: int) -> bytes:
        first, count = span(asked, 4)
        encoder = self._encoder
        place = first - encoder.register_number
        if place < 0 or place + count > encoder.words:
            raise ModbusExceptionError(Code.ADDRESS)
        turns = self._angles.at(t_ns)[self._place] / (2.0 * math.pi)
        counts = round(turns * encoder.counts_per_turn) + self.slipped
        if self.wraps:
            counts %= encoder.counts_per_turn
        return registers(encoder.held(counts)[place:][:count])


class EncoderBus(RtuBus):
    """A `SimulatedSerialDevice` that has its own faults: encoders at several addresses of a line.

    Args:
        instrument: that measures the joints.
        encoders: in the order of its channels.
        baud: of the line.

    Attributes:
        encoders: by address.
        kinds: of faults. slipped: the position of an encoder jumps by `counts`; silent: it does not answer any more;
            answers: it answers again; unwrapped: it counts on below 0.
    """

    kinds = ("slipped", "silent", "answers", "unwrapped")

    def __init__(self, instrument: Instrument, encoders: Sequence[EncoderRegister], baud: int) -> None:
        angles = _NewestAngles(instrument)
        slaves = [_SimulatedEncoder(angles, place, encoder) for place, encoder in enumerate(encoders)]
        super().__init__(slaves, baud)
        self.encoders = {slave.address: slave for slave in slaves}

    @override
    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        answer = super().receive(data, began_ns, ended_ns)
        return b"" if answer and self.encoders[answer[0]].silent else answer

    def inject_fault(self, kind: str, how: Mapping[str, Any]) -> None:
        """Start a fault of one encoder.

        Args:
            kind: one of `kinds`.
            how: `address` of the encoder; `counts` that it slips by, a quarter of a turn if not given.

        Raises:
            ValueError: there is no such encoder.
        """
        encoder = self.encoders.get(how.get("address", next(iter(self.encoders))))
        if encoder is None:
            raise ValueError(f"address is one of {', '.join(map(str, self.encoders))}, found {how['address']!r}")
        if kind == "slipped":
            encoder.slipped += int(how.get("counts", encoder.quarter))
        elif kind == "unwrapped":
            encoder.wraps = False
        else:
            encoder.silent = kind == "silent"
