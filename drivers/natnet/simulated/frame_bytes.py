"""Bytes of a frame of motion capture, as a server sends them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from drivers.natnet.frame import (
    ASSETS_FROM,
    BODY,
    COUNT,
    EDITS,
    PRECISE_FROM,
    PRECISION,
    SIZES_FROM,
    STATE,
    TIMES,
    TRACKED,
    Frame,
    RigidBody,
)
from drivers.natnet.messages import MessageKind, Version, message

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
