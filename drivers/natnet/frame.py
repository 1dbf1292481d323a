"""Layout of a frame of motion capture, to read what the driver needs of it.

A frame has sections one after the other: marker sets, other markers, rigid bodies, skeletons, assets (from 4.1 on),
labelled markers, force plates, devices, its times, and last what state the program is in. Each section begins with how
many items follow, and from 4.1 on with how many bytes. Clients do not rely on the number of bytes, nor does this one: a
section is passed by its items.

Messages of NatNet other than frames, for the driver (client) and the simulated device (server).

A message is a datagram: its number, the length of what follows (both 16 bits, little-endian as all numbers), and that.
Source: the depacketisation samples of NatNet SDK 3.1 and 4.1 (OptiTrack, NatNetTypes.h); checked against independent
clients (decision 0064).
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from enum import IntEnum
from typing import Any, Literal, NamedTuple

from drivers.interfaces import BadFrameError

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


# Number, position [m], orientation (x, y, z, w), mean marker error [m], flags.
BODY = struct.Struct("<i3f4ffh")
TRACKED = 0x01
POINT_BYTES = 12
# Number, position, size, flags, residual.
MARKER_BYTES = 26
VALUE_BYTES = 4
COUNT = struct.Struct("<i")
# Timecode and its subframe, time of the program [s]; ticks of the camera's middle of exposure (0: not known), of the
# arrival of the camera's data, and of the transmission.
TIMES = struct.Struct("<IIdqqq")
# Versions from this on have a second time of the cameras' clock, which is 0 where it is not synchronised by PTP.
PRECISE_FROM: Version = (4, 0)
PRECISION = struct.Struct("<II")
# State of the program: 0x01 it records, 0x02 its bodies have changed, 0x04 it plays a recording back (Edit mode).
STATE = struct.Struct("<H")
EDITS = 0x04
ASSETS_FROM: Version = (4, 1)
SIZES_FROM: Version = (4, 1)
# A float of 32 bits differs from a unit quaternion by less.
_NORM_OFF = 1e-2


class RigidBody(NamedTuple):
    """A rigid body in a frame, in the axes of the stream.

    Attributes:
        position: [m].
        orientation: unit quaternion x, y, z, w.
        error: mean marker error [m].
        tracked: it was found in this frame; else its values are old, or 0.
    """

    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float]
    error: float
    tracked: bool


class Frame(NamedTuple):
    """What the driver needs of a frame.

    Attributes:
        number: of the frame.
        bodies: rigid bodies by their number (Motive: streaming ID).
        exposed: middle of the cameras' exposure [ticks of the server's clock]; 0: not known.
        transmitted: when the frame was sent [ticks].
        live: the cameras see it now; else it is played back from a recording.
        repeated: numbers that more than one of its rigid bodies has.
    """

    number: int
    bodies: dict[int, RigidBody]
    exposed: int
    transmitted: int
    live: bool = True
    repeated: frozenset[int] = frozenset()


def read_frame(content: bytes, version: Version) -> Frame:
    """Decode a frame.

    Args:
        content: of its message.
        version: of the bit stream, one of `drivers.natnet.frame.VERSIONS`.

    Raises:
        BadFrameError: it is not of this layout.
    """
    reader = _Reader(content, sizes=version >= SIZES_FROM)
    number = reader.number()
    for _ in range(reader.section()):
        reader.name()
        reader.items(POINT_BYTES)
    reader.skip(reader.section() * POINT_BYTES)
    listed = [reader.body() for _ in range(reader.section())]
    for _ in range(reader.section()):
        reader.skip(COUNT.size)
        reader.items(BODY.size)
    if version >= ASSETS_FROM:
        for _ in range(reader.section()):
            reader.skip(COUNT.size)
            reader.items(BODY.size)
            reader.items(MARKER_BYTES)
    reader.skip(reader.section() * MARKER_BYTES)
    for _ in range(2):  # force plates, devices: number, channels, and values of each
        for _ in range(reader.section()):
            reader.skip(COUNT.size)
            for _ in range(reader.count()):
                reader.items(VALUE_BYTES)
    exposed, transmitted = reader.times()
    if version >= PRECISE_FROM:
        reader.skip(PRECISION.size)
    live = not reader.state() & EDITS
    counts = Counter(body for body, _ in listed)
    repeated = frozenset(body for body, count in counts.items() if count > 1)
    return Frame(number, dict(listed), exposed, transmitted, live, repeated)


class _Reader:
    """Reads a frame from its start to its end."""

    def __init__(self, content: bytes, *, sizes: bool) -> None:
        self._content, self._sizes, self._at = content, sizes, 0

    def number(self) -> int:
        return int(self._next(COUNT)[0])

    def count(self) -> int:
        """Returns how many items follow: no more than there are bytes, so that a damaged number is found at once."""
        count = self.number()
        if not 0 <= count <= len(self._content) - self._at:
            raise BadFrameError(f"{count} items in the {len(self._content) - self._at} bytes left of a frame")
        return count

    def section(self) -> int:
        """Returns how many items a section has."""
        count = self.count()
        if self._sizes:
            self.skip(COUNT.size)
        return count

    def items(self, size: int) -> None:
        """Skip items of one size, with their number before."""
        self.skip(self.count() * size)

    def skip(self, size: int) -> None:
        self._at += size
        if self._at > len(self._content):
            raise BadFrameError(f"a frame of {len(self._content)} bytes ends in the middle of a section")

    def name(self) -> None:
        """Skip a name, which ends with a 0."""
        end = self._content.find(b"\0", self._at)
        if end < 0:
            raise BadFrameError("a name in a frame does not end")
        self._at = end + 1

    def body(self) -> tuple[int, RigidBody]:
        number, x, y, z, qx, qy, qz, qw, error, flags = self._next(BODY)
        tracked = bool(flags & TRACKED)
        body = RigidBody((x, y, z), (qx, qy, qz, qw), error, tracked)
        if tracked and not (
            all(map(math.isfinite, body.position)) and abs(math.hypot(*body.orientation) - 1.0) <= _NORM_OFF
        ):
            raise BadFrameError(f"rigid body {number} is tracked at {body.position}, orientation {body.orientation}")
        return number, body

    def times(self) -> tuple[int, int]:
        """Returns the ticks of the exposure and of the transmission."""
        _, _, _, exposed, _, transmitted = self._next(TIMES)
        if exposed < 0 or transmitted <= 0 or exposed > transmitted:
            raise BadFrameError(f"exposed at {exposed}, transmitted at {transmitted} ticks")
        return exposed, transmitted

    def state(self) -> int:
        """Returns the flags of the program's state."""
        return int(self._next(STATE)[0])

    def _next(self, form: struct.Struct) -> tuple[Any, ...]:
        at = self._at
        self.skip(form.size)
        return form.unpack_from(self._content, at)


UpAxis = Literal["y", "z"]


def z_up(body: RigidBody, up_axis: UpAxis) -> tuple[float, ...]:
    """Position [m] and orientation (x, y, z, w) of a body in axes with z up.

    With y up the axes of room and body are both turned by 90 deg about x: (x, y, z) becomes (x, -z, y), for positions
    and for the vector part of a quaternion. So a body that was level as it was defined in Motive, with orientation
    (0, 0, 0, 1), keeps that orientation, and its z axis points up.

    The quaternion is scaled to length 1: it comes in single precision.
    """
    (x, y, z), (qx, qy, qz, qw) = body.position, body.orientation
    if up_axis == "y":
        y, z, qy, qz = -z, y, -qz, qy
    length = math.hypot(qx, qy, qz, qw)
    return x, y, z, qx / length, qy / length, qz / length, qw / length


def streamed(values: tuple[float, ...], up_axis: UpAxis) -> tuple[float, ...]:
    """The inverse: a position, and an orientation if there is one, as a stream has them."""
    if up_axis == "z":
        return values
    x, y, z = values[:3]
    return (x, z, -y) if len(values) == 3 else (x, z, -y, values[3], values[5], -values[4], values[6])
