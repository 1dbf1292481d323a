"""What the outer loop sets: limits by slip, a correction that waits for readings, duties, and a loop for each wheel."""

from __future__ import annotations

import math

import pytest

from hil.config import load_config
from hil.config.rig import Rig
from hil.control.following import SpeedFollower
from hil.messages.stages import Estimate, Goal, ObserverOutput, Prediction

NAN4 = (math.nan,) * 4
RADIUS_M = load_config("sim_follow").wheel_radius_m


def following(*overrides):
    return SpeedFollower(Rig(load_config("sim_follow", overrides)))


def predicted(speed_mps, source=1):
    observed = ObserverOutput(0.001, NAN4, NAN4, NAN4, (0.0,) * 6, (), (0.0, 0.0, -1.0), 0.0, 0.0, (1.0,), (source,))
    return Prediction(NAN4, NAN4, NAN4, speed_mps, 0.0, math.inf, True, observed=observed)


def estimated(rim_mps):
    rims = (rim_mps,) * 4 if isinstance(rim_mps, float) else rim_mps
    speeds = tuple(rim / RADIUS_M for rim in rims)
    return Estimate(True, (), (), True, False, None, (), (0.0, 0.0), speeds)


def rims(controller, wanted_mps, speed_mps, ticks, source=1, rim_mps=0.0):
    for _ in range(ticks):
        found = controller.control(Goal(2, False, wanted_mps), None, estimated(rim_mps), predicted(speed_mps, source))
    return tuple(speed * RADIUS_M for speed in found.speed_radps)


def test_a_rover_that_does_not_move_gets_no_faster_wheels_than_the_largest_slip_allows():
    assert rims(following("follow.most_slip=0.75"), 0.05, 0.0, 60_000) == pytest.approx((0.2,) * 4)


@pytest.mark.parametrize("source", [0, 3, 4])
def test_without_readings_the_correction_stays_as_it_was(source):
    controller = following()
    before = rims(controller, 0.05, 0.04, 2000)
    assert before[0] > 0.06
    assert rims(controller, 0.05, 0.0, 2000, source) == pytest.approx(before, rel=1e-3)


def test_one_rejected_reading_leaves_the_speed_measured():
    controller = following()
    before = rims(controller, 0.05, 0.04, 2000)
    assert rims(controller, 0.05, 0.04, 2000, 2)[0] > before[0] + 0.01


def test_a_slip_is_held_by_the_rims_speed_that_the_measured_speed_asks_for():
    controller, rim = following("follow.quantity=slip", "follow.slip=0.5"), 0.06
    for _ in range(20_000):  # held at 0.04 m/s, whatever the wheels do
        rim = rims(controller, 0.04, 0.04, 1, rim_mps=rim)[0]
    assert 1.0 - 0.04 / rim == pytest.approx(0.5, abs=1e-4)


def test_a_wheel_speed_is_set_as_it_is_wanted_where_the_drives_close_the_loop():
    assert rims(following("follow.quantity=wheel_speed"), 0.05, 0.0, 1) == pytest.approx((0.05,) * 4)


def test_by_duty_each_wheel_has_its_own_loop_and_no_duty_is_a_cut():
    controller = following("follow.quantity=wheel_speed", "follow.full_duty_mps=0.2")
    measured = (0.05, 0.04, 0.05, 0.06)
    for _ in range(500):
        found = controller.control(Goal(2, False, 0.05), None, estimated(measured), predicted(0.0))
    assert found.duty[0] == found.duty[2] == pytest.approx(0.25)
    assert found.duty[1] > 0.25 > found.duty[3]
    start = following("follow.full_duty_mps=0.2").control(Goal(2, False, 0.0), None, estimated(0.0), predicted(0.0))
    assert min(start.duty) > 0.0


def test_after_a_cut_it_starts_from_rest():
    controller = following()
    rims(controller, 0.05, 0.0, 2000)
    cut = controller.control(Goal(2, True), None, estimated(0.0), predicted(0.0))
    assert cut.cut
    assert rims(controller, 0.0, 0.0, 1) == (0.0,) * 4
