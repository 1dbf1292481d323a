"""The latch: which values latch it, how it is reported, and that only a person clears it."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from drivers.messages import DaqBlock, DriveSample, JointSample, ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.fault import Alarm, Event, Fault
from hil.messages.stages import Command, Estimate, Prediction, Samples
from hil.safety.monitor import SafetyMonitor

ZERO_SPEEDS = (0.0,) * 6  # the speeds of six wheels
CONFIG = load_config("sim_impact", ["limits.daq_age_ms=10"])
MS = 1_000_000
BLOCK = DaqBlock(1, np.zeros(1, np.int64), np.zeros((1, 3)), (False,) * 3)


class Watched:
    """A latch that checks one tick after the other."""

    def __init__(self, config=CONFIG) -> None:
        self.reported: list[Event] = []
        self.safety = SafetyMonitor(Rig(config), self.reported.append)
        self.tick = 0

    def watch(
        self, age_ns: int = 0, finite: bool = True, twin: bool = True, block: bool = True, drives_ns: int = 0,
        valves_ns: int = 0, gap: int = 0, still=(1, 1, 1), saturated: bool = False, overload: bool = False,
        pressures=((0.0, 0.0), (0.0, 0.0)), speeds=ZERO_SPEEDS, servos_ns: int = 0,
    ) -> bool:  # fmt: skip
        self.tick += 1
        t_ns = self.tick * MS
        valves, drives = ValveSample(0, t_ns - valves_ns, pressures, -1), DriveSample(0, t_ns - drives_ns, speeds, -1)
        blocks = (msgspec.structs.replace(BLOCK, overload=(False, overload, False)),) if block else ()
        servos = JointSample(0, t_ns - servos_ns, (0.0,), -1)
        samples = Samples(t_ns, blocks, age_ns, 1, drives, valves, gap, servos=servos)
        nothing, unplaced = (0.0,) * 3, (math.nan, math.nan)
        estimate = Estimate(True, nothing, nothing, finite, saturated, None, nothing, unplaced, ZERO_SPEEDS, still)
        self.safety.check(
            self.tick, samples, estimate, Prediction(ZERO_SPEEDS, ZERO_SPEEDS, ZERO_SPEEDS, 0.0, 0.0, math.inf, twin)
        )
        return self.safety.safe

    @property
    def faults(self) -> list[Fault]:
        return [event.alarm.fault for event in self.reported]


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
    (event,) = watched.reported
    assert (event.alarm.fault, event.tick, event.t_ns, event.alarm.limit) == (Fault.SENSOR_DROPOUT, 2, 2 * MS, 10.0)
    assert event.alarm.value == pytest.approx(10.0, abs=1e-3)
    assert "DAQ" in event.alarm.detail


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
    """A block comes every other tick or less often: a sensor that sends only NaN must be detected despite the gaps."""
    watched, tripped = Watched(), []
    for _ in range(3):
        tripped.append(watched.watch(finite=False))
        for _ in range(ticks_between):
            watched.watch(block=False)
    assert tripped == [False, False, True]


@pytest.mark.parametrize("wheel", range(6))
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_the_third_answer_of_the_drives_in_a_row_that_is_not_finite_trips(wheel, bad):
    watched, speeds = Watched(), list(ZERO_SPEEDS)
    speeds[wheel] = bad
    assert [watched.watch(speeds=tuple(speeds)) for _ in range(3)] == [False, False, True]
    assert watched.faults == [Fault.SAMPLE_NOT_FINITE]
    assert watched.reported[0].alarm.detail == "drives: wheel speeds that are not finite in 3 answers in a row"


def test_an_answer_of_the_drives_counts_once_and_a_good_one_forgives():
    watched, bad = Watched(), (math.nan,) * 6
    for _ in range(20):
        assert not watched.watch(speeds=bad)
        assert not watched.watch(speeds=bad, drives_ns=MS)  # the same answer, a tick later
        assert not watched.watch(speeds=bad)
        assert not watched.watch()


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
    assert watched.reported == watched.safety.events
    assert [event.tick for event in watched.reported] == [1, 11, 13]


def test_the_first_event_of_a_kind_is_the_one_that_is_kept():
    watched = Watched()
    for tick, detail in ((7, "first"), (8, "second")):
        watched.safety.report(Alarm(Fault.EXCEPTION, 1.0, 2.0, detail), tick, tick * MS)
    assert watched.reported == [Event(Alarm(Fault.EXCEPTION, 1.0, 2.0, "first"), 7, 7 * MS)]


def test_the_latch_is_set_before_anyone_is_told():
    """The report may fail; Safe must be latched in any case."""

    def refuse(event: Event) -> None:
        assert safety.safe
        raise OSError("no space left on device")

    safety = SafetyMonitor(Rig(CONFIG), refuse)
    with pytest.raises(OSError, match="no space left"):
        safety.report(Alarm(Fault.STOP_BY_OPERATOR, math.nan, math.nan, "E-stop"), 1, 0)
    assert safety.safe


def test_fault_numbers_are_those_of_the_fault_table():
    assert {fault.name: fault.value for fault in Fault} == {
        "SENSOR_DROPOUT": 1, "SENSOR_STALE": 2, "SAMPLE_NOT_FINITE": 3, "ADC_SATURATED": 4, "SAMPLES_LOST": 6,
        "SEQUENCE_GAP": 7, "MODEL_NOT_FINITE": 8, "COMMAND_OUT_OF_LIMIT": 9, "LOOP_LATE": 11, "PROCESS_LOST": 12,
        "LINK_LOST": 13, "FRAMES_DAMAGED": 14, "VALVE_STUCK": 17, "STOP_BY_OPERATOR": 18, "CONSOLE_LOST": 19,
        "COMMAND_REFUSED": 20, "DISK_FULL": 22, "RECORD_RING_FULL": 24, "EXCEPTION": 27, "MEASURED_OUT_OF_LIMIT": 30,
        "MEASURED_NEAR_LIMIT": 31, "OUTSIDE_MODEL": 32, "MEASURED_MOTION": 33, "IMPLAUSIBLE_VALUE": 34,
        "JOINT_NOT_FOLLOWING": 35, "JOINT_OUT_OF_RANGE": 36, "COMPUTER_SUSPENDED": 37, "SPEED_NOT_FOLLOWING": 38,
        "NOT_LIVE": 40, "DEVICE_FAULT": 41, "DEAD_MAN_ACTED": 43,
    }  # fmt: skip


@pytest.mark.parametrize(("device", "allowed_ms"), [("drives", 200), ("valves", 1000), ("servos", 200)])
def test_an_old_newest_sample_of_what_takes_commands_is_stale_in_that_tick(device, allowed_ms):
    watched = Watched(load_config("sim_impact", ["servos={joints: {front_left_walking: {}}}"]))
    assert not watched.watch(**{f"{device}_ns": allowed_ms * MS})
    assert watched.watch(**{f"{device}_ns": allowed_ms * MS + 1})
    (event,) = watched.reported
    assert (event.alarm.fault, event.tick, event.alarm.limit) == (Fault.SENSOR_STALE, 2, allowed_ms)
    assert f"{device}: newest sample is {allowed_ms} ms old (limits.{device}_age_ms)" in event.alarm.detail


@pytest.mark.parametrize("channel", range(3))
def test_a_channel_that_has_not_changed_for_so_many_samples_is_frozen(channel):
    def still(count):
        return tuple(count if i == channel else 1 for i in range(3))

    watched = Watched(load_config("sim_impact", ["limits.frozen_samples=500"]))
    assert not watched.watch(still=still(499))
    assert watched.watch(still=still(500))
    (event,) = watched.reported
    assert (event.alarm.fault, event.alarm.value, event.alarm.limit) == (Fault.SENSOR_STALE, 500, 500)
    assert ("top", "lower_left", "lower_right")[channel] in event.alarm.detail


@pytest.mark.parametrize(
    ("settings", "watched"),
    [
        (["daq.channels.1.noise_V=0"], False),  # a simulated sensor without noise is constant without a fault
        (["daq.channels.1.noise_V=7e-5"], False),  # and so is one with less noise than its converter can resolve
        (["daq.channels.1.noise_V=7.62939453125e-5"], True),  # half a step of 16 bits over 10 V, to the last digit
        (["daq.channels.1.noise_V=7e-5", "daq.bits=24"], True),
        (["limits.frozen_samples=0"], False),
    ],
)
def test_only_a_channel_with_noise_that_shows_is_watched_for_freezing(settings, watched):
    watcher = Watched(load_config("sim_impact", settings))
    assert watcher.watch(still=(1, 10**6, 1)) is watched


def test_a_real_channel_is_watched_whatever_noise_the_simulated_one_has():
    assert Watched(load_config("mars_dome", ["daq.channels.0.noise_V=0"])).watch(still=(3000, 1, 1))


def test_three_missing_blocks_in_a_row_are_forgiven_and_four_are_not():
    watched = Watched()
    assert not any(watched.watch(gap=3) for _ in range(10))
    assert watched.watch(gap=4)
    assert [(event.alarm.fault, event.alarm.value, event.alarm.limit) for event in watched.reported] == [
        (Fault.SEQUENCE_GAP, 4, 3)
    ]


@pytest.mark.parametrize("how", ["saturated", "overload"])
def test_a_saturated_channel_is_noted_once_and_the_trial_goes_on(how):
    watched = Watched()
    assert not any(watched.watch(**{how: True}) for _ in range(10))
    assert [(event.alarm.fault, event.tick) for event in watched.reported] == [(Fault.ADC_SATURATED, 1)]
    assert watched.safety.warnings == watched.reported
    assert watched.safety.faults == []


REGISTERS = "{left_extend: 0, left_retract: 1, right_extend: 2, right_retract: 3, kPa_per_count: 0.1}"
MEASURED = (
    f"devices.valves.pressure_registers={REGISTERS}",
    "devices.valves.moves_within_s=0.05",
    "devices.valves.baud=19200",
)
SUPPLY_Pa = 207e3


def valve_reported(watched: Watched, on: bool, pressures, ticks: int, valve: int = 2) -> list[bool]:
    """Whether Safe is latched, tick by tick, with one valve commanded and the chambers at these pressures."""
    a, b, c, d = (on and i == valve for i in range(4))
    found = []
    for _ in range(ticks):
        found.append(watched.watch(pressures=pressures))
        command = Command(2, False, True, ZERO_SPEEDS, ((a, b), (c, d)), 0)
        watched.safety.record_command(watched.tick * MS, command)
    return found


FULL = ((0.0, 0.0), (SUPPLY_Pa, 0.0))
EMPTY = ((0.0, 0.0), (0.0, 0.0))


def test_a_valve_that_moves_in_time_trips_nothing():
    watched = Watched(load_config("sim_wire", MEASURED))
    for on, pressures in ((True, FULL), (False, EMPTY)) * 3:
        assert not any(valve_reported(watched, on, EMPTY if on else FULL, 100))
        assert not any(valve_reported(watched, on, pressures, 200))


@pytest.mark.parametrize(("on", "stays", "words"), [(True, EMPTY, "on for"), (False, FULL, "off for")])
def test_a_valve_that_has_not_moved_after_twice_its_time_is_stuck(on, stays, words):
    watched = Watched(load_config("sim_wire", MEASURED))
    if not on:
        assert not any(valve_reported(watched, True, FULL, 300))
    found = valve_reported(watched, on, stays, 120)
    assert found.index(True) == 101  # commanded in the first tick, and more than 100 ms later
    (event,) = watched.reported
    assert (event.alarm.fault, event.alarm.limit) == (Fault.VALVE_STUCK, SUPPLY_Pa / 2)
    assert f"right_extend is {words}" in event.alarm.detail


def test_a_reading_from_before_the_valves_time_was_over_says_nothing():
    watched = Watched(load_config("sim_wire", MEASURED))
    watched.tick = 1000
    watched.safety.record_command(1000 * MS, Command(2, False, True, ZERO_SPEEDS, ((True, False), (False, False)), 0))
    assert not any(watched.watch(valves_ns=(i + 1) * MS) for i in range(500))


@pytest.mark.parametrize("settings", [(MEASURED[0], MEASURED[2]), (*MEASURED, "cylinders.supply_kPa=0")])
def test_valves_are_not_watched_without_a_time_or_a_supply(settings):
    watched = Watched(load_config("sim_wire", settings))
    assert not any(valve_reported(watched, True, ((math.nan,) * 2,) * 2, 500))


def test_a_chamber_whose_pressure_is_no_number_has_not_moved():
    watched = Watched(load_config("sim_wire", MEASURED))
    assert any(valve_reported(watched, True, ((0.0, 0.0), (math.nan, 0.0)), 200))
