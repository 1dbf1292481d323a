"""Quantiles of times that come block by block are those of numpy over all of them, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.experiments.summary import SHARES, TimeCounts


@given(st.lists(st.lists(st.integers(-5, 2000), max_size=40), min_size=1, max_size=8))
def test_quantiles_are_those_of_all_times_at_once(parts):
    counts = TimeCounts()
    for part in parts:
        counts.add(np.array(part, np.int64))
    everything = np.array([time for part in parts for time in part], np.int64)
    found = counts.quantiles_us()
    if not everything.size:
        assert found is None
        return
    wanted = np.quantile(everything, list(SHARES.values())) * 1e-3
    assert found == dict(zip(SHARES, wanted.tolist(), strict=True))


@pytest.mark.parametrize("blocks", [3, 30])
def test_a_long_run_takes_no_more_room_than_a_short_one(blocks):
    counts, times = TimeCounts(), np.random.default_rng(2).integers(20_000, 60_000, 5_000)
    for _ in range(blocks):
        counts.add(times)
    assert counts.times_ns.size == np.unique(times).size
    assert counts.counts.sum() == blocks * times.size
