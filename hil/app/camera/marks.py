"""What the camera adds to the events of a record once its run is over: when its line was switched, and its silence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.app.camera.silence import silence
from hil.config.schema.camera import CameraConfig
from hil.messages.schema import event_row
from hil.recording.camera_frames import RunFrame
from hil.recording.stored_rows import Recorded, packed

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
