"""Absolute encoders of joints on one Modbus RTU line, polled."""

from __future__ import annotations

import math
from collections import deque

import msgspec

from drivers.driver_type import InstrumentSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import DeviceError, Health, LinkLostError
from drivers.messages import Reading
from drivers.modbus.line import RtuLine
from drivers.modbus.section import EncoderRegister, ModbusJointsSection

NAME = "joint encoders"
# An encoder that has not answered is asked again after so long [ns]: each time it holds up the others.
ASK_AGAIN_NS = 2_000_000_000
_REST_NS = 1_000_000
# Readings by which their rate is counted.
_COUNTED = 51


class ModbusEncoders:
    """An `InstrumentDevice`: each step reads one encoder, and a round of all of them is a reading.

    The time of a reading is the middle between its first request and its last answer. An encoder that does not answer
    gives NaN, and the others go on.

    Args:
        section: of the config.
        setup: of the rig.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.
    """

    def __init__(
        self, section: ModbusJointsSection, setup: InstrumentSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> None:
        self._section, self._host, self._alive = section, host, alive
        timeout_s = section.answer_timeout_ms * 1e-3
        to_check = "address, registers and register_number in devices.joints.encoders"
        self._line = RtuLine(NAME, section.port, section.baud, timeout_s, host, alive, to_check, section.characters)
        by_joint = {encoder.joint: encoder for encoder in section.encoders}
        self._plan = [(by_joint[joint], by_joint[joint].request()) for joint in setup.channels]
        self._period_ns = round(1e9 / setup.rate_hz)
        self._silent_ns: dict[EncoderRegister, int] = {}  # since when
        self._angles: list[float] = []
        self._reading: Reading | None = None
        self._sequence = self._due_ns = self._began_ns = 0
        self._taken_ns: deque[int] = deque(maxlen=_COUNTED)

    def open(self) -> None:
        """Open the port and read every encoder once. Raises DeviceError: none answers, or one refuses."""
        self._line.open()
        self._silent_ns.clear()
        self._angles.clear()
        self._taken_ns.clear()
        try:
            for _ in self._plan:
                self._read_next()
        except DeviceError:
            self._line.close()
            raise
        self._due_ns = self._host.now_ns()

    def close(self) -> None:
        """Close the port."""
        self._line.close()

    def health(self) -> Health:
        """Returns the state of the link; the rate is that of complete readings, the age that of the newest answer."""
        silent = ", ".join(f"{encoder.joint} (address {encoder.address})" for encoder in self._silent_ns)
        health = self._line.health(
            f"{len(self._plan)} encoders, {f'no answer from {silent}' if silent else 'all answer'}"
        )
        spans = len(self._taken_ns) - 1
        rate_hz = spans * 1e9 / max(self._taken_ns[-1] - self._taken_ns[0], 1) if spans > 0 else math.nan
        return msgspec.structs.replace(health, rate_hz=rate_hz)

    def step(self) -> None:
        """Read the next encoder, when a reading is due. Raises DeviceError."""
        now_ns = self._host.now_ns()
        if not self._angles:
            if now_ns < self._due_ns:
                self._host.sleep(min((self._due_ns - now_ns), _REST_NS) * 1e-9)
                self._alive()
                return
            self._due_ns = max(self._due_ns + self._period_ns, now_ns)
        self._read_next()

    def read(self, t_ns: int) -> Reading | None:  # noqa: ARG002
        """The newest reading not yet read, or None."""
        reading, self._reading = self._reading, None
        return reading

    def _read_next(self) -> None:
        """Read the next encoder of the round. Raises DeviceError."""
        if not self._angles:
            self._began_ns = self._host.now_ns()
        encoder, request = self._plan[len(self._angles)]
        angle_rad = math.nan
        if self._host.now_ns() - self._silent_ns.get(encoder, -ASK_AGAIN_NS) >= ASK_AGAIN_NS:
            try:
                angle_rad = encoder.angle_rad(self._line.ask(request))
                self._silent_ns.pop(encoder, None)
            except LinkLostError:
                if not self._line.health("").open:  # the port is gone, not one encoder
                    self._angles.clear()
                    raise
                self._silent_ns[encoder] = self._host.now_ns()
            except DeviceError:
                self._angles.clear()
                raise
        self._angles.append(angle_rad)
        if len(self._angles) == len(self._plan):
            self._complete()

    def _complete(self) -> None:
        """All encoders have been asked: one more reading. Raises LinkLostError: none has answered."""
        angles, self._angles = tuple(self._angles), []
        if len(self._silent_ns) == len(self._plan):
            self._line.close()
            addresses = ", ".join(str(encoder.address) for encoder, _ in self._plan)
            raise LinkLostError(
                f"{self._line.name}: no encoder answers (addresses {addresses}); check cable, power, termination, "
                f"addresses and baud rate ({self._section.baud}, {self._section.characters})"
            )
        now_ns = self._host.now_ns()
        self._sequence += 1
        self._taken_ns.append(now_ns)
        self._reading = Reading(self._sequence, (self._began_ns + now_ns) // 2, angles, now_ns)
