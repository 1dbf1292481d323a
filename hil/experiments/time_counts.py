"""Quantiles of times that are seen block by block: exact, and of a long run no larger than of a short one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SHARES = {"p50": 0.5, "p99": 0.99, "p99_9": 0.999, "max": 1.0}


class TimeCounts:
    """How often each time came: whole ns, of which many ticks have the same.

    Attributes:
        times_ns: (values,) those that came, rising [ns].
        counts: (values,) how often.
    """

    def __init__(self) -> None:
        self.times_ns: NDArray[np.int64] = np.zeros(0, np.int64)
        self.counts: NDArray[np.int64] = np.zeros(0, np.int64)

    def add(self, times_ns: NDArray[Any]) -> None:
        """Count times (n,) [ns]."""
        new, counts = np.unique(times_ns, return_counts=True)
        both, places = np.unique(np.concatenate([self.times_ns, new]), return_inverse=True)
        merged = np.zeros(both.size, np.int64)
        np.add.at(merged, places, np.concatenate([self.counts, counts]))
        self.times_ns, self.counts = both, merged

    def quantiles_us(self) -> dict[str, float] | None:
        """Quantiles of `SHARES` [us], to the bit those of numpy over all times; None: nothing was counted."""
        if not self.counts.size:
            return None
        last = np.cumsum(self.counts) - 1  # rank of the last of each time
        found = {}
        for name, share in SHARES.items():
            rank = share * int(last[-1])
            around = np.searchsorted(last, [int(rank), min(int(rank) + 1, int(last[-1]))])
            found[name] = float(np.quantile(self.times_ns[around], rank - int(rank))) * 1e-3
        return found
