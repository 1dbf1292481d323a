"""A V4L2 camera films one run: its process is started before the loop and ended after it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hil.app.camera.process import RAW_TABLE
from hil.config.schema.camera import CameraConfig
from hil.processes.process import Child, Process
from hil.recording.camera_frames import FOLDER, RunFrame, write_frames

# A camera that does not begin within this time films what it can from then on [s].
BEGIN_S = 5.0
END_S = 2.0
Launch = Callable[[Path, CameraConfig], Child]


def launch_process(folder: Path, config: CameraConfig) -> Child:
    """Start the process of a camera."""
    size = str(config.width_px), str(config.height_px)
    return Process("hil.app.camera.process", str(folder), config.device, str(config.rate_hz), *size)


class Capture:
    """The camera of one run; whatever becomes of it is said in `problem`, and raises nothing.

    Args:
        run: folder of the run.
        config: section `camera`.
        launch: starts the process that captures.

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
