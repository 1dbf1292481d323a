"""Which samples of a record are those of which block."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.recording.content import SampleSet
from hil.recording.stored_rows import in_blocks

# Blocks that are looked at together.
_TOGETHER = 16384


class _PlacedBlocks(NamedTuple):
    """Some blocks and their samples.

    Attributes:
        heads: rows of blocks.
        t_ns: times of the samples from the first block's on, to where the blocks after these begin [ns].
        first: place of the first of these in the record.
        starts: (blocks,) where each block begins in them.
        ends: (blocks,) where it ends: where the next one begins.
        whole: (blocks,) which have all their samples there, none but theirs among them.
    """

    heads: NDArray[np.void]
    t_ns: NDArray[np.int64]
    first: int
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    whole: NDArray[np.bool_]


def placed_blocks(record: SampleSet) -> Iterator[_PlacedBlocks]:
    """All blocks of a record in order, some at a time."""
    some = (
        rows[first : first + _TOGETHER] for rows in in_blocks(record.blocks) for first in range(0, len(rows), _TOGETHER)
    )
    for heads, following in pairwise(chain(some, [None])):
        assert heads is not None
        first = bisect_left(record.t_ns, heads["t_ns"][0])
        end = len(record.t_ns) if following is None else bisect_left(record.t_ns, following["t_ns"][0])
        t_ns: NDArray[np.int64] = record.t_ns[first:end]
        starts = np.searchsorted(t_ns, heads["t_ns"])
        ends = np.append(starts, len(t_ns))[1:]
        whole = (ends - starts == heads["samples"]) & (np.append(t_ns, -1)[starts] == heads["t_ns"])
        yield _PlacedBlocks(heads, t_ns, first, starts, ends, whole)
