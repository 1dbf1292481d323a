"""The loop's use of shared memory: record sink, ground truth, and the check for other processes."""

import math

import numpy as np
import pytest

from drivers.messages import DaqBlock
from hil.config import load_config
from hil.ipc.run_memory import EVENTS, RECORDER, RunMemory
from hil.ipc.shared_types import GROUND_TRUTH, START
from hil.messages.fault import Fault
from hil.messages.link_messages import TIMING, event_row
from hil.messages.signals import tick_dtype
from hil.recording.sinks import FULL, RecordBufferFull, RingSink
from hil.simulator.ground_truth import GroundTruth, packed, truth_answer

TICK = tick_dtype(load_config("sim_impact").layout)


def test_rows_reach_the_recorder_in_order(shared):
    record_sink = RingSink(shared)
    tick, timing = np.zeros(1, TICK), np.zeros(1, TIMING)
    for i in (1, 2, 3):
        tick["tick"] = timing["tick"] = i
        record_sink.tick(tick)
        record_sink.timing(timing)
        record_sink.event(event_row(0, f"event {i}", i, i))
    for ring in (shared.ticks, shared.timings, shared.events):
        assert ring.reader(RECORDER).read(10)["tick"].tolist() == [1, 2, 3]


def test_a_block_is_not_handed_over_twice(shared):
    n = shared.config.daq.block_samples
    RingSink(shared).block(DaqBlock(1, np.zeros(n, np.int64), np.zeros((n, 3)), (False,) * 3))
    assert shared.blocks.written == 0


@pytest.mark.parametrize("name", ["ticks", "blocks"])
def test_a_recorder_that_falls_behind_is_told_long_before_a_row_is_refused(shared, name):
    ring = getattr(shared, name)
    record_sink, rows = RingSink(shared), np.zeros(1, ring.dtype)
    for _ in range(int(FULL * ring.capacity)):
        ring.append(rows)
        assert record_sink.alarm() is None
    ring.append(rows)
    alarm = record_sink.alarm()
    assert alarm.fault is Fault.RECORD_RING_FULL
    assert alarm.value == alarm.limit + 1
    assert f"{name} not yet in the file" in alarm.detail
    assert ring.append(rows)
    recorder = ring.reader(RECORDER)
    recorder.read(10**6)
    assert record_sink.alarm() is None  # of now: the safety latch keeps earlier faults


def test_a_row_without_room_is_an_error_and_never_dropped(shared):
    record_sink, row = RingSink(shared), event_row(0, "event", 1, 1)
    for _ in range(EVENTS):
        record_sink.event(row)
    with pytest.raises(RecordBufferFull, match="record ring events is full"):
        record_sink.event(row)


def test_truth_before_the_first_word_of_the_far_end(shared):
    ground_truth = GroundTruth.received(truth_answer(shared.ground_truth, {}))
    assert (ground_truth.hit_ns, ground_truth.cut_ns, ground_truth.hit_speed) == (None, None, 0.0)
    assert math.isnan(ground_truth.contact_force_peak)


def test_truth_is_what_the_far_end_said_last(shared):
    row = np.zeros(1, GROUND_TRUTH)
    for peak in (1.0, 2.0):
        row["content"], row["ticks"] = packed(GroundTruth(peak, hit_ns=7), 0), 9
        row["cost_us"] = [1, 2, 3, 4]
        shared.ground_truth.write(row)
    ground_truth = GroundTruth.received(truth_answer(shared.ground_truth, {}))
    assert (ground_truth.contact_force_peak, ground_truth.hit_ns, ground_truth.cut_ns) == (2.0, 7, None)
    assert ground_truth.plant_loop["ticks"] == 9
    assert ground_truth.plant_loop["cost_us"] == {"p50": 1.0, "p99": 2.0, "p99_9": 3.0, "max": 4.0}


def test_a_worker_opens_what_the_loop_made(shared):
    again = RunMemory(shared.run)
    assert (again.config, again.meta) == (shared.config, {"version": "1"})
    assert again.blocks.dtype == shared.blocks.dtype


def test_a_run_has_no_start_until_it_begins_though_the_run_before_had_one(shared, tmp_path):
    start = np.zeros(1, START)
    start["start_ns"] = 7_000_000_000
    shared.start.write(start)
    (tmp_path / "next").mkdir()
    shared.move(tmp_path / "next", {"version": "1"})
    shared.start.read(start)
    assert (start["start_ns"][0], start["over"][0]) == (0, 1)


def test_a_run_is_alone_only_when_every_other_process_of_it_is_gone(shared):
    other = RunMemory(shared.run)
    assert not shared.alone()
    other.leave()  # as the kernel does when a process ends
    assert shared.alone()
