"""Limits of samples, most of them of load channels, in a tick and before arming: just beyond is caught, and named."""

from __future__ import annotations

import math

import numpy as np
import pytest

from drivers.messages import DaqBlock, DriveSample, ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.fault import Fault
from hil.messages.stages import Estimate, LoadState, Prediction, Samples
from hil.safety.arming import load_checks
from hil.safety.monitor import SafetyMonitor

CONFIG = load_config("sim_drawbar", ["loads.leg_sensors={}"])
CHANNELS = len(CONFIG.layout.loads)
MS = 1_000_000
AGE_NS = round(CONFIG.limits.loads_age_ms * MS)
FROZEN = CONFIG.limits.loads_frozen_samples
ZERO = (0.0,) * 6
BLOCK = DaqBlock(1, np.zeros(1, np.int64), np.zeros((1, CHANNELS)), (False,) * CHANNELS)


class Ticks:
    """A monitor whose load channels are given tick by tick."""

    def __init__(self, config=CONFIG) -> None:
        self.safety, self.tick = SafetyMonitor(Rig(config)), 0

    def faults(
        self, *, age_ns=0, gap=0, still=(1,) * CHANNELS, finite=True, saturated=False, blocks=(BLOCK,), drives_ns=0,
        valves_ns=0,
    ):  # fmt: skip
        """The faults that are latched or noted after a tick."""
        self.tick += 1
        t_ns, unplaced = self.tick * MS, (math.nan, math.nan)
        drives, valves = (
            DriveSample(0, t_ns - drives_ns, ZERO, 0),
            ValveSample(0, t_ns - valves_ns, ((0.0, 0.0),) * 3, 0),
        )
        samples = Samples(
            t_ns, (), 0, 0, drives, valves, load_blocks=blocks, load_age_ns=age_ns, load_sequence=1, load_gap=gap
        )
        state = LoadState(finite, saturated, still)
        estimate = Estimate(True, (), (), True, False, None, (), unplaced, ZERO, loads=state)
        self.safety.check(self.tick, samples, estimate, Prediction(ZERO, ZERO, ZERO, 0.0, 0.0, math.inf, True))
        return [event.alarm.fault for event in (*self.safety.events, *self.safety.warnings)]


def test_a_load_sample_is_a_dropout_once_it_is_older_than_its_limit():
    ticks = Ticks()
    assert ticks.faults(age_ns=AGE_NS) == []
    assert ticks.faults(age_ns=AGE_NS + 1) == [Fault.SENSOR_DROPOUT]


def test_three_missing_blocks_of_the_load_channels_are_forgiven_and_four_are_not():
    ticks = Ticks()
    assert ticks.faults(gap=3) == []
    assert ticks.faults(gap=4) == [Fault.SEQUENCE_GAP]


@pytest.mark.parametrize("channel", range(CHANNELS))
def test_each_load_channel_is_frozen_from_the_limits_number_of_equal_samples_on(channel):
    def still(count):
        return tuple(count if i == channel else 1 for i in range(CHANNELS))

    ticks = Ticks()
    assert ticks.faults(still=still(FROZEN - 1)) == []
    assert ticks.faults(still=still(FROZEN)) == [Fault.SENSOR_STALE]


@pytest.mark.parametrize("quiet", ["leg_sensors", "load_cell"])
def test_a_load_channel_is_watched_for_freezing_by_its_own_noise(quiet):
    config = load_config("sim_drawbar", ["loads.leg_sensors={}", f"loads.{quiet}.noise_V=0"])
    legs = range(CHANNELS - 1)
    for channel in range(CHANNELS):
        frozen = tuple(10**6 if i == channel else 1 for i in range(CHANNELS))
        watched = (channel in legs) == (quiet == "load_cell")
        assert bool(Ticks(config).faults(still=frozen)) == watched


def test_the_third_tick_in_a_row_with_load_samples_that_are_not_finite_is_a_fault():
    ticks = Ticks()
    assert [ticks.faults(finite=False) for _ in range(3)] == [[], [], [Fault.SAMPLE_NOT_FINITE]]


def test_a_load_channel_at_the_end_of_its_range_is_noted():
    assert Ticks().faults(saturated=True) == [Fault.ADC_SATURATED]


def test_a_tick_without_a_load_block_is_not_judged_by_the_last_one():
    assert Ticks().faults(blocks=(), gap=9, saturated=True) == []


def test_of_two_channels_that_stand_still_the_one_that_is_frozen_is_named():
    ticks = Ticks()
    assert ticks.faults(still=(FROZEN - 1, *(1,) * (CHANNELS - 2), FROZEN)) == [Fault.SENSOR_STALE]
    assert ticks.safety.events[0].alarm.detail.startswith(f"load channels: {CONFIG.layout.loads[-1]} has not changed")


@pytest.mark.parametrize(("old", "other"), [("drives", "valves"), ("valves", "drives")])
def test_of_two_devices_the_one_whose_sample_is_too_old_is_named(old, other):
    allowed_ns = {name: round(getattr(CONFIG.limits, f"{name}_age_ms") * MS) for name in ("drives", "valves")}
    ticks = Ticks()
    assert ticks.faults(**{f"{old}_ns": allowed_ns[old] + 1, f"{other}_ns": allowed_ns[other]}) == [Fault.SENSOR_STALE]
    assert ticks.safety.events[0].alarm.detail.startswith(f"{old}: newest sample")


STANDING_N = 1000.0
SHARE = CONFIG.limits.loads_weight


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_wheel_loads_that_do_not_add_up_to_the_weight_are_refused_on_either_side(way):
    def sum_ok(error):
        loads, unplaced = ((1.0 + way * error) * STANDING_N / 6,) * 6, (math.nan, math.nan)
        estimate = Estimate(
            True, (), (), True, False, None, (), unplaced, ZERO, wheel_load_N=loads, loads=LoadState(True, False, ())
        )
        return refused_loads(estimate, 0) == []

    assert sum_ok(0.99 * SHARE)
    assert not sum_ok(1.01 * SHARE)
    assert not sum_ok(math.nan)


def test_load_samples_older_than_their_limit_are_refused_before_arming():
    unplaced = (math.nan, math.nan)
    estimate = Estimate(True, (), (), True, False, None, (), unplaced, ZERO, loads=LoadState(True, False, ()))
    assert refused_loads(estimate, AGE_NS) == []
    assert refused_loads(estimate, AGE_NS + 1) == ["load sample age"]


def refused_loads(estimate, age_ns):
    drives, valves = DriveSample(0, 0, ZERO, 0), ValveSample(0, 0, ((0.0, 0.0),) * 3, 0)
    samples = Samples(0, (), 0, 0, drives, valves, load_age_ns=age_ns)
    return [check.item for check in load_checks(CONFIG.limits, samples, estimate, STANDING_N) if not check.ok]
