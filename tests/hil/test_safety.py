"""The latch: what trips it, what is told of it, and that nothing but a person clears it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from drivers.types import DaqBlock, DriveSample, ValveSample
from hil.config import load_config
from hil.safety import Event, Fault, Safety
from hil.values import STILL, Estimate, Prediction, Samples

CONFIG = load_config("sim_impact", ["limits.daq_age_ms=10"])
MS = 1_000_000
BLOCK = DaqBlock(1, np.zeros(1, np.int64), np.zeros((1, 3)), (False,) * 3)


class Watched:
    """A latch that watches one tick after the other."""

    def __init__(self) -> None:
        self.told: list[Event] = []
        self.safety = Safety(CONFIG, self.told.append)
        self.tick = 0

    def watch(self, age_ns: int = 0, finite: bool = True, twin: bool = True, block: bool = True) -> bool:
        self.tick += 1
        t_ns = self.tick * MS
        valves = ValveSample(0, t_ns, ((0.0, 0.0), (0.0, 0.0)), -1)
        samples = Samples(t_ns, (BLOCK,) if block else (), age_ns, 1, DriveSample(0, t_ns, STILL, -1), valves)
        nothing = (0.0,) * 3
        estimate = Estimate(True, nothing, nothing, finite, False, None, nothing, (math.nan, math.nan), STILL)
        self.safety.watch(self.tick, samples, estimate, Prediction(STILL, STILL, STILL, 0.0, 0.0, math.inf, twin))
        return self.safety.safe

    @property
    def faults(self) -> list[Fault]:
        return [event.fault for event in self.told]


def test_good_ticks_never_trip():
    watched = Watched()
    assert not any(watched.watch(age_ns=10 * MS) for _ in range(1000))
    assert watched.safety.faults == []


def test_a_latched_fault_never_clears_by_time():
    watched = Watched()
    watched.watch(twin=False)
    assert all(watched.watch() for _ in range(5000))
    assert watched.safety.faults == ["model not finite"]


def test_an_old_newest_sample_is_a_dropout_in_that_tick():
    watched = Watched()
    assert not watched.watch(age_ns=10 * MS)
    assert watched.watch(age_ns=10 * MS + 1)
    (event,) = watched.told
    assert (event.fault, event.tick, event.t_ns, event.limit) == (Fault.SENSOR_DROPOUT, 2, 2 * MS, 10.0)
    assert event.value == pytest.approx(10.0, abs=1e-3)
    assert "DAQ" in event.detail


def test_the_third_tick_in_a_row_with_bad_samples_trips():
    watched = Watched()
    assert [watched.watch(finite=False) for _ in range(3)] == [False, False, True]
    assert watched.faults == [Fault.SAMPLE_NOT_FINITE]


def test_two_ticks_with_bad_samples_and_a_good_one_are_forgiven():
    watched = Watched()
    for _ in range(50):
        assert not watched.watch(finite=False)
        assert not watched.watch(finite=False)
        assert not watched.watch()


@pytest.mark.parametrize("ticks_between", [1, 3, 9])
def test_ticks_without_a_block_do_not_forgive_bad_samples(ticks_between):
    """A block comes every other tick or less often: a sensor that only gives NaN must not hide behind the gaps."""
    watched, tripped = Watched(), []
    for _ in range(3):
        tripped.append(watched.watch(finite=False))
        for _ in range(ticks_between):
            watched.watch(block=False)
    assert tripped == [False, False, True]


def test_a_twin_that_is_not_finite_trips_in_that_tick():
    watched = Watched()
    assert watched.watch(twin=False)
    assert watched.faults == [Fault.MODEL_NOT_FINITE]


def test_each_kind_of_fault_is_noted_once_and_the_first_one_first():
    watched = Watched()
    for _ in range(10):
        watched.watch(twin=False)
    for _ in range(10):
        watched.watch(age_ns=50 * MS, finite=False, twin=False)
    assert watched.faults == [Fault.MODEL_NOT_FINITE, Fault.SENSOR_DROPOUT, Fault.SAMPLE_NOT_FINITE]
    assert watched.told == watched.safety.events
    assert [event.tick for event in watched.told] == [1, 11, 13]


def test_the_first_event_of_a_kind_is_the_one_that_is_kept():
    watched = Watched()
    for tick, detail in ((7, "first"), (8, "second")):
        watched.safety.trip(Fault.EXCEPTION, tick, tick * MS, 1.0, 2.0, detail)
    assert watched.told == [Event(Fault.EXCEPTION, 7, 7 * MS, 1.0, 2.0, "first")]


def test_the_latch_is_set_before_anyone_is_told():
    """Telling may fail; being Safe may not."""

    def refuse(event: Event) -> None:
        assert safety.safe
        raise OSError("no space left on device")

    safety = Safety(CONFIG, refuse)
    with pytest.raises(OSError, match="no space left"):
        safety.trip(Fault.STOP_BY_OPERATOR, 1, 0, math.nan, math.nan, "E-stop")
    assert safety.safe


def test_fault_numbers_are_those_of_the_fault_table():
    assert {fault.name: fault.value for fault in Fault} == {
        "SENSOR_DROPOUT": 1,
        "SAMPLE_NOT_FINITE": 3,
        "SAMPLES_LOST": 6,
        "MODEL_NOT_FINITE": 8,
        "COMMAND_OUT_OF_LIMIT": 9,
        "LOOP_LATE": 11,
        "PROCESS_LOST": 12,
        "LINK_LOST": 13,
        "FRAMES_DAMAGED": 14,
        "STOP_BY_OPERATOR": 18,
        "DISK_FULL": 22,
        "RECORD_RING_FULL": 24,
        "EXCEPTION": 27,
    }
