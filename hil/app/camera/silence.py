"""Where a camera gave no frames while the run went on: a mark in the record, and no fault."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

from hil.messages.schema import event_row
from hil.recording.camera_frames import RunFrame

EVENT = "camera silent"
# Of the time between two frames that was asked for; cameras lower their rate in the dark.
PERIODS = 5.0
LEAST_NS = 500_000_000


def silence(
    frames: Sequence[RunFrame], span_ns: tuple[int, int], rate_hz: float, problem: str = ""
) -> list[NDArray[Any]]:
    """The longest time without a frame, as an event, if it is too long or there was a problem.

    Args:
        frames: of the run, in order.
        span_ns: from when to when there should be frames, on the record's clock [ns].
        rate_hz: that was asked for.
        problem: what was noticed otherwise.
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
