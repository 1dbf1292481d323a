"""The force sensors around an impact, from a record."""

from __future__ import annotations

import numpy as np
import pytest

from hil.app.page.record import AFTER_MS, BEFORE_MS, MOST_SAMPLES, impact_of

from .records import record_of


def test_the_sensors_are_shown_from_before_the_impact_at_full_rate():
    found = impact_of(record_of(), {"impact_time_s": 0.4995, "cut_latency_ms": 4.0})
    assert (found["t_ms"][0], found["t_ms"][-1]) == pytest.approx((-BEFORE_MS, AFTER_MS), abs=0.11)
    assert np.diff(found["t_ms"]) == pytest.approx(0.1)
    assert [(one["name"], set(one["V"])) for one in found["channels"]] == [
        ("top", {1.0}), ("lower_left", {2.0}), ("lower_right", {3.0}),
    ]  # fmt: skip
    assert (found["detected_ms"], found["cut_ms"], found["every"]) == (pytest.approx(0.5), 4.0, 1)


def test_without_a_summary_the_impact_is_where_it_was_detected():
    found = impact_of(record_of(), {})
    assert (found["detected_ms"], found["cut_ms"]) == (0.0, None)


def test_a_record_that_is_too_long_for_a_browser_is_thinned_evenly():
    found = impact_of(record_of(rate_hz=1_000_000), {})
    assert len(found["t_ms"]) <= MOST_SAMPLES
    assert found["every"] == 7


@pytest.mark.parametrize(("record", "why"), [(record_of(hit=False), "no impact"), (record_of(rate_hz=0), "no sensor")])
def test_without_an_impact_or_sensors_it_says_so(record, why):
    with pytest.raises(LookupError, match=why):
        impact_of(record, {})
