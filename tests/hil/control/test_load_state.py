"""From when on the load controller doubts (hil.control.load_state): at each limit not yet, just beyond it."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from hil.control.load_state import Doubts, DoubtSettings, SmoothedLoads, doubt_names
from hil.messages.stages import Prediction

FOLLOW_PA, DISAGREE_N, TICKS = 10e3, 50.0, 20
WANTED_PA = 100e3
LOADS_N = (200.0,) * 6


class Watch:
    """Doubts about one cylinder's two chambers and six wheels, tick by tick."""

    def __init__(self, *, sensors=False) -> None:
        self.doubts = Doubts(DoubtSettings(FOLLOW_PA, DISAGREE_N, TICKS), sensors=sensors)

    def tick(self, pressure_Pa=WANTED_PA, measured_N=LOADS_N, predicted_N=LOADS_N, finite=True):
        valves = SimpleNamespace(pressure_Pa=((pressure_Pa, 0.0),))
        prediction = Prediction(predicted_N, (0.0,) * 6, (0.0,) * 6, 0.0, 0.0, math.inf, finite)
        found = self.doubts.found(
            SimpleNamespace(valves=valves), SimpleNamespace(wheel_load_N=measured_N), prediction, (WANTED_PA, 0.0)
        )
        return doubt_names(found)


def first(ticks):
    """Number of ticks until the first with a doubt; None: none has one."""
    return next((number for number, found in enumerate(ticks, start=1) if found), None)


@pytest.mark.parametrize("way", [1.0, -1.0], ids=["too high", "too low"])
def test_a_chamber_may_be_off_by_its_limit_and_is_doubted_after_its_ticks_just_beyond(way):
    watch = Watch()
    assert first(watch.tick(WANTED_PA + way * FOLLOW_PA) for _ in range(10 * TICKS)) is None
    assert first(watch.tick(WANTED_PA + way * (FOLLOW_PA + 1.0)) for _ in range(10 * TICKS)) == TICKS + 1


@pytest.mark.parametrize("way", [1.0, -1.0], ids=["falling", "rising"])
def test_a_chamber_that_comes_nearer_by_more_than_a_fifth_of_the_limit_in_its_ticks_is_not_doubted(way):
    for nearer_Pa, doubted in ((0.99 * 0.2 * FOLLOW_PA, True), (1.01 * 0.2 * FOLLOW_PA, False)):
        watch, at_Pa = Watch(), WANTED_PA + way * 80e3
        found = []
        for tick in range(10 * TICKS):
            if tick and tick % TICKS == 0:
                at_Pa -= way * nearer_Pa
            found.append(watch.tick(at_Pa))
        assert (first(found) is not None) == doubted


def test_a_chamber_that_goes_the_wrong_way_is_doubted():
    for way in (1.0, -1.0):
        watch = Watch()
        assert first(watch.tick(WANTED_PA + way * (20e3 + 1e3 * tick)) for tick in range(10 * TICKS)) is not None


@pytest.mark.parametrize("way", [1.0, -1.0], ids=["above", "below"])
@pytest.mark.parametrize("wheel", [0, 5])
def test_a_leg_sensor_may_differ_from_the_twin_by_its_limit_and_is_doubted_after_its_ticks_just_beyond(way, wheel):
    def loads(off_N):
        return tuple(200.0 + way * off_N * (number == wheel) for number in range(6))

    watch = Watch(sensors=True)
    assert first(watch.tick(measured_N=loads(DISAGREE_N)) for _ in range(10 * TICKS)) is None
    found = [watch.tick(measured_N=loads(DISAGREE_N + 0.001)) for _ in range(10 * TICKS)]
    assert first(found) == TICKS + 1
    assert found[-1] == ("load_disagrees",)
    watch = Watch(sensors=True)
    for _ in range(3):  # a good tick between begins the count anew
        assert first(watch.tick(measured_N=loads(DISAGREE_N + 0.001)) for _ in range(TICKS)) is None
        assert watch.tick() == ()
    assert first(Watch().tick(measured_N=loads(1e6)) for _ in range(10 * TICKS)) is None


def test_what_is_not_known_is_doubted_in_its_tick():
    nan_N = (200.0,) * 5 + (math.nan,)
    assert Watch().tick(math.nan) == ("pressure_unknown",)
    assert Watch().tick(finite=False) == ("load_unknown",)
    assert Watch().tick(predicted_N=nan_N) == ("load_unknown",)
    assert Watch(sensors=True).tick(measured_N=nan_N) == ("load_unknown",)
    assert Watch(sensors=True).tick(measured_N=()) == ("load_unknown",)
    assert Watch(sensors=True).tick(finite=False) == ("load_unknown",)
    assert Watch(sensors=True).tick() == Watch().tick() == ()


def test_a_filter_takes_its_share_of_what_is_new_and_the_first_value_whole():
    smoothed = SmoothedLoads(0.25)
    smoothed.add((4.0, -8.0))
    assert smoothed.values == (4.0, -8.0)
    smoothed.add((8.0, 0.0))
    assert smoothed.values == (5.0, -6.0)
    smoothed.forget()
    smoothed.add((1.0, 1.0))
    assert smoothed.values == (1.0, 1.0)
