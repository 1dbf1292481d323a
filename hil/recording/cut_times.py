"""The stop-latency breakdown: how long each part of a cut took, from the sample to the last byte of the stop."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from hil.recording.content import OpenRecord


class CutTimes(msgspec.Struct, frozen=True):
    """The stop-latency breakdown of one cut, in times of the run [ns].

    Attributes:
        sample_ns: of the first sample over the threshold.
        block_ns: of the last sample in its block.
        arrived_ns: when the driver had received that block.
        tick_ns: deadline of the tick that read it.
        stopped_ns: when the last byte of the last controller's stop had been sent.
    """

    sample_ns: int
    block_ns: int
    arrived_ns: int
    tick_ns: int
    stopped_ns: int


def parts_ms(cuts: Sequence[CutTimes]) -> dict[str, NDArray[np.float64]]:
    """The parts of the duration of each cut, (cuts,) each [ms]."""
    rows = np.array([(c.sample_ns, c.block_ns, c.arrived_ns, c.tick_ns, c.stopped_ns) for c in cuts], float) * 1e-6
    names = ("block", "delivery", "tick", "wire")
    parts = {name: rows[:, i + 1] - rows[:, i] for i, name in enumerate(names)}
    return {"cut_latency": rows[:, 4] - rows[:, 0], **{f"cut_{name}": part for name, part in parts.items()}}


def cut_at_impact(record: OpenRecord, impact_ns: float) -> CutTimes | None:
    """The times of the cut at the impact of a run.

    Args:
        record: of the run.
        impact_ns: time of the first sample over the threshold [ns].

    Returns:
        The times; None: no impact was detected, no stop followed, or it is not known when its block arrived.
    """
    hit = record.tick["t_ns"][record.tick["impact"].astype(bool)]
    stopped = record.tick["drives_stopped_ns"][record.tick["drives_stopped_ns"] >= impact_ns]
    begun = np.flatnonzero(record.blocks["t_ns"] <= impact_ns)
    if not (hit.size and stopped.size and begun.size):
        return None
    block = record.blocks[begun[-1]]
    last = np.searchsorted(record.daq_t_ns, block["t_ns"]) + int(block["samples"]) - 1
    if block["arrived_ns"] < 0 or last >= record.daq_t_ns.size:
        return None
    ends_ns = int(record.daq_t_ns[last])
    return CutTimes(round(impact_ns), ends_ns, int(block["arrived_ns"]), int(hit[0]), int(stopped[0]))
