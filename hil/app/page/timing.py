"""How the loop kept time in a run: histograms of its work and its wake-ups, and the parts of its cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hil.realtime.histogram import for_people
from hil.recording import OpenRecord
from hil.recording.cut_times import cut_at_impact, parts_ms


def timing_of(record: OpenRecord, summary: Mapping[str, Any]) -> dict[str, Any]:
    """The timing of a run.

    Args:
        record: of the run.
        summary: of the run; may be empty.

    Returns:
        loop: as in summary.json, null without one. histogram: lower edges [us], and the ticks whose work took so long.
        wake_histogram: the same of the time from a tick's deadline to its beginning; null: not known.
        cut: the parts of the cut at the impact [ms]; null: not known.

    Raises:
        LookupError: no tick was recorded.
    """
    if not record.timing.size:
        raise LookupError("no tick was recorded")
    impact_s = summary.get("impact_time_s")
    cut = None if impact_s is None else cut_at_impact(record, impact_s * 1e9)
    work_us, loop = record.timing["work_ns"] * 1e-3, summary.get("loop")
    return {
        "loop": loop,
        "histogram": for_people(work_us, np.ones(work_us.size)),
        "wake_histogram": ((loop or {}).get("wake_us") or {}).get("histogram"),
        "cut": cut and [{"name": name, "ms": float(ms[0])} for name, ms in parts_ms([cut]).items()],
    }
