"""Amplifier of strain-gauge sensors on Modbus RTU: signed 32-bit readings in pairs of input registers, polled."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import msgspec
import numpy as np

from drivers.host import COMPUTER, SLICE_S, Alive, Characters, Host, line_time_s
from drivers.interfaces import DeviceError, Health
from drivers.messages import DaqBlock
from drivers.modbus import protocol
from drivers.serial.link import SerialLink

NAME = "load amplifier"
# Registers that one request may read.
MOST_REGISTERS = protocol.MAX_REGISTERS
# Blocks that are kept unread.
MOST_UNREAD = 1000
# A reading at the end of its 32 bits is one of an open or overdriven input.
FULL = 2**31 - 1
# So many registers between two readings are read with them.
_GAP = 4


class AmplifierSettings(msgspec.Struct, frozen=True):
    """Settings of an amplifier.

    Attributes:
        port: path.
        registers: first input register of each channel, in the order of a block's columns.
        rate_hz: how often all of them are read.
        baud: of the port.
        characters: of the port.
        address: of the amplifier.
        function: that reads them.
        signed: a reading is a signed number.
        high_first: the first register of a reading has its upper 16 bits.
        gaps: a few registers between readings may be read.
        V_per_count: of a reading [V].
        range_V: full scale, either sign [V].
        answer_timeout_ms: how long an answer may take, line time included.
    """

    port: str
    registers: tuple[int, ...]
    rate_hz: float
    baud: int = 115200
    characters: Characters = "8n1"
    address: int = 1
    function: protocol.Function = protocol.Function.READ_INPUT
    signed: bool = True
    high_first: bool = True
    gaps: bool = True
    V_per_count: float = 1e-6
    range_V: float = 10.0
    answer_timeout_ms: float = 100.0

    def spans(self) -> list[range]:
        """Registers to read in one request each: runs without large holes, none longer than a request may be."""
        spans: list[range] = []
        reach = _GAP if self.gaps else 0
        for register in sorted(self.registers):
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
        """Line time of reading all channels once, with the silences after each frame [s]."""
        bytes_ = sum(len(request.frame) + request.length for request in self.requests())
        silences = 2 * len(self.spans()) * protocol.silence_ns(self.baud) * 1e-9
        return line_time_s(bytes_, self.baud, self.characters) + silences


def check(settings: AmplifierSettings) -> None:
    """Refuse settings that cannot work. Raises ValueError that lists all errors."""
    wrong = []
    registers = settings.registers
    if (
        not registers
        or len({*registers}) != len(registers)
        or not all(0 <= register <= 0xFFFE for register in registers)
    ):
        wrong.append(f"registers: {registers}, needed: different ones of 0 to 65534")
    elif min(np.diff(sorted(registers)), default=2) < 2:
        wrong.append(f"registers: {registers}, needed: two for each channel, so at least 2 apart")
    elif settings.poll_s() * settings.rate_hz > 1.0:
        most = 1.0 / settings.poll_s()
        wrong.append(f"rate_hz: {settings.rate_hz:g}, allowed: at most {most:.1f}, for {len(registers)} channels")
    if not 0.0 < settings.V_per_count < math.inf:
        wrong.append(f"V_per_count: {settings.V_per_count}, allowed: above 0")
    if wrong:
        raise ValueError("load amplifier: " + "; ".join(wrong))


class ModbusAmplifier:
    """A `DaqDevice` whose blocks are single samples: each step reads one span of registers.

    Its registers hold the newest reading of each channel. The time of a sample is the middle between its first request
    and its last answer.

    Args:
        settings: see there.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.

    Attributes:
        filter_delay_ns: not known of an amplifier, 0.

    Raises:
        ValueError: settings that cannot work.
    """

    filter_delay_ns = 0

    def __init__(self, settings: AmplifierSettings, host: Host = COMPUTER, alive: Alive = lambda: None) -> None:
        check(settings)
        self._settings, self._host, self._alive = settings, host, alive
        timeout_s = settings.answer_timeout_ms * 1e-3
        form: Any = {"timeout_s": timeout_s, "characters": settings.characters}
        self._link = SerialLink(NAME, settings.port, settings.baud, host=host, alive=alive, **form)
        self._plan = list(zip(settings.spans(), settings.requests(), strict=True))
        self._period_ns, self._quiet_ns = round(1e9 / settings.rate_hz), 0
        self._found: dict[int, int] = {}  # register to its 16 bits, of the sample that is being read
        self._place = self._sequence = self._due_ns = self._began_ns = 0
        self._blocks: deque[DaqBlock] = deque()
        self._taken_ns: deque[int] = deque(maxlen=20)

    def open(self) -> None:
        """Open the port and read every channel once. Raises DeviceError."""
        self._link.open()
        self._blocks.clear()
        self._taken_ns.clear()
        self._place = 0
        try:
            for _ in self._plan:
                self._read_span()
        except DeviceError:
            self._link.close()
            raise
        self._blocks.clear()
        self._due_ns = self._host.now_ns()

    def close(self) -> None:
        """Close the port."""
        self._link.close()

    def health(self) -> Health:
        """State of the link; the rate is that of complete samples."""
        health = self._link.health(
            f"amplifier at address {self._settings.address}, {len(self._settings.registers)} channels"
        )
        spans = len(self._taken_ns) - 1
        if spans < 1:
            return health
        rate_hz = spans * 1e9 / max(self._taken_ns[-1] - self._taken_ns[0], 1)
        return msgspec.structs.replace(health, rate_hz=rate_hz)

    def step(self) -> None:
        """Read the next span, when a sample is due. Raises DeviceError."""
        now_ns = self._host.now_ns()
        if self._place == 0 and now_ns < self._due_ns:
            self._rest(min(self._due_ns - now_ns, 1_000_000))
            return
        if self._place == 0:
            self._due_ns = max(self._due_ns + self._period_ns, now_ns)
        self._read_span()

    def read(self, t_ns: int) -> DaqBlock | None:  # noqa: ARG002
        """The oldest sample not yet read, or None."""
        return self._blocks.popleft() if self._blocks else None

    def _read_span(self) -> None:
        span, request = self._plan[self._place]
        self._rest(self._quiet_ns - self._host.now_ns())
        if self._place == 0:
            self._began_ns = self._host.now_ns()
        try:
            counts = self._link.ask(request.frame, request.missing, request.decode)
        except protocol.RefusedError as error:
            self._place = 0
            settings = self._settings
            kind = "input" if settings.function is protocol.Function.READ_INPUT else "holding"
            raise DeviceError(
                f"{NAME} on {settings.port}, address {settings.address}: {kind} registers {span.start} to "
                f"{span.stop - 1}: {error}; check devices.loads.inputs"
            ) from error
        except DeviceError:
            self._place = 0
            raise
        finally:
            self._quiet_ns = self._host.now_ns() + protocol.silence_ns(self._settings.baud)
        self._found |= dict(zip(span, counts, strict=True))
        self._place = (self._place + 1) % len(self._plan)
        if self._place == 0:
            self._complete()

    def _complete(self) -> None:
        """All channels have been read: one more sample."""
        settings, now_ns = self._settings, self._host.now_ns()
        counts = [
            protocol.number_of(
                (self._found[register], self._found[register + 1]),
                high_first=settings.high_first,
                signed=settings.signed,
            )
            for register in settings.registers
        ]
        volts = np.array([counts], float) * settings.V_per_count
        full = FULL if settings.signed else 2 * FULL + 1
        over = tuple(abs(count) >= full or abs(count) * settings.V_per_count >= settings.range_V for count in counts)
        stamps = np.array([(self._began_ns + now_ns) // 2], np.int64)
        self._sequence += 1
        self._taken_ns.append(now_ns)
        self._blocks.append(DaqBlock(self._sequence, stamps, volts, over, now_ns))
        if len(self._blocks) > MOST_UNREAD:
            self._blocks.popleft()

    def _rest(self, duration_ns: int) -> None:
        until_ns = self._host.now_ns() + duration_ns
        while (left_ns := until_ns - self._host.now_ns()) > 0:
            self._host.sleep(min(left_ns * 1e-9, SLICE_S))
            self._alive()
