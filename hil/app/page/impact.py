"""The force sensors around the impact of a run, from its record."""

from __future__ import annotations

from typing import Any

import numpy as np

from hil.messages.layout import Layout
from hil.recording import OpenRecord
from hil.recording.stored_rows import between

# Around the impact [ms].
BEFORE_MS, AFTER_MS = 20.0, 100.0
# Samples of a channel sent at most; more are left out evenly.
MOST_SAMPLES = 20_000


def impact_of(record: OpenRecord, summary: dict[str, Any]) -> dict[str, Any]:
    """The force sensors around the impact, at full rate.

    Args:
        record: of the run.
        summary: of the run; may be empty.

    Returns:
        t_ms: (samples,) from the impact [ms]; channels: name and readings [V]; detected_ms and cut_ms: of the tick that
        has the impact, and of the cut; null: not known. every: of so many samples one is there.

    Raises:
        LookupError: there was no impact, or no sensor was recorded around it.
    """
    impact_s = summary.get("impact_time_s")
    hit = record.tick["t_ns"][record.tick["impact"].astype(bool)]
    if impact_s is None and not hit.size:
        raise LookupError("there was no impact")
    zero_ns = float(hit[0]) if impact_s is None else impact_s * 1e9
    about = between(record.daq_t_ns, zero_ns - 2e6 * BEFORE_MS, zero_ns + 2e6 * AFTER_MS)
    t_ms, volts = (record.daq_t_ns[about] - zero_ns) * 1e-6, record.raw[about]
    near = np.flatnonzero((t_ms >= -BEFORE_MS) & (t_ms <= AFTER_MS))
    if not near.size:
        raise LookupError("no sensor was recorded around the impact")
    every = -(-near.size // MOST_SAMPLES)
    near = near[::every]
    names = Layout.from_json(str(record.meta["layout"])).channels
    return {
        "t_ms": t_ms[near].tolist(),
        "channels": [{"name": name, "V": volts[near, index].tolist()} for index, name in enumerate(names)],
        "detected_ms": float(hit[0] - zero_ns) * 1e-6 if hit.size else None,
        "cut_ms": summary.get("cut_latency_ms"),
        "every": int(every),
    }
