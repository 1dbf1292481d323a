"""Checks of `hil verify`: are all sensor samples there, evenly spaced?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hil.analysis.recovery import holes
from hil.analysis.tick_checks import ranges
from hil.messages.check import Check
from hil.recording.reader import SampleSet

Rows = NDArray[np.void]

# A step between two sensor samples, or two blocks, may be off by this share of what it should be.
STEP_TOLERANCE = 0.01


def blocks_missing(blocks: Rows, taken_in: NDArray[np.int64], name: str) -> Check:
    """Blocks of samples count up by one, at least to the newest that a tick has taken in.

    Args:
        blocks: rows of blocks.
        taken_in: number of the newest block in each tick.
        name: of the channels, before the item; empty for the force sensors.
    """
    newest = int(taken_in.max(initial=0))
    numbers = blocks["sequence"]
    gaps = list(holes(np.append(numbers, newest + 1) if newest > numbers.max(initial=0) else numbers))
    doubled = int((np.diff(numbers) <= 0).sum())
    found = f"{len(blocks)} blocks"
    if gaps:
        found += f", missing: {ranges(gaps)}"
    if doubled:
        found += f", {doubled} out of order"
    return Check(
        f"{name}blocks missing", not gaps and not doubled, found, f"none, to {newest}, the newest that a tick took in"
    )


def block_length(record: SampleSet, samples: int, all_kept: bool, group: str, name: str) -> Check:
    """Every block has as many samples as configured, and where all are kept they are there, and no others."""
    blocks, kept = record.blocks, len(record.raw)
    wrong = blocks["samples"] != samples
    found = f"{len(blocks)} blocks of {samples}"
    if wrong.any():
        found = f"block {blocks['sequence'][wrong][0]} has {blocks['samples'][wrong][0]}; {wrong.sum()} such"
    elif all_kept and (wrong := ~whole_blocks(record)).any():
        found = f"/{group}/raw has other samples than those of block {blocks['sequence'][wrong][0]}; {wrong.sum()} such"
    elif all_kept and kept != len(blocks) * samples:
        wrong, found = np.ones(1, bool), f"/{group}/raw has {kept} samples, the blocks {len(blocks) * samples}"
    allowed = f"{samples} samples, {group}.rate_hz times {group}.block_ms"
    allowed += f", all in /{group}/raw" if all_kept else ""
    return Check(f"{name}block length", not wrong.any(), found, allowed)


def block_places(record: SampleSet) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where in `raw` each block begins and ends: up to where the next one begins."""
    starts = np.searchsorted(record.t_ns, record.blocks["t_ns"])
    return starts, np.append(starts, len(record.t_ns))[1:]


def whole_blocks(record: SampleSet) -> NDArray[np.bool_]:
    """Which of the blocks have all their samples in `raw`, none but theirs among them."""
    starts, ends = block_places(record)
    first_ns = np.append(record.t_ns, -1)[starts]
    whole: NDArray[np.bool_] = (ends - starts == record.blocks["samples"]) & (first_ns == record.blocks["t_ns"])
    return whole


def sample_times(record: SampleSet, rate_hz: int, samples: int, name: str) -> Check:
    """Samples and blocks of them are evenly spaced: the sample clock never steps. Missing blocks are no step of it."""
    block_ns, t_ns = record.blocks["t_ns"], record.t_ns
    follows = np.diff(record.blocks["sequence"]) == 1
    joined = np.ones(len(t_ns) + 1, bool)  # whether a sample follows the one before
    joined[np.searchsorted(t_ns, block_ns[1:][~follows])] = False
    steps = {
        "samples": (t_ns[:-1], np.diff(t_ns), 1e9 / rate_hz, joined[1:-1]),
        "blocks": (block_ns[:-1], np.diff(block_ns), 1e9 * samples / rate_hz, follows),
    }
    good, parts = True, []
    for what, (from_ns, step_ns, right_ns, counts) in steps.items():
        off = np.abs(step_ns[counts] / right_ns - 1.0)
        if off.size:
            good &= bool(off.max() <= STEP_TOLERANCE)
            parts.append(f"{what} at most {off.max():.2g} of a step off, after {from_ns[counts][off.argmax()]} ns")
    return Check(f"{name}sample times", good, "; ".join(parts) or "none", f"{STEP_TOLERANCE:g} of a step, {rate_hz} Hz")
