"""How the loop kept time in a run, from its record: a histogram of its work, and the parts of its cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hil.recording import TrialRecord
from hil.recording.cut_times import cut_at_impact, parts_ms

# Bins of a histogram for each tenfold of time.
BINS_PER_DECADE = 8


def timing_of(record: TrialRecord, summary: Mapping[str, Any]) -> dict[str, Any]:
    """The timing of a run.

    Args:
        record: of the run.
        summary: of the run; may be empty.

    Returns:
        loop: as in summary.json, null without one. histogram: lower edges [us], and the ticks whose work took so long.
        cut: the parts of the cut at the impact [ms]; null: not known.

    Raises:
        LookupError: no tick was recorded.
    """
    if not record.timing.size:
        raise LookupError("no tick was recorded")
    impact_s = summary.get("impact_time_s")
    cut = None if impact_s is None else cut_at_impact(record, impact_s * 1e9)
    return {
        "loop": summary.get("loop"),
        "histogram": _histogram(record.timing["work_ns"] * 1e-3),
        "cut": cut and [{"name": name, "ms": float(ms[0])} for name, ms in parts_ms([cut]).items()],
    }


def _histogram(times_us: np.ndarray[tuple[int], np.dtype[np.float64]]) -> dict[str, Any]:
    places = np.floor(np.log10(times_us.clip(1.0)) * BINS_PER_DECADE).astype(int)
    first, counts = places.min(), np.bincount(places - places.min())
    edges_us = 10.0 ** ((first + np.arange(counts.size)) / BINS_PER_DECADE)
    return {"from_us": edges_us.tolist(), "ticks": counts.tolist()}
