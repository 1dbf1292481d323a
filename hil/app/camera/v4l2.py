"""Frames of a V4L2 camera: JPEG as the camera gives them, with the time at which its driver has filled the buffer."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from drivers.extras import install_command

# How long one wait for a frame takes, before it is looked whether to end [s].
_WAIT_S = 0.2
_BUFFERS = 4


class CameraError(RuntimeError):
    """The camera cannot be used; the message says what was found and what to do."""


class Captured(NamedTuple):
    """A frame.

    Attributes:
        t_ns: on the monotonic clock of this computer [ns].
        sequence: number that the driver gave it.
        jpeg: its bytes.
        time_from: camera or arrival, as in `hil.recording.camera_frames.Frame`.
    """

    t_ns: int
    sequence: int
    jpeg: bytes
    time_from: str


def frames(
    device: str, rate_hz: float, size_px: tuple[int, int], ending: Callable[[], bool], began: Callable[[], None]
) -> Iterator[Captured]:
    """Frames until asked to end.

    Args:
        device: path of the camera.
        rate_hz: frames a second that are asked for; the camera may give others.
        size_px: width and height.
        ending: asked at least every 0.2 s.
        began: called once frames may come.

    Raises:
        CameraError: there is no such camera, it gives no JPEG, or linuxpy is not installed.
    """
    try:
        from linuxpy.video.device import BufferFlag, Device, PixelFormat, VideoCapture
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
            capture.set_fps(rate_hz)
            with capture:
                began()
                while not ending():
                    if not select.select([camera.fileno()], [], [], _WAIT_S)[0]:
                        continue
                    frame = capture.buffer.raw_read()
                    arrived_ns = time.monotonic_ns()
                    flags = frame.flags & BufferFlag.TIMESTAMP_MASK
                    stamp = frame.buff.timestamp
                    if flags == BufferFlag.TIMESTAMP_MONOTONIC:
                        t_ns, time_from = stamp.secs * 1_000_000_000 + stamp.usecs * 1000, "camera"
                    else:
                        t_ns, time_from = arrived_ns, "arrival"
                    yield Captured(t_ns, frame.frame_nb, bytes(frame.data), time_from)
    except OSError as error:
        raise CameraError(error.strerror or str(error)) from None
