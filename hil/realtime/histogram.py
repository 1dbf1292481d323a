"""Times in bins of equal ratio, counted without allocating."""

from __future__ import annotations

from array import array

# Each doubling is cut into this many bins (a power of two): a quantile is right to 1 part in 2 * 32.
_BINS = 32
_SHIFT = _BINS.bit_length()
# Up to 2**40 ns, 18 minutes; longer times count in the last bin.
_LONGEST = 2**40 - 1
_SIZE = ((40 - _SHIFT) * _BINS) + 2 * _BINS


def _bin(value: int) -> int:
    if value < 2 * _BINS:
        return value
    doublings = value.bit_length() - _SHIFT
    return doublings * _BINS + (value >> doublings)


def _middle(index: int) -> float:
    """Middle of a bin [ns]."""
    doublings = max(index // _BINS - 1, 0)
    low = (index - doublings * _BINS) << doublings
    return low + 0.5 * ((1 << doublings) - 1)


class Histogram:
    """Counts times [ns]; quantiles are right to 1.6 %, the longest exactly."""

    def __init__(self) -> None:
        self._counts = array("Q", bytes(8 * _SIZE))
        self.count = 0
        self.longest_ns = 0

    def add(self, time_ns: int) -> None:
        """Count one time; a negative one counts as 0."""
        self._counts[_bin(min(max(time_ns, 0), _LONGEST))] += 1
        self.count += 1
        self.longest_ns = max(self.longest_ns, time_ns)

    def quantile_ns(self, share: float) -> float:
        """The time that `share` of all times do not exceed [ns].

        Raises:
            ValueError: nothing has been counted.
        """
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
