"""A NatNet server that streams a rigid body to one client, and the bytes of its frames; simulated."""

from __future__ import annotations

import math
import struct
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from drivers.interfaces import BadFrameError
from drivers.natnet import frame
from drivers.natnet.frame import (
    ASSETS_FROM,
    BODY,
    CHOOSES_FROM,
    COUNT,
    EDITS,
    NEWEST,
    PRECISE_FROM,
    PRECISION,
    SIZES_FROM,
    STATE,
    TIMES,
    TRACKED,
    VERSIONS,
    Frame,
    MessageKind,
    RigidBody,
    ServerInfo,
    UpAxis,
    Version,
    in_words,
    message,
    streamed,
)
from drivers.sim.protocol.plant_ports import NEVER_NS, Instrument

T = TypeVar("T")
Point = tuple[float, float, float]
# Number, position, size, flags, residual.
LabelledMarker = tuple[int, Point, float, int, float]
# Number, and the values of each channel.
Channels = tuple[int, Sequence[Sequence[float]]]
_POINT = struct.Struct("<3f")
_MARKER = struct.Struct("<i3ffhf")


class FrameContent(NamedTuple):
    """What a frame holds in addition to the rigid bodies.

    Attributes:
        marker_sets: name and markers [m].
        markers: those of no set [m].
        skeletons: number and bodies.
        assets: number, bodies and markers; from version 4.1 on.
        labelled: markers with a number.
        force_plates: number and channels.
        devices: number and channels.
    """

    marker_sets: Sequence[tuple[str, Sequence[Point]]] = ()
    markers: Sequence[Point] = ()
    skeletons: Sequence[tuple[int, Mapping[int, RigidBody]]] = ()
    assets: Sequence[tuple[int, Mapping[int, RigidBody], Sequence[LabelledMarker]]] = ()
    labelled: Sequence[LabelledMarker] = ()
    force_plates: Sequence[Channels] = ()
    devices: Sequence[Channels] = ()


EMPTY = FrameContent()


def frame_message(frame: Frame, version: Version, scene: FrameContent = EMPTY, received: int = 0) -> bytes:
    """The message of a frame.

    Args:
        frame: its number, rigid bodies and times.
        version: of the bit stream.
        scene: what else is in it.
        received: when the cameras' data arrived [ticks].
    """

    def section(items: Sequence[T], packed: Callable[[T], bytes]) -> bytes:
        content = b"".join(map(packed, items))
        size = COUNT.pack(len(content)) if version >= SIZES_FROM else b""
        return COUNT.pack(len(items)) + size + content

    parts = [
        COUNT.pack(frame.number),
        section(scene.marker_sets, lambda item: item[0].encode() + b"\0" + _counted(map(_point, item[1]))),
        section(scene.markers, _point),
        section([item for item in frame.bodies.items() for _ in range(1 + (item[0] in frame.repeated))], _body),
        section(scene.skeletons, lambda item: COUNT.pack(item[0]) + _counted(map(_body, item[1].items()))),
    ]
    if version >= ASSETS_FROM:
        parts.append(
            section(
                scene.assets,
                lambda item: (
                    COUNT.pack(item[0]) + _counted(map(_body, item[1].items())) + _counted(map(_marker, item[2]))
                ),
            )
        )
    parts += [
        section(scene.labelled, _marker),
        section(scene.force_plates, _channels),
        section(scene.devices, _channels),
    ]
    parts.append(TIMES.pack(0, 0, frame.number * 0.01, frame.exposed, received, frame.transmitted))
    if version >= PRECISE_FROM:
        parts.append(PRECISION.pack(0, 0))
    parts.append(STATE.pack(0 if frame.live else EDITS))
    return message(MessageKind.FRAME, b"".join(parts))


def _counted(items: Iterable[bytes]) -> bytes:
    listed = list(items)
    return COUNT.pack(len(listed)) + b"".join(listed)


def _point(point: Point) -> bytes:
    return _POINT.pack(*point)


def _body(item: tuple[int, RigidBody]) -> bytes:
    number, body = item
    return BODY.pack(number, *body.position, *body.orientation, body.error, TRACKED if body.tracked else 0)


def _marker(marker: LabelledMarker) -> bytes:
    number, place, size, flags, residual = marker
    return _MARKER.pack(number, *place, size, flags, residual)


def _channels(item: Channels) -> bytes:
    number, channels = item
    values = [_counted(struct.pack("<f", value) for value in channel) for channel in channels]
    return COUNT.pack(number) + _counted(values)


# A client that has not said anything for so long gets no more frames [ns].
FORGETS_NS = 10_000_000_000
# A frame that is not there yet is looked for so often [ns].
LOOK_NS = 1_000_000
# Ticks a second of a Windows computer's performance counter.
CLOCK_HZ = 10_000_000
# Its clock and ours begin at different times [ns].
_BEGAN_NS = 86_400_000_000_000
_ERROR_M = 0.0003


class ServerOptions(msgspec.Struct, frozen=True):
    """How a server is set up.

    Attributes:
        body: streaming ID of the body.
        up_axis: of the stream.
        delay_ns: from the exposure to the transmission [ns].
        natnet: version of its protocol.
        clock_ppm: how much faster than ours its clock is [1e-6].
        knows_exposure: the cameras tell the middle of their exposure.
        scene: what it streams in addition.
        bodies: other rigid bodies, that do not move.
        repeated: a second body has the same streaming ID.
    """

    body: int = 1
    up_axis: UpAxis = "y"
    delay_ns: int = 5_000_000
    natnet: Version = NEWEST
    clock_ppm: float = 0.0
    knows_exposure: bool = True
    scene: FrameContent = FrameContent()
    bodies: tuple[int, ...] = ()
    repeated: bool = False


DEFAULT = ServerOptions()


class MotionServer:
    """A `SimulatedSerialDevice` that streams; each message is a datagram. A reading that is NaN is a body not tracked.

    Args:
        instrument: that measures the body; its channels are a position, and an orientation if there is one.
        options: see there.

    Attributes:
        kinds: of faults. playback: it plays a recording back; live: it does not any more.
        version: of the bit stream.
        live: what it streams is seen now; False: it plays a recording back, which has no exposure.
        clients: how many have connected, one after the other.
    """

    kinds = ("playback", "live")

    def __init__(self, instrument: Instrument, options: ServerOptions = DEFAULT) -> None:
        self._instrument, self._options = instrument, options
        self._info = ServerInfo("Motive", "3.1.0.0", options.natnet, CLOCK_HZ, multicast=False)
        self.version = options.natnet
        self.live = True
        self.clients = 0
        self._heard_ns: int | None = None
        self._sequence, self._measured_ns = 0, -1
        self._held: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
        self._ready: deque[tuple[int, bytes]] = deque()

    def restart(self) -> None:
        """As after the program was ended and started again: it knows no client."""
        self._heard_ns = None
        self._ready.clear()
        self.version = self._options.natnet

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:  # noqa: ARG002
        """Receive a datagram of a client; the one sent back."""
        try:
            kind, content = frame.unpack(data)
        except BadFrameError:
            return b""
        if kind == MessageKind.CONNECT:
            if self._heard_ns is None:
                self.clients += 1
                self._skip()
            self._heard_ns = ended_ns
            self._choose(frame.wanted_version(content))
            return frame.server_info(self._info)
        if self._heard_ns is None:
            return b""
        self._heard_ns = None if kind == MessageKind.DISCONNECT else ended_ns
        if kind in (MessageKind.DISCONNECT, MessageKind.KEEP_ALIVE):
            return b""
        if kind == MessageKind.REQUEST and frame.in_text(content).startswith(frame.BITSTREAM):
            self._choose(frame.chosen_version(content))
            return frame.response(f"{frame.BITSTREAM},{in_words(self.version)}")
        return frame.message(MessageKind.UNRECOGNIZED)

    def wake(self, now_ns: int) -> int:
        """Returns when the next frame is sent, or looked for."""
        if self._heard_ns is None or now_ns - self._heard_ns > FORGETS_NS:
            self._heard_ns = None
            return NEVER_NS
        for number, t_ns, values in self._instrument.since(self._sequence):
            self._sequence, self._measured_ns = number, t_ns
            self._ready.append((t_ns + self._options.delay_ns, self._frame(number, t_ns, values)))
        if self._ready:
            return max(self._ready[0][0], now_ns + 1)
        due_ns = self._measured_ns + round(1e9 / self._instrument.rate_hz) if self._measured_ns >= 0 else 0
        return max(due_ns, now_ns + LOOK_NS)

    def unasked(self, now_ns: int) -> Sequence[tuple[int, bytes]]:
        """The frames that it has sent; see `drivers.sim.protocol.line.Streaming`."""
        sent = []
        while self._ready and self._ready[0][0] <= now_ns:
            sent.append(self._ready.popleft())
        return sent if self._heard_ns is not None else ()

    def inject_fault(self, kind: str, how: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Start its own fault, `playback`."""
        self.live = kind == "live"

    def press(self, pressed: bool) -> None:  # noqa: ARG002
        """Raises ValueError: it reads no emergency stop."""
        raise ValueError("this device has no emergency stop")

    def _skip(self) -> None:
        """A client gets nothing from before it connected."""
        self._ready.clear()
        for number, t_ns, _ in self._instrument.since(self._sequence):
            self._sequence, self._measured_ns = number, t_ns

    def _choose(self, wanted: Version | None) -> None:
        """Stream the version that a client wants, if it can be chosen."""
        if wanted in VERSIONS and self._options.natnet >= max(CHOOSES_FROM, wanted):
            self.version = wanted

    def _frame(self, number: int, t_ns: int, values: tuple[float, ...]) -> bytes:
        options = self._options
        tracked = all(map(math.isfinite, values))
        if tracked:
            held = streamed(values, options.up_axis)
            self._held = held if len(held) == len(self._held) else (*held, *self._held[3:])
        x, y, z, qx, qy, qz, qw = self._held
        bodies = {
            other: RigidBody((float(other), 1.0, 0.0), (0.0, 0.0, 0.0, 1.0), _ERROR_M, True) for other in options.bodies
        }
        bodies[options.body] = RigidBody((x, y, z), (qx, qy, qz, qw), _ERROR_M, tracked)
        sent_ns = t_ns + options.delay_ns
        exposed = self._ticks(t_ns) if options.knows_exposure and self.live else 0
        repeated = frozenset({options.body} if options.repeated else ())
        frame = Frame(number, bodies, exposed, self._ticks(sent_ns), self.live, repeated)
        return frame_message(frame, self.version, options.scene, received=exposed)

    def _ticks(self, t_ns: int) -> int:
        """Returns the time of its clock."""
        return round((t_ns * (1.0 + self._options.clock_ppm * 1e-6) + _BEGAN_NS) * CLOCK_HZ * 1e-9)
