"""Quantiles without storing the times."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.realtime.histogram import BIN_EDGES_NS, Histogram, bin_counts


@given(
    times=st.lists(st.one_of(st.integers(0, 200), st.integers(0, 10**6), st.integers(0, 2**40 - 1)), min_size=1),
    share=st.sampled_from([0.5, 0.99, 0.999, 1.0]),
)
def test_quantiles_are_right_to_a_part_in_sixty_four(times, share):
    histogram = Histogram()
    for time_ns in times:
        histogram.add(time_ns)
    exact = float(np.quantile(times, share, method="inverted_cdf"))
    assert histogram.quantile_ns(share) == pytest.approx(exact, rel=1 / 64)
    assert (histogram.count, histogram.longest_ns) == (len(times), max(times))


def test_times_beyond_the_last_bin_and_below_zero_are_counted():
    histogram = Histogram()
    histogram.add(-5)
    histogram.add(2**50)
    assert histogram.count == 2
    assert histogram.quantile_ns(0.5) == 0.0
    assert histogram.longest_ns == 2**50
    assert 2**39 < histogram.quantile_ns(1.0) <= 2**50


def test_summary_has_the_keys_of_a_trials_summary():
    histogram = Histogram()
    assert histogram.summary_us() is None
    with pytest.raises(ValueError, match="no time"):
        histogram.quantile_ns(0.5)
    for time_ns in range(1000, 101_000, 1000):
        histogram.add(time_ns)
    summary = histogram.summary_us()
    assert list(summary) == ["p50", "p99", "p99_9", "max"]
    assert list(summary.values()) == pytest.approx([50.0, 99.0, 100.0, 100.0], rel=1 / 64)


def test_times_counted_by_the_many_fall_into_the_same_bins_as_one_by_one():
    times = np.concatenate([[-3, 0, 1, 63, 64, 65, 2**40 - 1, 2**40, 2**50], 2 ** np.arange(40), 3 ** np.arange(25)])
    counts = np.zeros(len(BIN_EDGES_NS), np.uint32)
    bin_counts(times, counts)
    one_by_one = Histogram()
    for time_ns in times.tolist():
        one_by_one.add(time_ns)
    assert counts.tolist() == list(one_by_one._counts)
