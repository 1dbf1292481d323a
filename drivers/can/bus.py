"""One CAN bus behind an SLCAN adapter on a serial port: frames out and in, damage, and the adapter's status."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from drivers.can import slcan
from drivers.can.slcan import AdapterStatus, CanFrame, LineReader
from drivers.host import COMPUTER, Alive, Host, SerialPort, line_time_ns
from drivers.interfaces import BadFrameError, DamageCount, DamagedError, DeviceError, LinkLostError
from drivers.serial.link import GONE, gone_error, open_port

# An adapter that answers its commands does so within this time [s]; some answer none.
ADAPTER_S = 0.05
# At opening, what the port still holds is discarded: at most so many pieces.
MOST_OLD = 64
READ_CHUNK = 4096
# At opening, an adapter that was stopped in a line may send so many that are none.
MOST_STRANGE = 2


class CanBus:
    """Frames go out at once and nobody waits for their confirmation: the nodes' answers prove that they have passed.

    Args:
        device: name for messages.
        port: path of the adapter's port.
        baud: its speed.
        bit_rate: of the bus [bit/s].
        take: called with each data frame; raises BadFrameError: it is damaged.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.

    Attributes:
        where: device and port, for messages.
        sent_ns: when the last byte of the newest frame was sent, and the frame after it on the bus [ns].
        received_ns: when the newest data frame was read [ns].
        flags: newest status of the adapter; -1: it has answered none.
        errors: damaged lines, and frames that the adapter refused.
        open: the port is.
    """

    def __init__(
        self,
        device: str,
        port: str,
        baud: int,
        bit_rate: int,
        take: Callable[[CanFrame], None],
        host: Host = COMPUTER,
        alive: Alive = lambda: None,
    ) -> None:
        self.device, self.port, self.baud, self.bit_rate = device, port, baud, bit_rate
        self.where = f"{device} on {port}"
        self._take, self._host, self._alive = take, host, alive
        self._serial: SerialPort | None = None
        self._reader = LineReader()
        self._damage = DamageCount(self.where, "rounds", "check cable, termination, bit rate and baud rate")
        self._bad, self._strange = "", 0
        self.flags, self.errors = -1, 0
        self.sent_ns = self.received_ns = 0

    @property
    def open(self) -> bool:
        """The port is open."""
        return self._serial is not None

    def open_bus(self) -> None:
        """Open the port exclusively, and the bus at its bit rate. Raises DeviceError."""
        self.close()
        self._serial = open_port(self._host, self.device, self.port, self.baud)
        self._reader, self._bad, self._strange, self.flags = LineReader(), "", 0, -1
        self._damage.forget()
        self._command(slcan.FLUSH + slcan.CLOSE, late=True)  # refused where it is closed already
        self._command(slcan.NO_TIME_STAMPS, late=True)  # refused where there are none
        for command, what in ((slcan.BIT_RATES[self.bit_rate], f"{self.bit_rate} bit/s"), (slcan.OPEN, "to open")):
            if self._command(command) == slcan.BELL:
                raise DeviceError(f"{self.where}: the adapter refuses {what}; unplug it and plug it in again")
        self._command(slcan.STATUS)
        if self._strange > MOST_STRANGE:
            raise DamagedError(
                f"{self.where}: {self._strange} lines that no SLCAN adapter sends, newest: {self._bad}; another device "
                "may be sending here; check cable, power, address and baud rate"
            )
        self._bad, self.errors = "", 0

    def close(self) -> None:
        """Close the port. The bus stays open, so that a stop can still be sent by another program."""
        if self._serial is not None:
            with suppress(*GONE):
                self._serial.close()
            self._serial = None

    def send(self, *frames: CanFrame, status: bool = False) -> None:
        """Write frames now, and ask for the adapter's status. Raises LinkLostError."""
        self._write(b"".join(frame.line for frame in frames) + slcan.STATUS * status)
        self.sent_ns += sum(slcan.bus_bits(len(frame.data)) for frame in frames[-1:]) * 1_000_000_000 // self.bit_rate

    def receive(self, wait_bytes: int = 0) -> list[bytes]:
        """Pass on all data frames that have come; returns the adapter's other lines.

        Args:
            wait_bytes: are awaited, up to `drivers.host.SLICE_S`; 0: none are.

        Raises:
            LinkLostError: the port is lost.
        """
        port = self._opened()
        try:
            if not (count := port.in_waiting or wait_bytes):
                return []
            lines = self._reader.feed(port.read(min(max(count, wait_bytes), READ_CHUNK)))
        except GONE as error:
            raise self._gone(error) from error
        other = []
        for line in lines:
            try:
                if line == slcan.BELL:
                    self._strange -= 1
                    raise BadFrameError("a frame that the adapter refuses (BELL)")
                found = slcan.decode(line)
                if isinstance(found, CanFrame):
                    self._take(found)
                    self.received_ns = self._host.now_ns()
                    continue
                if isinstance(found, AdapterStatus):
                    self.flags = found.flags
            except BadFrameError as error:
                self._bad, self.errors, self._strange = str(error), self.errors + 1, self._strange + 1
            other.append(line)
        return other

    def judge(self) -> None:
        """Count a round as damaged if anything in it was. Raises DamagedError."""
        bad, self._bad = self._bad, ""
        if bad:
            self._damage.damaged(bad)
        else:
            self._damage.good()

    def found_instead(self) -> str:
        """Returns what came in place of what was awaited, for messages."""
        return f"; newest damage: {self._bad}" if self._bad else ""

    def line_ns(self, count: int) -> int:
        """Returns the time of so many bytes on the serial line [ns]."""
        return line_time_ns(count, self.baud)

    def _command(self, command: bytes, *, late: bool = False) -> bytes:
        """Give the adapter a command; its answer, b"" if there is none. `late`: await further answers too."""
        self._discard()
        self._write(command)
        answer, until_ns = b"", self.sent_ns + round(ADAPTER_S * 1e9)
        while (late or not answer) and self._host.now_ns() < until_ns:
            for line in self.receive(1):
                answer = slcan.BELL if line == slcan.BELL else line + slcan.END
            self._alive()
        return answer

    def _discard(self) -> None:
        for _ in range(MOST_OLD):
            if not self._opened().in_waiting:
                break
            self.receive()

    def _write(self, data: bytes) -> None:
        try:
            self._opened().write(data)
        except GONE as error:
            raise self._gone(error) from error
        self.sent_ns = max(self._host.now_ns(), self.sent_ns) + self.line_ns(len(data))

    def _opened(self) -> SerialPort:
        if self._serial is None:
            raise LinkLostError(f"{self.where}: not open")
        return self._serial

    def _gone(self, error: Exception) -> LinkLostError:
        self.close()
        return gone_error(self.device, self.port, error)
