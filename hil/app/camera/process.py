"""Writes the frames of a camera, in a separate process with lower priority.

The loop never waits for a camera or for the disk that takes its frames.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from hil.app.camera.v4l2 import CameraError, CameraFrame, frames
from hil.processes.lifecycle import Reporter
from hil.recording.camera_frames import frame_name

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
