"""A V4L2 camera films one run: its process is started before the loop and ended after it.

Where a camera gave no frames while the run went on: a mark in the record, and no fault.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.app.camera.process import RAW_TABLE
from hil.config.schema.sensors import CameraConfig
from hil.messages.schema import event_row
from hil.processes.lifecycle import Child, Process
from hil.recording.camera_frames import FOLDER, RunFrame, write_frames
from hil.recording.content import Recorded, packed

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
_FIELDS = ("tick", "t_ns", "camera_trigger", "valves_acknowledged_ns")


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
    if camera.trigger is not None:
        rows = packed(ticks[: len(ticks)], list(_FIELDS))
        on = np.flatnonzero(rows["camera_trigger"])
        marks = [_switched_on(rows, int(on[0]))] if on.size else []
        if camera.trigger.gates:
            span_ns = (int(rows["t_ns"][on[0]]), int(rows["t_ns"][on[-1]])) if on.size else None
    if frames is None or (span_ns is None and not problem):
        return marks
    return marks + silence(frames, span_ns or (0, 0), camera.rate_hz, problem)


def _switched_on(rows: NDArray[Any], first: int) -> NDArray[np.void]:
    """The tick that commanded the line to be on first, and when its device had confirmed it [ms] later."""
    tick, t_ns = int(rows["tick"][first]), int(rows["t_ns"][first])
    confirmed = np.flatnonzero(rows["valves_acknowledged_ns"] >= t_ns)
    if not confirmed.size:
        return event_row(0, TRIGGER, tick, t_ns, np.nan, detail="commanded to be on; its device has not confirmed it")
    after_ms = (int(rows["t_ns"][confirmed[0]]) - t_ns) * 1e-6
    detail = f"commanded to be on; its device had confirmed it after {after_ms:.4g} ms"
    return event_row(0, TRIGGER, tick, t_ns, after_ms, reaction_tick=tick, detail=detail)
