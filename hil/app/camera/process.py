"""Entry point: `python -m hil.app.camera.process FOLDER PARENT DEVICE RATE WIDTH HEIGHT` writes frames.

A process of its own, with lower priority: the loop never waits for a camera or for the disk that takes its frames.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from hil.app.camera.v4l2 import CameraError, CameraFrame, frames
from hil.processes.lifecycle import Reporter, WorkerLifecycle
from hil.recording.camera_frames import frame_name

# Rows of it are those of the table of frames, but for their clock; the parent makes that table once the run is over.
RAW_TABLE = "frames.raw"
Source = Callable[[Callable[[], bool], Callable[[], None]], Iterator[CameraFrame]]


def capture(folder: Path, lifecycle: Reporter, source: Source) -> None:
    """Write frames and their times into a folder, until asked to end.

    Args:
        folder: exists.
        lifecycle: reports, and says when to end.
        source: gives frames until its first argument is true; its second is called once they may come.
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


def main(folder: Path, parent: int, device: str, rate_hz: float, size_px: tuple[int, int]) -> None:
    """Capture the frames of a V4L2 camera."""
    lifecycle = WorkerLifecycle(parent)
    os.setpriority(os.PRIO_PROCESS, 0, 10)
    capture(folder, lifecycle, lambda ending, began: frames(device, rate_hz, size_px, ending, began))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4]), (int(sys.argv[5]), int(sys.argv[6])))
