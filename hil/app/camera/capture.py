"""Frames of a camera, taken in a separate process."""

from __future__ import annotations

import math
import os
import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drivers.extensions import install_command
from drivers.messages import CAMERA_TRIGGER
from hil.config.schema.sensors import CameraConfig
from hil.messages.link_messages import event_row
from hil.processes.lifecycle import Child, Process, Reporter
from hil.recording.content import Recorded, packed
from hil.recording.run_folder import FOLDER, RunFrame, frame_name, write_frames

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
        time_from: camera or arrival, as in `hil.recording.run_folder.RunFrame`.
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


# Rows of it are those of the table of frames, but for their clock; the parent makes that table once the run is over.
RAW_TABLE = "frames.raw"
Source = Callable[[Callable[[], bool], Callable[[], None]], Iterator[CameraFrame]]


def capture(folder: Path, lifecycle: Reporter, source: Source) -> None:
    """Write frames and their times into a folder, until asked to end.

    `source`: gives frames until its first argument is true; its second is called once they may come.
    """
    number = 0
    try:
        with (folder / RAW_TABLE).open("w", encoding="utf-8", buffering=1) as table:
            for frame in source(lambda: lifecycle.ending or lifecycle.orphaned, lifecycle.ready):
                name = frame_name(number)
                (folder / name).write_bytes(frame.jpeg)
                table.write(f"{frame.t_ns},{frame.sequence},{name},{frame.time_from}\n")
                number += 1
    except (CameraError, OSError) as error:
        lifecycle.report(error=str(error))


def run_camera(lifecycle: Reporter, folder: Path, device: str, rate_hz: str, width: str, height: str) -> None:
    """Capture the frames of a V4L2 camera: its rate [1/s] and size [px] come as text."""
    os.setpriority(os.PRIO_PROCESS, 0, 10)
    capture(
        folder,
        lifecycle,
        lambda ending, began: frames(device, float(rate_hz), (int(width), int(height)), ending, began),
    )


# A camera that does not begin within this time films what it can from then on [s].
BEGIN_S = 5.0
END_S = 2.0
Launch = Callable[[Path, CameraConfig], Child]


def launch_process(folder: Path, config: CameraConfig) -> Child:
    """Start the process of a camera."""
    size = str(config.width_px), str(config.height_px)
    return Process("camera", str(folder), config.device, str(config.rate_hz), *size)


class Capture:
    """The camera of one run; whatever becomes of it is said in `problem`, and raises nothing.

    Args:
        config: section `camera`.

    Attributes:
        problem: why there are no frames, or not all; empty: nothing was noticed.
    """

    def __init__(self, run: Path, config: CameraConfig, launch: Launch = launch_process) -> None:
        self._run, self.problem = run, ""
        self._folder = run / FOLDER
        self._child: Child | None = None
        try:
            self._folder.mkdir(exist_ok=True)
            self._child = launch(self._folder, config)
        except OSError as error:
            self.problem = f"camera {config.device}: {error.strerror}"
            return
        said = self._child.receive(BEGIN_S)
        if not said.get("ready"):
            why = said.get("error") or f"did not begin within {BEGIN_S:g} s"
            self.problem = f"camera {config.device}: {why}"

    def end(self, start_ns: int | None) -> list[RunFrame]:
        """End the process, and write the table of frames.

        Args:
            start_ns: start of the run on the monotonic clock [ns]; None: the run has not begun.

        Returns:
            The frames, on the clock of the record.
        """
        if self._child is not None and not self._child.end(END_S) and not self.problem:
            self.problem = "camera: its process ended before the run"
        frames: list[RunFrame] = []
        with suppress(OSError, ValueError):
            for line in (self._folder / RAW_TABLE).read_text(encoding="utf-8").splitlines():
                t_ns, sequence, name, time_from = line.split(",")
                frames.append(RunFrame(int(t_ns) - (start_ns or 0), int(sequence), name, time_from))
        try:
            if start_ns is not None:
                write_frames(self._run, frames)
            (self._folder / RAW_TABLE).unlink(missing_ok=True)
        except OSError as error:
            self.problem = self.problem or f"camera: its table cannot be written: {error.strerror}"
        return frames


EVENT = "camera silent"
# Of the time between two frames that was asked for; cameras lower their rate in the dark.
PERIODS = 5.0
LEAST_NS = 500_000_000


def silence(
    frames: Sequence[RunFrame], span_ns: tuple[int, int], rate_hz: float, problem: str = ""
) -> list[NDArray[Any]]:
    """The longest time without a frame, as an event, if it is too long or there was a problem.

    `span_ns`: from when to when there should be frames, on the record's clock [ns].
    """
    begin_ns, end_ns = span_ns
    allowed_ns = max(LEAST_NS, round(PERIODS / rate_hz * 1e9))
    inside = [frame.t_ns for frame in frames if begin_ns < frame.t_ns < end_ns]
    length_ns, since_ns = max((later - one, one) for one, later in pairwise([begin_ns, *inside, end_ns]))
    if length_ns <= allowed_ns and not problem:
        return []
    found = f"no frame for {length_ns * 1e-9:.2f} s, {len(inside)} frames in all"
    detail = f"{problem}; {found}" if problem else found
    return [event_row(0, EVENT, 0, since_ns, length_ns * 1e-6, allowed_ns * 1e-6, detail=detail)]


TRIGGER = "camera trigger"


def camera_marks(
    camera: CameraConfig, ticks: Recorded, frames: Sequence[RunFrame] | None, problem: str
) -> list[NDArray[np.void]]:
    """Rows of `EVENT` to add to the record.

    Args:
        camera: section of the config.
        ticks: of the run, at least one.
        frames: that were taken while it ran; None: by no camera.
        problem: what was noticed of the camera; empty: nothing.
    """
    span_ns: tuple[int, int] | None = (0, int(ticks[-1:]["t_ns"][0]))
    marks: list[NDArray[np.void]] = []
    if camera.lines:
        levels = [CAMERA_TRIGGER] * bool(camera.trigger) + [f"{CAMERA_TRIGGER}s"] * bool(camera.triggers)
        rows = packed(ticks[: len(ticks)], ["tick", "t_ns", *levels, "valves_acknowledged_ns"])
        by_line = np.column_stack([rows[level] for level in levels])
        for name, on in zip(camera.lines, map(np.flatnonzero, by_line.T), strict=True):
            marks += [_switched_on(rows, int(first), name.partition(".")[2]) for first in on[:1]]
        if camera.trigger is not None and camera.trigger.gates:
            on = np.flatnonzero(rows[CAMERA_TRIGGER])
            span_ns = (int(rows["t_ns"][on[0]]), int(rows["t_ns"][on[-1]])) if on.size else None
    if frames is None or (span_ns is None and not problem):
        return marks
    return marks + silence(frames, span_ns or (0, 0), camera.rate_hz, problem)


def _switched_on(rows: NDArray[Any], first: int, name: str) -> NDArray[np.void]:
    """The tick that commanded the line to be on first, and when its device had confirmed it [ms] later."""
    tick, t_ns = int(rows["tick"][first]), int(rows["t_ns"][first])
    confirmed, line = np.flatnonzero(rows["valves_acknowledged_ns"] >= t_ns), f"{name}: " if name else ""
    if not confirmed.size:
        detail = f"{line}commanded to be on; its device has not confirmed it"
        return event_row(0, TRIGGER, tick, t_ns, np.nan, detail=detail)
    after_ms = (int(rows["t_ns"][confirmed[0]]) - t_ns) * 1e-6
    detail = f"{line}commanded to be on; its device had confirmed it after {after_ms:.4g} ms"
    return event_row(0, TRIGGER, tick, t_ns, after_ms, reaction_tick=tick, detail=detail)
