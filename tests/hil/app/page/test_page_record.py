"""What the page shows of a record: its timing, the parts of its cut, and traces to lay over others."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from hil.analysis.film.moments import turned_rad
from hil.app.page.content import column, series
from hil.app.page.record import MOST_TICKS, timing_of, traces_of
from hil.config import load_config
from hil.messages.link_messages import TIMING
from hil.messages.signals import block_dtype, tick_dtype
from hil.realtime.histogram import Histogram
from hil.recording.sinks import CutTimes, cut_at_impact

from .records import LAYOUT, MS, record_of


@pytest.fixture
def cut_record():
    """Blocks of 2 ms at 10 kHz, received 0.5 ms after their end; impact at 500.3 ms, seen 503 ms, stopped 505 ms."""
    record = record_of(impact_ms=503)
    blocks = np.zeros(500, block_dtype(LAYOUT))
    blocks["sequence"] = np.arange(1, 501)
    blocks["t_ns"], blocks["samples"] = np.arange(500) * 2 * MS, 20
    blocks["arrived_ns"] = blocks["t_ns"] + 2 * MS + MS // 2
    record.tick["drives_stopped_ns"][:505] = -1
    record.tick["drives_stopped_ns"][505:] = 505 * MS
    return dataclasses.replace(record, blocks=blocks)


def test_the_cut_is_shown_part_by_part(cut_record):
    assert cut_at_impact(cut_record, 500.3 * MS) == CutTimes(
        sample_ns=round(500.3 * MS), block_ns=round(501.9 * MS), arrived_ns=round(502.5 * MS), tick_ns=503 * MS,
        stopped_ns=505 * MS,
    )  # fmt: skip
    cut_record = dataclasses.replace(cut_record, timing=np.ones(1, TIMING))
    parts = {part["name"]: part["ms"] for part in timing_of(cut_record, {"impact_time_s": 0.5003})["cut"]}
    assert parts == pytest.approx(
        {"cut_latency": 4.7, "cut_block": 1.6, "cut_delivery": 0.6, "cut_tick": 0.5, "cut_wire": 2.0}
    )


def test_a_cut_whose_times_are_not_known_has_no_parts(cut_record):
    without_blocks = dataclasses.replace(cut_record, blocks=cut_record.blocks[:0])
    assert cut_at_impact(without_blocks, 500.3 * MS) is None
    cut_record.blocks["arrived_ns"] = -1
    assert cut_at_impact(cut_record, 500.3 * MS) is None
    assert cut_at_impact(record_of(hit=False), 500.3 * MS) is None


def test_the_histogram_counts_every_tick_in_bins_of_equal_ratio():
    timing = np.zeros(1000, TIMING)
    timing["work_ns"] = [100_000] * 900 + [1_100_000] * 99 + [0]
    found = timing_of(dataclasses.replace(record_of(), timing=timing), {"loop": {"late": 3}})
    bins = zip(found["histogram"]["from_us"], found["histogram"]["ticks"], strict=True)
    assert {round(edge): count for edge, count in bins if count} == {1: 1, 100: 900, 1000: 99}
    assert (found["loop"], found["wake_histogram"], found["cut"]) == ({"late": 3}, None, None)


def test_the_histogram_of_the_wake_ups_is_that_of_the_loop_in_the_same_bins():
    wake = Histogram()
    for time_ns in [20_000] * 90 + [300_000] * 10:
        wake.add(time_ns)
    record = dataclasses.replace(record_of(), timing=np.ones(1, TIMING))
    found = timing_of(record, {"loop": {"wake_us": {"p50": 20.0, "histogram": wake.for_people()}}})["wake_histogram"]
    bins = zip(found["from_us"], found["ticks"], strict=True)
    assert {round(edge): count for edge, count in bins if count} == {18: 90, 237: 10}
    assert Histogram().for_people() is None


def test_traces_of_a_run_are_those_of_the_series_that_it_has():
    record = record_of()
    record.tick["speed_mps"] = np.linspace(0.0, 1.0, 1000)
    record.tick["slip"][:, 1] = np.nan
    found = traces_of(record, {}, ["speed_mps", "slip/front_right", "pressure_Pa/left_extend", "no_such/series"])
    assert list(found["columns"]) == ["speed_mps", "slip/front_right"]
    assert found["t_s"][-1] == pytest.approx(0.999)
    assert found["columns"]["speed_mps"][-1] == 1.0
    assert found["impact_s"] == pytest.approx(0.5)
    assert traces_of(record_of(hit=False), {}, [])["impact_s"] is None


def test_a_long_run_is_thinned_evenly():
    long = dataclasses.replace(record_of(), tick=np.zeros(4 * MOST_TICKS + 1, tick_dtype(LAYOUT)))
    assert MOST_TICKS / 2 < len(traces_of(long, {}, [])["t_s"]) <= MOST_TICKS


def test_every_series_is_found_in_a_record():
    rows = np.zeros(3, tick_dtype(LAYOUT))
    rows["slip"] = np.arange(18).reshape(3, 6)
    shown = series(LAYOUT, load_config("sim_impact").section)
    assert all(column(rows, one["name"], LAYOUT) is not None for one in shown)
    assert column(rows, "slip/front_right", LAYOUT).tolist() == [1.0, 7.0, 13.0]
    assert [column(rows, name, LAYOUT) for name in ("slip", "speed_mps/x", "", "slip/no_such_wheel")] == [None] * 4


def test_without_ticks_there_is_nothing_to_show():
    empty = dataclasses.replace(record_of(), tick=np.zeros(0, tick_dtype(LAYOUT)))
    for read in (timing_of, lambda *given: traces_of(*given, [])):
        with pytest.raises(LookupError, match="no tick"):
            read(empty, {})


@pytest.mark.slow
def test_the_process_says_in_a_sentence_why_there_is_nothing(tmp_path):
    command = [sys.executable, "-P", "-m", "hil.processes", "page_record", str(tmp_path), "impact"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "trial.h5" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_vehicle_without_wheels_is_replayed_with_none_that_turns():
    assert turned_rad(np.zeros(3, [("t_ns", "i8")])).shape == (3, 0)
