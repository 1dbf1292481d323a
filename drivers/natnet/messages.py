"""Messages of NatNet other than frames, for the driver (client) and the simulated device (server).

A message is a datagram: its number, the length of what follows (both 16 bits, little-endian as all numbers), and that.
Source: the depacketisation samples of NatNet SDK 3.1 and 4.1 (OptiTrack, NatNetTypes.h); checked against independent
clients (decision 0064).
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

from drivers.serial.bad_frame import BadFrameError

# Versions of the bit stream whose layout is known.
Version = tuple[int, int]
VERSIONS: tuple[Version, ...] = ((3, 0), (3, 1), (4, 0), (4, 1))
NEWEST = VERSIONS[-1]
# A server of this version or a newer one streams an older version to a client that asks for it.
CHOOSES_FROM: Version = (4, 0)
_HEADER = struct.Struct("<HH")
_NAME_BYTES = 256
_SERVER = struct.Struct(f"<{_NAME_BYTES}s4s4s")
_CLOCK = struct.Struct("<Q")
# Of version 3 on: the port of data, whether it is multicast, and the group's address.
_CONNECTION = struct.Struct("<H?4s")
# A client that connects sends its own description, whether it wants only what it subscribes to, and the version wanted.
_CLIENT = struct.Struct(f"<{_NAME_BYTES}s4s4s?4s")
_STRING_END = b"\0"
BITSTREAM = "Bitstream"


class MessageKind(IntEnum):
    """Numbers of messages used here."""

    CONNECT = 0
    SERVER_INFO = 1
    REQUEST = 2
    RESPONSE = 3
    FRAME = 7
    DISCONNECT = 9
    KEEP_ALIVE = 10
    UNRECOGNIZED = 100


class ServerInfo(NamedTuple):
    """What a server says about itself.

    Attributes:
        name: of the program.
        version: of the program, like 3.1.0.0.
        natnet: version of the protocol.
        clock_hz: ticks a second of its clock; 0: not told.
        multicast: it streams to a group, not to each client.
    """

    name: str
    version: str
    natnet: Version
    clock_hz: int
    multicast: bool

    @property
    def words(self) -> str:
        """Its program and protocol."""
        return f"{self.name} {self.version}, NatNet {in_words(self.natnet)}"


def in_words(version: Version) -> str:
    """A version as text.

    Example:
        >>> in_words((4, 1))
        '4.1'
    """
    return f"{version[0]}.{version[1]}"


def message(kind: MessageKind, content: bytes = b"") -> bytes:
    """A whole message."""
    return _HEADER.pack(kind, len(content)) + content


def unpack(datagram: bytes) -> tuple[int, bytes]:
    """Number and content of a message.

    It may be longer than it says: some senders do not count an ending 0.

    Raises:
        BadFrameError: it is shorter than it says.
    """
    if len(datagram) < _HEADER.size:
        raise BadFrameError(f"{len(datagram)} bytes, a message has at least {_HEADER.size}")
    kind, length = _HEADER.unpack_from(datagram)
    if len(datagram) < _HEADER.size + length:
        raise BadFrameError(f"message {kind} with {len(datagram) - _HEADER.size} bytes, it says {length}")
    return kind, datagram[_HEADER.size : _HEADER.size + length]


def connect(wanted: Version = NEWEST) -> bytes:
    """Ask a server who it is, and to stream to the port that this comes from, in a version if it can choose."""
    return message(
        MessageKind.CONNECT, _CLIENT.pack(b"Ping", bytes(4), bytes(4), False, bytes((*wanted, 0, 0))) + _STRING_END
    )


def wanted_version(content: bytes) -> Version | None:
    """The version that a connecting client wants; None: it does not say."""
    if len(content) < _CLIENT.size:
        return None
    major, minor = _CLIENT.unpack_from(content)[4][:2]
    return (major, minor) if major else None


def server_info(info: ServerInfo) -> bytes:
    """The answer to a client that connects."""
    version = bytes(int(part) for part in info.version.split("."))
    sender = _SERVER.pack(info.name.encode(), version.ljust(4, b"\0"), bytes((*info.natnet, 0, 0)))
    return message(
        MessageKind.SERVER_INFO, sender + _CLOCK.pack(info.clock_hz) + _CONNECTION.pack(1511, info.multicast, bytes(4))
    )


def read_server_info(content: bytes) -> ServerInfo:
    """Decode a server's description. Raises BadFrameError."""
    if len(content) < _SERVER.size:
        raise BadFrameError(f"a server's description of {len(content)} bytes, it has at least {_SERVER.size}")
    name, version, natnet = _SERVER.unpack_from(content)
    clock_hz, multicast = 0, False
    if len(content) >= _SERVER.size + _CLOCK.size:
        (clock_hz,) = _CLOCK.unpack_from(content, _SERVER.size)
    if len(content) >= _SERVER.size + _CLOCK.size + _CONNECTION.size:
        # a byte other than 0 counts as true, as in C
        multicast = content[_SERVER.size + _CLOCK.size + 2] != 0
    words = name.partition(_STRING_END)[0].decode("utf-8", "replace")
    return ServerInfo(words, ".".join(map(str, version)), (natnet[0], natnet[1]), clock_hz, multicast)


def request(words: str) -> bytes:
    """A request in words, like Bitstream,4.1."""
    return message(MessageKind.REQUEST, words.encode() + _STRING_END)


def response(words: str) -> bytes:
    """The answer to a request in words."""
    return message(MessageKind.RESPONSE, words.encode() + _STRING_END)


def in_text(content: bytes) -> str:
    """Returns the words of a request or response."""
    return content.partition(_STRING_END)[0].decode("utf-8", "replace")


def chosen_version(content: bytes) -> Version | None:
    r"""The version that a server says it streams (Bitstream,4.1); None: the response is to something else.

    Example:
        >>> chosen_version(b"Bitstream,4.1.0.0\0")
        (4, 1)
    """
    name, _, version = in_text(content).partition(",")
    parts = version.split(".")
    if name != BITSTREAM or len(parts) < 2 or not all(part.isascii() and part.isdecimal() for part in parts[:2]):
        return None
    return int(parts[0]), int(parts[1])
