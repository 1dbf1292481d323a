"""Times in bins of equal ratio, counted without allocating."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Each doubling has this many bins (a power of two): a quantile is accurate to 1 part in 2 * 32.
_BINS = 32
_SHIFT = _BINS.bit_length()
# Up to 2**40 ns, 18 minutes; longer times count in the last bin.
_MAX_NS = 2**40 - 1
_SIZE = ((40 - _SHIFT) * _BINS) + 2 * _BINS


def _bin(value: int) -> int:
    if value < 2 * _BINS:
        return value
    doublings = value.bit_length() - _SHIFT
    return doublings * _BINS + (value >> doublings)


def _low(index: int) -> int:
    """Lower edge of a bin [ns]."""
    doublings = max(index // _BINS - 1, 0)
    return (index - doublings * _BINS) << doublings


def _middle(index: int) -> float:
    """Middle of a bin [ns]."""
    return _low(index) + 0.5 * ((1 << max(index // _BINS - 1, 0)) - 1)


# Bins of a histogram for people, for each tenfold of time.
BINS_PER_DECADE = 8


def for_people(times_us: NDArray[np.float64], ticks: NDArray[Any]) -> dict[str, list[float]]:
    """A histogram that can be drawn.

    Args:
        times_us: (n,) [us]; those under 1 us count as that.
        ticks: (n,) how many took each of them.

    Returns:
        from_us: lower edges of the bins (bins,) [us], none left out between the first and the last; ticks: (bins,).
    """
    places = np.floor(np.log10(times_us.clip(1.0)) * BINS_PER_DECADE).astype(int)
    first = places.min()
    counts = np.bincount(places - first, weights=ticks).astype(int)
    edges_us = 10.0 ** ((first + np.arange(counts.size)) / BINS_PER_DECADE)
    return {"from_us": edges_us.tolist(), "ticks": counts.tolist()}


# Lower edge of each bin [ns].
BIN_EDGES_NS = np.array([_low(index) for index in range(_SIZE)], "<i8")


def bin_counts(times_ns: NDArray[np.int64], counts: NDArray[Any]) -> None:
    """Count times (n,) [ns] into `counts` (bins,), one a bin of `BIN_EDGES_NS`; a negative one counts as 0."""
    places = np.searchsorted(BIN_EDGES_NS, times_ns.clip(0), side="right") - 1
    np.add.at(counts, places, 1)


class Histogram:
    """Counts times [ns]; quantiles are accurate to 1.6 %, the longest is exact."""

    def __init__(self) -> None:
        self._counts = array("Q", bytes(8 * _SIZE))
        self.count = 0
        self.longest_ns = 0

    def add(self, time_ns: int) -> None:
        """Count one time; a negative one counts as 0."""
        self._counts[_bin(min(max(time_ns, 0), _MAX_NS))] += 1
        self.count += 1
        self.longest_ns = max(self.longest_ns, time_ns)

    def quantile_ns(self, share: float) -> float:
        """The time that `share` of all times do not exceed [ns]. Raises ValueError: nothing has been counted."""
        if not self.count:
            raise ValueError("histogram: no time has been counted")
        rank = max(share * self.count, 1.0)
        index, seen = 0, self._counts[0]
        while seen < rank:
            index += 1
            seen += self._counts[index]
        return min(_middle(index), float(self.longest_ns))

    def summary_us(self) -> dict[str, float] | None:
        """Quantiles [us] as a trial's summary has them, or None if nothing has been counted."""
        if not self.count:
            return None
        p50, p99, p99_9 = (self.quantile_ns(share) * 1e-3 for share in (0.5, 0.99, 0.999))
        return {"p50": p50, "p99": p99, "p99_9": p99_9, "max": self.longest_ns * 1e-3}

    def for_people(self) -> dict[str, list[float]] | None:
        """All of it (`for_people`), or None if nothing has been counted."""
        if not self.count:
            return None
        counts = np.array(self._counts)
        used = np.flatnonzero(counts)
        return for_people(np.array([_middle(index) * 1e-3 for index in used.tolist()]), counts[used])
