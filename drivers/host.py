"""What a driver needs of its computer: the clock, and the serial and UDP ports that it opens."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import termios
import time
from array import array
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, Protocol

from typing_extensions import override

# A read of a port returns after so long without a byte, and a wait for a device server is divided into such pieces
# [s], so that the waiting process can report in between that it is alive.
SLICE_S = 0.004
# Data bits, parity (none, even, odd) and stop bits of a character; a start bit comes before them.
Characters = Literal["8n1", "8e1", "8o1", "8n2"]
# A device calls it every few ms while it waits: its process is alive.
Alive = Callable[[], None]
# Between two looks at a serial port whose bytes are awaited [s].
LOOK_S = 0.0003
# A port that takes no byte for so long is gone [s].
WRITE_S = 1.0


def line_time_s(count: float, baud: int, characters: Characters = "8n1") -> float:
    """Returns how long bytes are on a serial line, one right after the other [s].

    Args:
        count: of bytes; or bytes a second, then it is the share of its time that the line carries them.
        baud: of the line.
        characters: of the line.

    Example:
        >>> line_time_s(96, 9600), line_time_s(96, 9600, "8e1")
        (0.1, 0.11)
    """
    return count * _bits(characters) / baud


def line_time_ns(count: int, baud: int, characters: Characters = "8n1") -> int:
    """The same in whole ns, rounded down.

    Example:
        >>> line_time_ns(1, 115200)
        86805
    """
    return count * _bits(characters) * 1_000_000_000 // baud


def _bits(characters: Characters) -> int:
    """Of a character on the line, with its start bit."""
    return 10 if characters == "8n1" else 11


class SerialPort(Protocol):
    """An open serial port, with the interface of pyserial."""

    @property
    def in_waiting(self) -> int:
        """Number of bytes received and not yet read."""

    def read(self, size: int, /) -> bytes:
        """Read so many bytes, or what has arrived within SLICE_S."""

    def write(self, data: bytes, /) -> int | None:
        """Send bytes."""

    def flush(self) -> None:
        """Wait until all bytes are sent."""

    def close(self) -> None:
        """Let go of it."""


class SharedPort(Protocol):
    """A second descriptor of a port that another process has open, for writing; it never blocks."""

    def write(self, data: bytes, /) -> int:
        """Write without blocking; the number of bytes accepted. Raises BlockingIOError: none."""

    def discard_output(self) -> None:
        """Discard bytes that any process has written and that are not sent yet."""

    def is_disconnected(self) -> bool:
        """Returns whether the port is gone."""

    def close(self) -> None:
        """Let go of it."""


class DatagramPort(Protocol):
    """A UDP port of this computer to one other computer. Each message is one datagram: it arrives whole, or not at all.

    Datagrams can be lost, arrive twice, or in another order.

    Attributes:
        sender_port: of the other computer, that the datagram received last came from.
    """

    sender_port: int

    def send(self, data: bytes, /) -> None:
        """Send a datagram; whether it arrives is not known. Raises OSError: the network is not reachable."""

    def receive(self, *, wait: bool) -> bytes | None:
        """The oldest datagram that has come from there; None: there is none.

        Args:
            wait: for one, up to SLICE_S.

        Raises:
            OSError: the port is lost.
        """

    def close(self) -> None:
        """Let go of it; may be called twice."""


class Host(Protocol):
    """A computer: the one that this process runs on, or one in virtual time (drivers.sim.virtual_host).

    Drivers and workers read the time, wait, and open ports only through this class.
    """

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC [ns]."""

    def sleep(self, seconds: float) -> None:
        """Wait for so long."""

    def rest(self, seconds: float) -> None:
        """Wait for so long, or until a new command for this process cannot wait: its device has it on return."""

    def open_serial(self, port: str, baud: int, characters: Characters = "8n1") -> SerialPort:
        """Open a serial port exclusively. Raises OSError or serial.SerialException."""

    def open_shared(self, port: str, baud: int | None, characters: Characters = "8n1") -> SharedPort:
        """Open a port that others may have open, with its present settings or ours. Raises as `open_serial`."""

    def open_datagrams(self, address: str) -> DatagramPort:
        """Open a UDP port to host:port. Raises OSError: no such host, or no network."""

    def open_channel(self, server: str, alive: Callable[[], None]) -> Any:
        """A channel to host:port, not yet connected, as `drivers.rpc.channel.Channel`.

        `alive` is called every few ms while a call waits.
        """


class Descriptor(SharedPort):
    """A `SharedPort` of this computer.

    Args:
        handle: of the port, which does not block.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._queued = array("i", [0])

    @override
    def write(self, data: bytes, /) -> int:
        return os.write(self._handle, data)

    @override
    def discard_output(self) -> None:
        """The claim of the process that had the port for itself ends with it."""
        termios.tcflush(self._handle, termios.TCOFLUSH)
        fcntl.ioctl(self._handle, termios.TIOCNXCL)

    @override
    def is_disconnected(self) -> bool:
        # Never by poll: that waits, whatever the signal, until ordinary threads of the kernel have moved bytes that are
        # just arriving at the port; on a busy machine it took up to 17 ms.
        try:
            fcntl.ioctl(self._handle, termios.TIOCOUTQ, self._queued)
        except OSError:
            return True
        return False

    @override
    def close(self) -> None:
        with suppress(OSError):
            os.close(self._handle)


class _PatientPort:
    """A `SerialPort` that waits by looking at how many bytes have come, and by writing again.

    A poll or a read of an empty terminal waits, whatever the signal, until ordinary threads of the kernel have moved
    the bytes that are just arriving. On a busy machine that took 17 ms, in which a worker cannot show that it is alive.
    pyserial polls after each write, too.

    Args:
        port: of pyserial, which returns at once.
    """

    def __init__(self, port: Any) -> None:
        self._port = port
        self.flush = port.flush
        # No other program may open the port while this one has it. Who has opened it before keeps it (the watchdog:
        # drivers/serial/link.py), and root may open it all the same.
        fcntl.ioctl(port.fileno(), termios.TIOCEXCL)

    def close(self) -> None:
        """Others may open the port from now on, also while the watchdog still has it."""
        with suppress(OSError, termios.error):  # it is gone, or closed already
            fcntl.ioctl(self._port.fileno(), termios.TIOCNXCL)
        self._port.close()

    @property
    def in_waiting(self) -> int:
        """Bytes that have come."""
        return int(self._port.in_waiting)

    def read(self, size: int, /) -> bytes:
        """Returns at most so many bytes that have come."""
        until_ns = time.monotonic_ns() + round(SLICE_S * 1e9)
        while (come := self._port.in_waiting) < size and time.monotonic_ns() < until_ns:
            time.sleep(LOOK_S)
        data: bytes = self._port.read(min(come, size)) if come else b""
        return data

    def write(self, data: bytes, /) -> int:
        """Raises OSError: the port is gone, or has not taken the bytes within WRITE_S."""
        until_ns, sent = time.monotonic_ns() + round(WRITE_S * 1e9), 0
        while sent < len(data):
            with suppress(BlockingIOError):
                sent += os.write(self._port.fileno(), data[sent:])
                continue
            if time.monotonic_ns() > until_ns:
                raise OSError(errno.EIO, f"{len(data) - sent} bytes not sent within {WRITE_S:g} s")
            time.sleep(LOOK_S)
        return sent


class HostComputer:
    """The computer that this process runs on."""

    now_ns = staticmethod(time.monotonic_ns)
    sleep = staticmethod(time.sleep)

    def rest(self, seconds: float) -> None:
        """Sleep: here nobody writes commands from another process."""
        self.sleep(max(seconds, 0.0))

    def open_serial(self, port: str, baud: int, characters: Characters = "8n1") -> SerialPort:
        """Open a serial port of this computer for a driver alone."""
        import serial  # not every process that reads the clock has ports

        form = _form(port, characters)
        return _PatientPort(serial.Serial(port, baud, **form, timeout=0, write_timeout=0, exclusive=True))

    def open_shared(self, port: str, baud: int | None, characters: Characters = "8n1") -> SharedPort:
        """Open a serial port next to the driver that has it."""
        if baud is None:
            return Descriptor(os.open(port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC))
        import serial

        form = _form(port, characters)
        opened = serial.Serial(port, baud, **form, timeout=SLICE_S, write_timeout=1.0, exclusive=False)
        try:
            return Descriptor(os.dup(opened.fileno()))
        finally:
            opened.close()

    def open_datagrams(self, address: str) -> DatagramPort:
        """Open a UDP port to a device."""
        return UdpPort(address, SLICE_S)

    def open_channel(self, server: str, alive: Callable[[], None]) -> Any:
        """Open a channel to a device server."""
        from drivers.rpc.channel import Channel  # not every process has a device server

        return Channel(server, alive, SLICE_S)


def _form(port: str, characters: Characters) -> dict[str, Any]:
    """Characters as pyserial has them. A pseudo-terminal carries whole bytes, and the kernel refuses a parity there."""
    parity = "N" if os.path.realpath(port).startswith("/dev/pts/") else characters[1].upper()
    return {"parity": parity, "stopbits": int(characters[2])}


COMPUTER = HostComputer()


# Largest datagram that UDP over IPv4 carries [bytes].
LARGEST = 65507
# Datagrams of about a second that wait while this process is not let run [bytes]; the kernel may grant less.
_WAITING = 1 << 20


def host_and_port(address: str) -> tuple[str, int]:
    """Returns the parts of HOST:PORT.

    Raises:
        OSError: it is not of this form.

    Example:
        >>> host_and_port("192.168.1.5:1510")
        ('192.168.1.5', 1510)
    """
    host, colon, port = address.rpartition(":")
    if not (host and colon and port.isdecimal()):
        raise OSError(f"{address!r} is not HOST:PORT")
    return host, int(port)


class UdpPort(DatagramPort):
    """A `drivers.host.DatagramPort` of this computer.

    It is not connected to one port of the other computer: a device may answer from another one than it is asked at.
    Datagrams of other computers are dropped.

    Args:
        address: HOST:PORT that is written to.
        slice_s: how long a receiver waits at most [s].

    Attributes:
        sender_port: see `drivers.host.DatagramPort`.

    Raises:
        OSError: no such host, or no network.
    """

    def __init__(self, address: str, slice_s: float) -> None:
        self.sender_port = 0
        host, port = host_and_port(address)
        family, _, _, _, found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)[0]
        self._to = (str(found[0]), port)
        self._slice_s = slice_s
        self._socket = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _WAITING)
            self._socket.bind(("", 0))
        except OSError:
            self._socket.close()
            raise

    @override
    def send(self, data: bytes, /) -> None:
        self._socket.settimeout(self._slice_s)
        self._socket.sendto(data, self._to)

    @override
    def receive(self, *, wait: bool) -> bytes | None:
        left_s, until_s = self._slice_s, time.monotonic() + self._slice_s
        try:
            while left_s > 0.0:  # datagrams of others do not make it longer
                self._socket.settimeout(left_s if wait else 0.0)
                data, sender = self._socket.recvfrom(LARGEST)
                if sender[0] == self._to[0]:
                    self.sender_port = int(sender[1])
                    return data
                left_s = until_s - time.monotonic()
        except (BlockingIOError, TimeoutError):
            pass
        return None

    @override
    def close(self) -> None:
        self._socket.close()
