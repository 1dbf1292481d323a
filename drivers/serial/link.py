"""Requests and answers over a serial port: time-outs, one retry, and when to fail; the caller does the framing.

A second descriptor of a port that another process drives, to stop its devices at once and at any time.

A driver has its port for itself: with pyserial's advisory lock, and with TIOCEXCL, by which the kernel refuses any
further opening. A descriptor that was opened before may write. So the watchdog opens its own before the driver does,
and the stop does not wait until the kernel has ended the process that had the port.
"""

from __future__ import annotations

import errno
import termios
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import serial

from drivers.host import COMPUTER, SLICE_S, Alive, Characters, Host, SerialPort, SharedPort, line_time_ns
from drivers.interfaces import BadFrameError, DamageCount, DamagedError, DeviceError, Health, LinkLostError, StopFrames

__all__ = ["BadFrameError", "OvertakenError", "SerialLink"]

T = TypeVar("T")
READ_CHUNK = 256  # bytes; more than any answer
# An answer is not looked for in more bytes than these: whatever sends them, it is not one that answers.
MOST_BYTES = 1024
# A device pauses before it answers. The pause is learned [ns]: an answer that is there at the first look is looked for
# a little sooner the next time, one that is not, later; so one in ten is not there.
SOONER_NS, LATER_NS, MOST_PAUSE_NS = 10_000, 90_000, 1_500_000
# Exceptions of a lost port.
GONE = (OSError, serial.SerialException, termios.error)


class OvertakenError(Exception):
    """A request without a good answer is not repeated, because another one was posted meanwhile: that is asked next."""


class SerialLink:
    """One serial port on which devices answer only to requests.

    A request can be posted while the answer to another one is awaited, for a cut must not wait. The other one is not
    repeated then: that could undo the cut.

    Args:
        device: name for messages.
        port: path of the port.
        baud: its speed.
        timeout_s: how long an answer may take, line time included; after two of them the link counts as lost.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.
        overtaken: a new command may be taken while an answer is awaited, and posts a request then.
        characters: of the port.

    Attributes:
        awaits: the answer to a request is awaited.
        sent_ns: when the last byte of the newest request was sent [ns].
        errors: requests without a good answer, each of two tries counted.
        retries: requests made twice.
        unsolicited_bytes: bytes without a request: late or duplicate answers.
    """

    def __init__(
        self,
        device: str,
        port: str,
        baud: int,
        *,
        timeout_s: float,
        host: Host = COMPUTER,
        alive: Alive = lambda: None,
        overtaken: bool = False,
        characters: Characters = "8n1",
    ) -> None:
        self.device, self.port, self.baud, self._characters = device, port, baud, characters
        self._timeout_ns, self._host, self._alive = round(timeout_s * 1e9), host, alive
        self._serial: SerialPort | None = None
        self._damage = DamageCount(f"{device} on {port}", "answers")
        self._answered_ns = 0
        self._posted = b""
        self._can_be_overtaken, self._overtaken = overtaken, False
        self._pause_ns = 0
        self.awaits = False
        self.sent_ns = -1
        self.errors = self.retries = self.unsolicited_bytes = 0

    def open(self) -> None:
        """Open the port exclusively. Raises DeviceError."""
        self.close()
        self._serial = open_port(self._host, self.device, self.port, self.baud, self._characters)
        self._damage.forget()
        self._posted = b""
        self._answered_ns = self._host.now_ns()

    def close(self) -> None:
        """Close the port."""
        if self._serial is not None:
            with suppress(*GONE):
                self._serial.close()
            self._serial = None

    def health(self, detail: str) -> Health:
        """Returns the state of the link; `detail` is what the device reports."""
        age_ms = (self._host.now_ns() - self._answered_ns) * 1e-6
        return Health(self.device, self._serial is not None, self.errors, detail, self.retries, age_ms=age_ms)

    def line_ns(self, count: int) -> int:
        """Returns the line time of so many bytes [ns]."""
        return line_time_ns(count, self.baud, self._characters)

    def post(self, request: bytes) -> None:
        """Write a request now, unless it is posted already; the next `ask` with the same bytes only awaits its answer.

        Raises:
            LinkLostError: the port is lost.
        """
        if request == self._posted:
            return
        try:
            self._send(request) if self.awaits else self._write(request)
        except GONE as error:
            raise self._gone(error) from error
        self._posted, self._overtaken = request, self.awaits

    def ask(
        self,
        request: bytes,
        missing: Callable[[bytes], int],
        decode: Callable[[bytes], T],
        timeout_s: float | None = None,
    ) -> T:
        """Send a request and decode its answer; retry once if none arrives or it is damaged.

        Answers carry no number. So after a damaged answer, and after a successful retry, late bytes are awaited and
        discarded: they would be taken for the answer to the next request.

        Args:
            request: all bytes of it.
            missing: least number of bytes still missing from an answer that begins so; 0: it is complete.
            decode: raises BadFrameError for an answer that is damaged or to another request.
            timeout_s: how long this answer may take; None: as any other.

        Raises:
            LinkLostError: no answer twice, or the port is lost.
            DamagedError: damaged twice, or 3 in the last 10.
            OvertakenError: no good answer, and another request was posted meanwhile.
        """
        late = False
        for attempt in range(2):
            self.retries += attempt
            trouble: type[DeviceError]
            try:
                timeout_ns = self._timeout_ns if timeout_s is None else round(timeout_s * 1e9)
                value = decode(self._exchange(request, missing, timeout_ns))
            except BadFrameError as error:
                trouble, found = DamagedError, str(error)
                self.errors += 1
                self._damage.damaged(found)
                self._settle()
            except TimeoutError as error:
                trouble, found, late = LinkLostError, str(error), True
                self.errors += 1
            else:
                self._damage.good()
                self._answered_ns = self._host.now_ns()
                if late:
                    self._settle()
                    self._posted = b""  # its answer may be among the bytes discarded
                return value
            if self._overtaken:
                self._settle()
                self._posted = b""  # as above
                raise OvertakenError(f"{self.device} on {self.port}: {found}")
        check = f"check cable, power, address and baud rate, and parity ({self.baud}, {self._characters})"
        raise trouble(f"{self.device} on {self.port}: {found}, twice; {check}")

    def _exchange(self, request: bytes, missing: Callable[[bytes], int], timeout_ns: int) -> bytes:
        """Raises TimeoutError and LinkLostError."""
        posted, self._posted, self._overtaken = self._posted, b"", False
        try:
            port = self._serial if posted == request and self._serial else self._write(request)
            until_ns = self._host.now_ns() + timeout_ns
            answer, late, self.awaits = b"", False, True
            while (more := missing(answer)) > 0:
                if len(answer) >= MOST_BYTES:
                    raise TimeoutError(f"no answer in {len(answer)} bytes; another device may be sending here")
                if late:
                    waited = f"no answer within {round(timeout_ns * 1e-6, 1):g} ms"
                    raise TimeoutError(f"{waited}, {len(answer)} bytes of one" if answer else waited)
                if not answer:
                    self._await(port, more)
                come = port.read(more)
                answer += come
                self._alive()
                # what arrived while this process could not run counts, what arrives later does not
                late = self._host.now_ns() > until_ns and not (come and port.in_waiting)
            return answer
        except TimeoutError:
            raise
        except GONE as error:
            raise self._gone(error) from error
        finally:
            self.awaits = False

    def _await(self, port: SerialPort, count: int) -> None:
        """Wait until so many bytes of an answer have come as a rule, so that one look at the port is enough."""
        due_ns = self.sent_ns + self.line_ns(count) + self._pause_ns
        while (left_ns := due_ns - self._host.now_ns()) > 0 and port.in_waiting < count:  # raises where it is gone
            (self._host.rest if self._can_be_overtaken else self._host.sleep)(min(left_ns * 1e-9, SLICE_S))
            self._alive()
        if port.in_waiting >= count:
            self._pause_ns = max(self._pause_ns - SOONER_NS, 0)
        else:
            self._pause_ns = min(self._pause_ns + LATER_NS, MOST_PAUSE_NS)

    def _settle(self) -> None:
        """Discard bytes until none has arrived for `drivers.host.SLICE_S`. Raises LinkLostError."""
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
        """Discard unsolicited bytes, and write. Raises LinkLostError and GONE."""
        if self._serial is not None and (waiting := self._serial.in_waiting):
            self.unsolicited_bytes += len(self._serial.read(waiting))
        return self._send(request)

    def _send(self, request: bytes) -> SerialPort:
        """Write, behind what is still being sent. Raises LinkLostError and GONE."""
        if self._serial is None:
            raise LinkLostError(f"{self.device} on {self.port}: not open")
        self._serial.write(request)
        self.sent_ns = max(self._host.now_ns(), self.sent_ns) + self.line_ns(len(request))
        return self._serial

    def _gone(self, error: Exception) -> LinkLostError:
        self.close()
        return gone_error(self.device, self.port, error)


def open_port(host: Host, device: str, port: str, baud: int, characters: Characters = "8n1") -> SerialPort:
    """Open a port exclusively. Raises LinkLostError with advice."""
    try:
        return host.open_serial(port, baud, characters)
    except GONE as error:
        raise port_error(device, port, error) from error


def gone_error(device: str, port: str, error: Exception) -> LinkLostError:
    """An open port is gone."""
    return LinkLostError(f"{device}: {port} is gone ({error}); is it unplugged or switched off?")


def port_error(device: str, port: str, error: BaseException) -> LinkLostError:
    """Why a port cannot be opened, and what to do."""
    number = getattr(error, "errno", None)
    reason = {
        errno.ENOENT: "there is no such port; `hil devices` lists the existing ones",
        errno.EAGAIN: "the port is busy: another program has it",
        errno.EBUSY: "the port is busy: another program has it",
        errno.EACCES: "no right to open it; on Debian: adduser USER dialout",
    }.get(number or 0, f"cannot be opened: {error}")
    return LinkLostError(f"{device}: {port}: {reason}")


NEVER_NS = 2**62


class StopPort:
    """The stop of one port, written frame by frame when each is due; never blocks.

    If opened before the run, it changes no setting of the port and reads nothing: the driver's settings hold for all
    descriptors of the port. A port that was unplugged is closed, because otherwise the kernel would not reuse its name
    for the port that is plugged in again.

    Args:
        stop: frames and their port.
        host: computer whose ports are used.

    Attributes:
        stop: as passed.
        due_ns: when the next frame is due, or the last is sent [ns]; NEVER_NS: nothing more to do.
    """

    def __init__(self, stop: StopFrames, host: Host = COMPUTER) -> None:
        self.stop, self._host = stop, host
        self.due_ns = NEVER_NS
        self._frames: deque[bytes] = deque()
        self._port: SharedPort | None = None
        with suppress(*GONE):
            self._port = host.open_shared(stop.port, None)

    def begin(self, now_ns: int) -> None:
        """Schedule all frames, the first now; discards what the dead process still had in its output queue."""
        self._frames, self.due_ns = deque(self.stop.frames), now_ns
        if self._port is not None:
            with suppress(*GONE):
                self._port.discard_output()

    def send(self, now_ns: int) -> bool:
        """Write the next frame if it is due; whether one was written.

        Raises:
            DeviceError: it cannot be written; it stays due.
        """
        if now_ns < self.due_ns:
            return False
        if not self._frames:  # the last frame is sent
            self.due_ns = NEVER_NS
            return False
        try:
            if self._port is None:
                self._port = self._opened_again()
            written = self._port.write(self._frames[0])
        except BlockingIOError as error:
            raise LinkLostError(
                f"{self.stop.device}: {self.stop.port} accepts no bytes; is flow control on?"
            ) from error
        except GONE as error:
            self.close()
            raise LinkLostError(f"{self.stop.device}: {self.stop.port} is gone ({error})") from error
        if written < len(self._frames[0]):
            self._frames[0] = self._frames[0][written:]
            return False
        on_line_ns = line_time_ns(len(self._frames.popleft()), self.stop.baud, self.stop.characters)
        self.due_ns = now_ns + on_line_ns + round(self.stop.pause_s * 1e9)
        return True

    def give_up(self) -> None:
        """Cancel the remaining frames."""
        self._frames.clear()
        self.due_ns = NEVER_NS

    def look(self) -> None:
        """Close a port that is lost."""
        if self._port is not None and self._port.is_disconnected():
            self.close()

    def close(self) -> None:
        """Close the port."""
        if self._port is not None:
            self._port.close()
            self._port = None

    def _opened_again(self) -> SharedPort:
        """Open the port with our settings, because no other process may have it open. Raises DeviceError."""
        try:
            return self._host.open_shared(self.stop.port, self.stop.baud, self.stop.characters)
        except GONE as error:
            raise port_error(self.stop.device, self.stop.port, error) from error
