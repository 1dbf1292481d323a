"""A second descriptor of a port that another process drives, to stop its devices at once and at any time.

A driver has its port for itself: with pyserial's advisory lock, and with TIOCEXCL, by which the kernel refuses any
further opening. A descriptor that was opened before may write. So the watchdog opens its own before the driver does,
and the stop does not wait until the kernel has ended the process that had the port.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress

from drivers.host import COMPUTER, Host, SharedPort, line_time_ns
from drivers.interfaces import LinkLostError, StopFrames
from drivers.serial.link import GONE, port_error

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
