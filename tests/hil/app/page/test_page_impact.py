"""The force sensors around an impact, from a record."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from hil.app.page.impact import AFTER_MS, BEFORE_MS, MOST_SAMPLES, impact_of
from hil.messages.layout import TRIANGLE, WHEELS, Layout
from hil.messages.schema import EVENT, TIMING, block_dtype, tick_dtype
from hil.recording import TrialRecord

LAYOUT = Layout(WHEELS, (), TRIANGLE)


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


def test_the_process_says_in_a_sentence_why_there_is_nothing(tmp_path):
    command = [sys.executable, "-P", "-m", "hil.app.page.impact", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "trial.h5" in done.stderr
    assert "Traceback" not in done.stderr
