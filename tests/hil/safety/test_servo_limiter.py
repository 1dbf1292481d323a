"""Angles of driven joints: within range, rate and acceleration whatever is asked, and met without overshoot."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.messages import JointSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.fault import Alarm, Fault
from hil.messages.stages import SetPoints, Tick
from hil.safety.limiter import Limiter, ServoLimiter
from hil.safety.monitor import SafetyMonitor

CONFIG = load_config("sim_impact", ["servos={joints: {front_left_walking: {range_deg: [-30, 30]}}}"])
JOINT = CONFIG.driven_joints[0]
RATE, STEP, CHANGE = JOINT.rate_radps, JOINT.rate_radps * 1e-3, JOINT.acceleration_radps2 * 1e-6
HIGH = JOINT.high_rad


def at(angle_rad: float) -> JointSample:
    return JointSample(1, 1, (angle_rad,), 1)


class Through:
    """A limiter of one joint that stands at an angle when it is first powered."""

    def __init__(self, start_rad: float = 0.0) -> None:
        self.limiter, self.start = ServoLimiter([JOINT], 1000.0), start_rad

    def ask(self, *angles: float, periods: int = 1):
        return self.limiter.limited(periods, angles, at(self.start), cut=False)


asked = st.one_of(st.just(()), st.tuples(st.floats(-1.0, 1.0)), st.tuples(st.sampled_from([math.nan, math.inf, 1e300])))


@settings(deadline=None, max_examples=100)
@given(st.floats(-0.5, 0.5), st.lists(asked, min_size=1, max_size=60))
def test_range_and_rate_are_kept_whatever_is_asked(start, requests):
    through, last = Through(start), start
    for angles in requests:
        given_out = through.ask(*angles)
        assert not given_out.cut
        angle = given_out.angle_rad[0]
        assert abs(angle) <= HIGH + 1e-12
        assert abs(angle - last) <= STEP * (1.0 + 1e-5) + 1e-12
        assert given_out.finite == math.isfinite(sum(angles))
        last = angle


@pytest.mark.parametrize("target", [0.3, -0.002, 0.5])
def test_a_jump_is_approached_within_rate_and_acceleration_and_met_without_overshoot(target):
    through = Through()
    path = np.array([0.0, *(through.ask(target).angle_rad[0] for _ in range(2500))])
    speed = np.diff(path) / 1e-3
    assert np.abs(speed).max() <= RATE * (1.0 + 1e-6)
    assert np.abs(np.diff(speed, prepend=0.0)).max() <= CHANGE * 1e3 * (1.0 + 1e-3)
    assert path[-1] == target
    assert (np.sign(target) * path).max() <= abs(target) + 2e-5  # a thousandth of a degree
    # as fast as that allows: a trapezoid, or a triangle
    least_s = abs(target) / RATE + RATE / JOINT.acceleration_radps2
    if abs(target) < RATE**2 / JOINT.acceleration_radps2:
        least_s = 2.0 * math.sqrt(abs(target) / JOINT.acceleration_radps2)
    assert np.flatnonzero(path == target)[0] * 1e-3 == pytest.approx(least_s, abs=0.03)


def test_a_motion_that_the_joint_can_make_passes_to_the_last_bit():
    through = Through()
    wave = 0.05 * (1.0 - np.cos(4.0 * np.arange(2000) * 1e-3))
    out = [through.ask(float(angle)) for angle in wave]
    assert [one.angle_rad[0] for one in out] == wave.tolist()
    assert not any(one.clamped for one in out)


def test_a_ramp_that_begins_at_once_is_caught_up_with_and_is_not_out_of_limit():
    through = Through()
    ramp = 0.8 * RATE * 1e-3 * np.arange(1000)
    out = [through.ask(float(angle)) for angle in ramp]
    assert not any(one.clamped for one in out)
    assert [one.angle_rad[0] for one in out[900:]] == ramp[900:].tolist()


def test_angles_out_of_range_and_faster_than_the_rate_count_as_clamped():
    assert Through().ask(HIGH + 0.01).clamped
    through = Through()
    fast = [through.ask(1.1 * STEP * k).clamped for k in range(5)]
    assert fast == [False, True, True, True, True]  # what is asked first has no rate


def test_a_skipped_period_is_time_too():
    through = Through()
    assert not through.ask(0.0).clamped
    assert not through.ask(3.0 * 0.9 * STEP, periods=3).clamped


def test_a_joint_that_is_asked_nothing_more_comes_to_rest_within_its_acceleration_and_stays():
    through = Through()
    for k in range(400):
        through.ask(0.9 * STEP * k)
    path = [through.ask().angle_rad[0] for _ in range(400)]
    speed = np.diff(path) / 1e-3
    assert (np.diff(speed) <= 1e-9).all()
    assert path[-1] == path[-100]


def test_servos_are_cut_until_their_angles_are_known_and_then_hold_where_the_joint_is():
    limiter = ServoLimiter([JOINT], 1000.0)
    unknown = JointSample(0, 0, (math.nan,), -1)
    assert limiter.limited(1, (), unknown, cut=False).cut
    assert limiter.limited(1, (), at(0.2), cut=False) == ((0.2,), False, False, True)


def test_after_a_cut_a_joint_is_held_where_it_then_is():
    through = Through(0.1)
    through.ask()
    assert through.limiter.limited(1, (), at(0.1), cut=True).cut
    assert through.limiter.limited(1, (0.1,), at(0.25), cut=False).angle_rad[0] == pytest.approx(0.25, abs=STEP)


def whole() -> tuple[Limiter, SafetyMonitor]:
    rig = Rig(CONFIG)
    safety = SafetyMonitor(rig)
    return Limiter(rig, safety), safety


def points(*angles: float) -> SetPoints:
    return SetPoints(2, True, (), joint_angle_rad=angles)


def test_in_safe_the_servos_are_cut_with_the_drives():
    limiter, safety = whole()
    assert not limiter.check(Tick(1, 1_000_000, 0, 0), points(0.0), at(0.0)).servos_cut
    safety.report(Alarm(Fault.LINK_LOST, 0.0, 0.0, "test"), 2, 2_000_000)
    command = limiter.check(Tick(2, 2_000_000, 0, 0), points(0.0), at(0.0))
    assert (command.safe, command.cut, command.servos_cut) == (True, True, True)


def test_an_angle_that_is_no_number_latches_safe_at_once():
    limiter, safety = whole()
    limiter.check(Tick(1, 1_000_000, 0, 0), points(0.0), at(0.0))
    assert limiter.check(Tick(2, 2_000_000, 0, 0), points(math.nan), at(0.0)).servos_cut
    assert [event.alarm.fault for event in safety.events] == [Fault.COMMAND_OUT_OF_LIMIT]


def test_twenty_angles_out_of_limit_in_a_row_latch_safe():
    limiter, safety = whole()
    for number in range(1, 21):
        assert not safety.safe
        limiter.check(Tick(number, number * 1_000_000, 0, 0), points(HIGH + 0.1), at(0.0))
    assert safety.safe


def test_a_rig_without_servos_has_no_angles_and_nothing_that_is_cut_with_them():
    rig = Rig(load_config("sim_impact"))
    command = Limiter(rig, SafetyMonitor(rig)).check(Tick(1, 1_000_000, 0, 0), SetPoints(2, True, ()))
    assert (command.joint_angle_rad, command.servos_cut) == ((), False)
