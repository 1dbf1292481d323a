"""A request and its answer over a serial port: framing by the caller, time-outs, one retry, and when to give up."""

from __future__ import annotations

import errno
import termios
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import serial

from drivers.host import BITS_PER_BYTE, COMPUTER, Host, SerialPort
from drivers.interfaces import DamagedError, DeviceError, Health, LinkLostError

T = TypeVar("T")
# Of the last ten requests so many may come back damaged: row 14 of the fault table.
DAMAGED_ALLOWED = 2
LOOKED_AT = 10
READ_CHUNK = 256  # bytes; more than any answer
# What a port that is gone raises.
GONE = (OSError, serial.SerialException, termios.error)


class BadFrameError(ValueError):
    """An answer that is not what it should be; raised by those who decode it."""


class SerialLink:
    """One serial port that devices answer on, each only when asked.

    Args:
        device: name for people.
        port: path of the port.
        baud: its speed.
        timeout_s: how long an answer may take, line time included; two of them may pass before the link counts as lost.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.

    Attributes:
        sent_ns: when the last byte of the newest request left for the wire [ns].
        errors: requests without a good answer, each of two tries counted.
        retries: requests made twice.
        unsolicited_bytes: bytes that nobody had asked for: late or duplicate answers.
    """

    def __init__(
        self,
        device: str,
        port: str,
        baud: int,
        *,
        timeout_s: float,
        host: Host = COMPUTER,
        alive: Callable[[], None] = lambda: None,
    ) -> None:
        self.device, self.port, self.baud = device, port, baud
        self._timeout_ns, self._host, self._alive = round(timeout_s * 1e9), host, alive
        self._serial: SerialPort | None = None
        self._damaged: deque[bool] = deque(maxlen=LOOKED_AT)
        self._answered_ns = 0
        self._posted = b""
        self.sent_ns = -1
        self.errors = self.retries = self.unsolicited_bytes = 0

    def open(self) -> None:
        """Take the port for us alone. Raises DeviceError."""
        self.close()
        self._serial = _open(self._host, self.device, self.port, self.baud)
        self._damaged.clear()
        self._posted = b""
        self._answered_ns = self._host.now_ns()

    def close(self) -> None:
        """Let go of it."""
        if self._serial is not None:
            with suppress(*GONE):
                self._serial.close()
            self._serial = None

    def health(self, detail: str) -> Health:
        """State of the link; `detail` is what the device says of itself."""
        age_ms = (self._host.now_ns() - self._answered_ns) * 1e-6
        return Health(self.device, self._serial is not None, self.errors, detail, self.retries, age_ms=age_ms)

    def line_ns(self, count: int) -> int:
        """Time that so many bytes take on the line [ns]."""
        return count * BITS_PER_BYTE * 1_000_000_000 // self.baud

    def post(self, request: bytes) -> None:
        """Write a request now; the next `ask` with the same bytes does not write it again, but awaits its answer.

        Raises:
            LinkLostError: the port is gone.
        """
        try:
            self._write(request)
        except GONE as error:
            raise self._gone(error) from error
        self._posted = request

    def ask(self, request: bytes, missing: Callable[[bytes], int], decode: Callable[[bytes], T]) -> T:
        """Make a request and decode its answer; once more if none comes or it is damaged.

        Answers carry no number. So after a damaged one, and after one that came to the second try, what may still come
        is waited out and thrown away: it would be taken for the answer to the next request.

        Args:
            request: all bytes of it.
            missing: how many more bytes an answer that begins so needs at least; 0: it is whole.
            decode: raises BadFrameError for an answer that is damaged or not to this request.

        Raises:
            LinkLostError: no answer twice, or the port is gone.
            DamagedError: damaged twice, or 3 in the last 10.
        """
        late = False
        for attempt in range(2):
            self.retries += attempt
            trouble: type[DeviceError]
            try:
                value = decode(self._exchange(request, missing))
            except BadFrameError as error:
                trouble, found = DamagedError, str(error)
                self._note(damaged=True, found=found)
                self._settle()
            except TimeoutError as error:
                trouble, found, late = LinkLostError, str(error), True
                self.errors += 1
            else:
                self._note(damaged=False)
                self._answered_ns = self._host.now_ns()
                if late:
                    self._settle()
                return value
        raise trouble(f"{self.device} on {self.port}: {found}, twice; check cable, power, address and baud rate")

    def _note(self, *, damaged: bool, found: str = "") -> None:
        """Keep count; only one more damaged answer raises, for a good one is good whatever was before it."""
        self._damaged.append(damaged)
        self.errors += damaged
        if damaged and sum(self._damaged) > DAMAGED_ALLOWED:
            raise DamagedError(
                f"{self.device} on {self.port}: {sum(self._damaged)} of the last {len(self._damaged)} answers damaged, "
                f"allowed: {DAMAGED_ALLOWED} of {LOOKED_AT}; newest: {found}; check cable, ground and baud rate"
            )

    def _exchange(self, request: bytes, missing: Callable[[bytes], int]) -> bytes:
        """Raises TimeoutError and LinkLostError."""
        posted, self._posted = self._posted, b""
        try:
            port = self._serial if posted == request and self._serial else self._write(request)
            until_ns = self._host.now_ns() + self._timeout_ns
            answer = b""
            while (more := missing(answer)) > 0:
                come = port.read(more)
                answer += come
                self._alive()
                if not come and self._host.now_ns() > until_ns:
                    waited = f"no answer within {self._timeout_ns * 1e-6:g} ms"
                    raise TimeoutError(f"{waited}, {len(answer)} bytes of one" if answer else waited)
            return answer
        except TimeoutError:
            raise
        except GONE as error:
            raise self._gone(error) from error

    def _settle(self) -> None:
        """Throw away what comes until nothing has come for `drivers.host.SLICE_S`. Raises LinkLostError."""
        until_ns = self._host.now_ns() + self._timeout_ns
        try:
            while self._serial is not None and self._host.now_ns() < until_ns:
                if not (come := self._serial.read(READ_CHUNK)):
                    return
                self.unsolicited_bytes += len(come)
                self._alive()
        except GONE as error:
            raise self._gone(error) from error

    def _write(self, request: bytes) -> SerialPort:
        """Throw away what nobody asked for, and write. Raises LinkLostError and GONE."""
        if self._serial is None:
            raise LinkLostError(f"{self.device} on {self.port}: not open")
        if waiting := self._serial.in_waiting:
            self.unsolicited_bytes += len(self._serial.read(waiting))
        self._serial.write(request)
        self.sent_ns = self._host.now_ns() + self.line_ns(len(request))
        return self._serial

    def _gone(self, error: Exception) -> LinkLostError:
        self.close()
        return LinkLostError(f"{self.device}: {self.port} is gone ({error}); is it unplugged or switched off?")


def _open(host: Host, device: str, port: str, baud: int) -> SerialPort:
    """Open a port for us alone. Raises LinkLostError, which says what to do."""
    try:
        return host.open_serial(port, baud)
    except GONE as error:
        raise port_error(device, port, error) from error


def port_error(device: str, port: str, error: BaseException) -> LinkLostError:
    """Why a port cannot be opened, and what to do."""
    number = getattr(error, "errno", None)
    reason = {
        errno.ENOENT: "there is no such port; `hil devices` lists those there are",
        errno.EAGAIN: "the port is busy: another program has it",
        errno.EBUSY: "the port is busy: another program has it",
        errno.EACCES: "no right to open it; on Debian: adduser USER dialout",
    }.get(number or 0, f"cannot be opened: {error}")
    return LinkLostError(f"{device}: {port}: {reason}")
