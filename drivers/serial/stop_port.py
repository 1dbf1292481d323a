"""A port that another process drives, on a descriptor of our own: to stop what hangs on it, at once and at any time.

pyserial's `exclusive` is a lock among those who ask for it; a descriptor beside it may write. So the stop need not wait
until the kernel has taken down the process that had the port.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress

from drivers.host import BITS_PER_BYTE, COMPUTER, Host, SharedPort
from drivers.interfaces import LinkLostError, StopFrames
from drivers.serial.link import GONE, port_error

NEVER_NS = 2**62


class StopPort:
    """The stop of one port, written frame by frame as their times come; nothing here waits.

    It changes no setting of the port and reads nothing, as long as it is open from before the run: what the driver has
    set holds for all who have the port open. A port that was unplugged is let go of, for the kernel would not give its
    name to the one that is plugged in again.

    Args:
        stop: what to write, and where.
        host: whose ports are used.

    Attributes:
        stop: as given.
        due_ns: when the next frame is due, or the last has left [ns]; NEVER_NS: nothing more to do.
    """

    def __init__(self, stop: StopFrames, host: Host = COMPUTER) -> None:
        self.stop, self._host = stop, host
        self.due_ns = NEVER_NS
        self._frames: deque[bytes] = deque()
        self._port: SharedPort | None = None
        with suppress(*GONE):
            self._port = host.open_shared(stop.port, None)

    def begin(self, now_ns: int) -> None:
        """All frames are to be written, the first now, after what the dead process had still in its queue is gone."""
        self._frames, self.due_ns = deque(self.stop.frames), now_ns
        if self._port is not None:
            with suppress(*GONE):
                self._port.discard_output()

    def send(self, now_ns: int) -> bool:
        """Write the next frame if its time has come; whether one was written.

        Raises:
            DeviceError: it cannot be written; it stays due.
        """
        if now_ns < self.due_ns:
            return False
        if not self._frames:  # the last has had its time on the line
            self.due_ns = NEVER_NS
            return False
        try:
            if self._port is None:
                self._port = self._opened_again()
            written = self._port.write(self._frames[0])
        except BlockingIOError as error:
            raise LinkLostError(f"{self.stop.device}: {self.stop.port} takes nothing; is its flow held?") from error
        except GONE as error:
            self.close()
            raise LinkLostError(f"{self.stop.device}: {self.stop.port} is gone ({error})") from error
        if written < len(self._frames[0]):
            self._frames[0] = self._frames[0][written:]
            return False
        on_line_ns = len(self._frames.popleft()) * BITS_PER_BYTE * 1_000_000_000 // self.stop.baud
        self.due_ns = now_ns + on_line_ns + round(self.stop.pause_s * 1e9)
        return True

    def give_up(self) -> None:
        """Write no more of it."""
        self._frames.clear()
        self.due_ns = NEVER_NS

    def look(self) -> None:
        """Let go of a port that is gone."""
        if self._port is not None and self._port.is_disconnected():
            self.close()

    def close(self) -> None:
        """Let go of the port."""
        if self._port is not None:
            self._port.close()
            self._port = None

    def _opened_again(self) -> SharedPort:
        """With settings of our own, for nobody else may have it. Raises DeviceError."""
        try:
            return self._host.open_shared(self.stop.port, self.stop.baud)
        except GONE as error:
            raise port_error(self.stop.device, self.stop.port, error) from error
