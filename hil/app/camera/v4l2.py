"""Frames of a V4L2 camera: JPEG as the camera gives them, with the time at which its driver has filled the buffer."""

from __future__ import annotations

import math
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from drivers.extensions import install_command

# How long one wait for a frame takes, before it is looked whether to end [s].
_WAIT_S = 0.2
_BUFFERS = 4
# A frame comes so long after its time at most; a time that lies further back, or ahead, is none of this clock [ns].
_MOST_DELAY_NS = 1_000_000_000
# Flags of a buffer (linux/videodev2.h): its data are damaged; its clock, and which of these is that of this computer.
DAMAGED, _CLOCK, MONOTONIC = 0x40, 0xE000, 0x2000


class CameraError(RuntimeError):
    """The camera cannot be used; the message says what was found and what to do."""


class CameraFrame(NamedTuple):
    """A frame.

    Attributes:
        t_ns: on the monotonic clock of this computer [ns].
        sequence: number that the driver gave it.
        jpeg: its bytes.
        time_from: camera or arrival, as in `hil.recording.camera_frames.RunFrame`.
    """

    t_ns: int
    sequence: int
    jpeg: bytes
    time_from: str


class GrantedFormat(NamedTuple):
    """What a camera gives of what it was asked for.

    Attributes:
        name: as the camera gives it.
        pixel_format: of its frames.
        width_px: of a frame.
        height_px: of a frame.
        rate_hz: frames a second; NaN: it has no rate.
    """

    name: str
    pixel_format: str
    width_px: int
    height_px: int
    rate_hz: float


def frames(
    device: str, rate_hz: float, size_px: tuple[int, int], ending: Callable[[], bool], began: Callable[[], None]
) -> Iterator[CameraFrame]:
    """Frames until asked to end; what the driver calls damaged, or what has no bytes, is no frame.

    Args:
        device: path of the camera.
        rate_hz: frames a second that are asked for; the camera may give others.
        size_px: width and height.
        ending: asked at least every 0.2 s.
        began: called once frames may come.

    Raises:
        CameraError: there is no such camera, it gives no JPEG, or linuxpy is not installed.
    """
    with _opened(device, rate_hz, size_px) as (camera, capture, _), capture:
        began()
        while not ending():
            if not select.select([camera.fileno()], [], [], _WAIT_S)[0]:
                continue
            frame, arrived_ns = capture.buffer.raw_read(), time.monotonic_ns()
            stamp = frame.buff.timestamp
            stamped_ns = stamp.secs * 1_000_000_000 + stamp.usecs * 1000
            if found := captured(frame.flags, stamped_ns, frame.frame_nb, bytes(frame.data), arrived_ns):
                yield found


def captured(flags: int, stamped_ns: int, sequence: int, jpeg: bytes, arrived_ns: int) -> CameraFrame | None:
    """The frame in a buffer that the driver has filled; None: there is none.

    Args:
        flags: of the buffer.
        stamped_ns: its time, of the clock that its flags name [ns].
        sequence: number that the driver gave it.
        jpeg: its bytes.
        arrived_ns: when it was read, on the monotonic clock of this computer [ns].
    """
    if flags & DAMAGED or not jpeg:
        return None
    if flags & _CLOCK == MONOTONIC and 0 <= arrived_ns - stamped_ns <= _MOST_DELAY_NS:
        return CameraFrame(stamped_ns, sequence, jpeg, "camera")
    return CameraFrame(arrived_ns, sequence, jpeg, "arrival")


def granted(device: str, rate_hz: float, size_px: tuple[int, int]) -> GrantedFormat:
    """What a camera gives when it is asked as for a run; no frame is taken.

    Args: as `frames`.

    Raises: as `frames`.
    """
    with _opened(device, rate_hz, size_px) as (_, _, given):
        return given


def present() -> list[str]:
    """Paths of the video devices of this computer, those by name first."""
    by_name = sorted(map(str, Path("/dev/v4l/by-id").glob("*")))
    return by_name + sorted(map(str, Path("/dev").glob("video*")))


@contextmanager
def _opened(device: str, rate_hz: float, size_px: tuple[int, int]) -> Iterator[tuple[Any, Any, GrantedFormat]]:
    """A camera, its frames, and what it has granted."""
    try:
        from linuxpy.video.device import Device, PixelFormat, VideoCapture
    except ImportError:
        raise CameraError(f"linuxpy is not installed: {install_command('camera')}") from None
    try:
        with Device(device) as camera:
            capture = VideoCapture(camera, size=_BUFFERS)
            capture.set_format(*size_px, "MJPG")
            given = capture.get_format()
            if given.pixel_format not in (PixelFormat.MJPEG, PixelFormat.JPEG):
                raise CameraError(
                    f"it gives {given.pixel_format.name}; needed: MJPEG (v4l2-ctl --list-formats shows it)"
                )
            rate = math.nan  # a camera that its trigger line exposes may have none to be set
            with suppress(OSError, ValueError, ArithmeticError):
                capture.set_fps(rate_hz)
                rate = float(capture.get_fps())
            yield (
                camera,
                capture,
                GrantedFormat(camera.info.card, given.pixel_format.name, given.width, given.height, rate),
            )
    except OSError as error:
        raise CameraError(error.strerror or str(error)) from None
