"""Records that a test writes."""

from __future__ import annotations

import numpy as np

from hil.messages.layout import SENSORS, Layout
from hil.messages.link_messages import EVENT, TIMING
from hil.messages.signals import block_dtype, tick_dtype
from hil.recording import TrialRecord
from models.rover.assembly import WHEELS

LAYOUT = Layout(WHEELS, (), SENSORS["triangle"])
MS = 1_000_000


def record_of(impact_ms=500.0, rate_hz=10_000, hit=True):
    """A second of three sensors, each of which shows its number."""
    tick = np.zeros(1000, tick_dtype(LAYOUT))
    tick["t_ns"] = np.arange(1000) * 1_000_000
    if hit:
        tick["impact"][round(impact_ms) :] = 1
    t_ns = (np.arange(rate_hz) * 1e9 / rate_hz).astype(np.int64)
    raw = np.tile([1.0, 2.0, 3.0], (rate_hz, 1))
    blocks = np.zeros(0, block_dtype(LAYOUT))
    return TrialRecord(tick, np.zeros(0, EVENT), np.zeros(0, TIMING), blocks, raw, t_ns, {"layout": LAYOUT.to_json()})
