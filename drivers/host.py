"""What a driver needs of the computer that it runs on: the time, and the ports that it opens."""

from __future__ import annotations

import os
import select
import termios
import time
from contextlib import suppress
from typing import Any, Protocol

# A read of a port returns after so long without a byte, and a wait for a device server is cut into such pieces [s]:
# who waits then says that it is alive.
SLICE_S = 0.004
BITS_PER_BYTE = 10  # 8N1


class SerialPort(Protocol):
    """A serial port that is open, as pyserial has it."""

    @property
    def in_waiting(self) -> int:
        """Bytes that have come and were not read."""

    def read(self, size: int, /) -> bytes:
        """So many bytes, or what has come within SLICE_S."""

    def write(self, data: bytes, /) -> int | None:
        """Send bytes."""

    def flush(self) -> None:
        """Wait until all have left."""

    def close(self) -> None:
        """Let go of it."""


class SharedPort(Protocol):
    """A descriptor of a port beside those of others, to write to it; nothing of it waits."""

    def write(self, data: bytes, /) -> int:
        """How many of the bytes were taken. Raises BlockingIOError: none."""

    def discard_output(self) -> None:
        """Throw away what has been written by anybody and has not left yet."""

    def is_disconnected(self) -> bool:
        """Whether the port is gone."""

    def close(self) -> None:
        """Let go of it."""


class Host(Protocol):
    """A computer: the one that this process runs on, or one in virtual time (drivers.sim.virtual_host).

    Whatever reads the time, waits, or opens a port in a driver or a worker does so here.
    """

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC [ns]."""

    def sleep(self, seconds: float) -> None:
        """Let so much time pass."""

    def open_serial(self, port: str, baud: int) -> SerialPort:
        """Take a serial port for us alone. Raises OSError or serial.SerialException."""

    def open_shared(self, port: str, baud: int | None) -> SharedPort:
        """A serial port beside whoever has it, with its settings as they are, or with ours. Raises as `open_serial`."""

    def open_channel(self, server: str, options: Any) -> Any:
        """A gRPC channel to host:port, not yet ready."""

    def channel_ready(self, channel: Any) -> Any:
        """A future whose `result(timeout=)` returns once the channel is ready. Raises grpc.FutureTimeoutError."""


class Descriptor:
    """A `SharedPort` of this computer.

    Args:
        handle: of the port, which does not block.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._poll = select.poll()
        self._poll.register(handle, 0)  # an end that hangs up is reported in any case

    def write(self, data: bytes, /) -> int:
        """See `SharedPort`."""
        return os.write(self._handle, data)

    def discard_output(self) -> None:
        """See `SharedPort`."""
        termios.tcflush(self._handle, termios.TCOFLUSH)

    def is_disconnected(self) -> bool:
        """See `SharedPort`."""
        return bool(self._poll.poll(0))

    def close(self) -> None:
        """See `SharedPort`."""
        with suppress(OSError):
            os.close(self._handle)


class Computer:
    """The computer that this process runs on."""

    now_ns = staticmethod(time.monotonic_ns)
    sleep = staticmethod(time.sleep)

    def open_serial(self, port: str, baud: int) -> SerialPort:
        """See `Host`."""
        import serial  # not every process that knows the time has ports

        opened: SerialPort = serial.Serial(port, baud, timeout=SLICE_S, write_timeout=1.0, exclusive=True)
        return opened

    def open_shared(self, port: str, baud: int | None) -> SharedPort:
        """See `Host`."""
        if baud is None:
            return Descriptor(os.open(port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC))
        import serial

        opened = serial.Serial(port, baud, timeout=SLICE_S, write_timeout=1.0, exclusive=False)
        try:
            return Descriptor(os.dup(opened.fileno()))
        finally:
            opened.close()

    def open_channel(self, server: str, options: Any) -> Any:
        """See `Host`."""
        import grpc

        return grpc.insecure_channel(server, options=options)

    def channel_ready(self, channel: Any) -> Any:
        """See `Host`."""
        import grpc

        return grpc.channel_ready_future(channel)


COMPUTER = Computer()
