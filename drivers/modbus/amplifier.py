"""Amplifier of strain-gauge sensors on Modbus RTU: signed 32-bit readings in pairs of input registers, polled."""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec
import numpy as np

from drivers.driver_type import LoadSetup
from drivers.host import COMPUTER, SLICE_S, Alive, Host
from drivers.interfaces import DeviceError, Health
from drivers.messages import DaqBlock
from drivers.modbus import protocol
from drivers.modbus.section import ModbusLoadsSection
from drivers.serial.link import SerialLink

NAME = "load amplifier"
# An answer takes so long at most, line time included [s].
ANSWER_TIMEOUT_S = 0.1
# Blocks that are kept unread.
MOST_UNREAD = 1000
# A reading at the end of its 32 bits is one of an open or overdriven input.
FULL = 2**31 - 1


class ModbusAmplifier:
    """A `DaqDevice` whose blocks are single samples: each step reads one span of registers.

    Its registers hold the newest reading of each channel. The time of a sample is the middle between its first request
    and its last answer.

    Args:
        section: of the config.
        loads: of the rig, whose readings are all in volts.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.

    Attributes:
        filter_delay_ns: not known of an amplifier, 0.

    Raises:
        ValueError: settings that cannot work.
    """

    filter_delay_ns = 0

    def __init__(
        self, section: ModbusLoadsSection, loads: LoadSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> None:
        if wrong := section.wrong(loads.rate_hz):
            raise ValueError("load amplifier: " + "; ".join(wrong))
        self._section, self._host, self._alive = section, host, alive
        self._registers, self._range_V = section.places(loads.channels), loads.cells[0].full_scale
        form: Any = {"timeout_s": ANSWER_TIMEOUT_S, "characters": section.characters}
        self._link = SerialLink(NAME, section.port, section.baud, host=host, alive=alive, **form)
        self._plan = list(zip(section.spans(), section.requests(), strict=True))
        self._period_ns, self._quiet_ns = round(1e9 / loads.rate_hz), 0
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
        """Returns the state of the link; the rate is that of complete samples."""
        health = self._link.health(f"amplifier at address {self._section.address}, {len(self._registers)} channels")
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
            section = self._section
            raise DeviceError(
                f"{NAME} on {section.port}, address {section.address}: {section.registers} registers {span.start} to "
                f"{span.stop - 1}: {error}; check devices.loads.inputs"
            ) from error
        except DeviceError:
            self._place = 0
            raise
        finally:
            self._quiet_ns = self._host.now_ns() + protocol.silence_ns(self._section.baud)
        self._found |= dict(zip(span, counts, strict=True))
        self._place = (self._place + 1) % len(self._plan)
        if self._place == 0:
            self._complete()

    def _complete(self) -> None:
        """All channels have been read: one more sample."""
        section, now_ns = self._section, self._host.now_ns()
        counts = [
            protocol.number_of(
                (self._found[register], self._found[register + 1]),
                high_first=section.word_order == "high_first",
                signed=section.signed,
            )
            for register in self._registers
        ]
        volts = np.array([counts], float) * section.V_per_count
        full = FULL if section.signed else 2 * FULL + 1
        over = tuple(abs(count) >= full or abs(count) * section.V_per_count >= self._range_V for count in counts)
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
