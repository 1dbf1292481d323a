"""One Modbus RTU line: requests with the silence between frames, and its own errors as those of a device."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TypeVar

import msgspec

from drivers.host import SLICE_S, Alive, Characters, Host
from drivers.interfaces import DeviceError, Health
from drivers.modbus import protocol
from drivers.serial.link import SerialLink

T = TypeVar("T")


class RtuLine:
    """The master's end of a line.

    Args:
        device: name for messages.
        port: path of the port.
        baud: its speed.
        timeout_s: how long an answer may take, line time included.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.
        to_check: what to check when a device refuses a request.
        characters: of the port.

    Attributes:
        device: name for messages.
        name: with the port.
    """

    def __init__(
        self,
        device: str,
        port: str,
        baud: int,
        timeout_s: float,
        host: Host,
        alive: Alive,
        to_check: str = "coils, registers, and whether the board supports flash-on",
        characters: Characters = "8n1",
    ) -> None:
        self._link = SerialLink(device, port, baud, timeout_s=timeout_s, host=host, alive=alive, characters=characters)
        self.device, self.name = device, f"{device} on {port}"
        self._host, self._alive, self._to_check = host, alive, to_check
        self._silence_ns = protocol.silence_ns(baud)
        self._quiet_ns = 0
        self._echoes: bool | None = None

    @property
    def sent_ns(self) -> int:
        """When the last byte of the newest request was sent [ns]."""
        return self._link.sent_ns

    def open(self) -> None:
        """Open the port exclusively. Raises DeviceError."""
        self._link.open()
        self._echoes = None

    def close(self) -> None:
        """Close the port."""
        self._link.close()

    def health(self, detail: str) -> Health:
        """Returns the state of the link; `detail` is what its devices report."""
        return self._link.health(detail)

    def ask(self, request: protocol.ModbusRequest[T]) -> T:
        """Send a request and decode its answer. Raises DeviceError.

        Some converters for two wires return what is sent. The answer to a write is the request itself, so without a
        look at this, the returned request would confirm a write to a device that is not there.
        """
        if self._echoes is None and not request.tells_echo:
            register = int.from_bytes(request.frame[2:4], "big")
            with suppress(DeviceError):  # its answer is of no matter
                self.ask(protocol.read_registers(request.frame[0], register, 1, protocol.Function.READ_HOLDING))
        self._keep_silence()
        echoes = bool(self._echoes)
        missing, decode = partial(self._missing, request, echoes), partial(request.decode, echoes=echoes)
        try:
            return self._link.ask(request.frame, missing, decode)
        except protocol.RefusedError as error:
            raise DeviceError(f"{self.name}, address {request.frame[0]}: {error}; check {self._to_check}") from error
        finally:
            self._quiet_ns = self._host.now_ns() + self._silence_ns

    def _missing(self, request: protocol.ModbusRequest[T], echoes: bool, answer: bytes) -> int:
        """How many bytes are missing; what comes after a read tells whether the line returns requests."""
        if request.tells_echo and len(answer) >= len(request.frame):
            self._echoes = answer.startswith(request.frame)
        missing = request.missing(answer, echoes=echoes)
        if request.tells_echo and not missing and self._echoes is None:
            self._echoes = False  # shorter than the request
        return missing

    def _keep_silence(self) -> None:
        """Wait for the silence that ends a frame."""
        while (left_ns := self._quiet_ns - self._host.now_ns()) > 0:
            self._host.sleep(min(left_ns * 1e-9, SLICE_S))
            self._alive()


def of_both(one: Health, other: Health) -> Health:
    """Returns the health of two lines of the same device."""
    return msgspec.structs.replace(
        one,
        open=one.open and other.open,
        errors=one.errors + other.errors,
        retries=one.retries + other.retries,
        age_ms=max(one.age_ms, other.age_ms),
    )
