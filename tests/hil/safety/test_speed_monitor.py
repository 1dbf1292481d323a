"""A wheel that does not turn although it is commanded to is found; one that is late, slow or still held is not."""

import math

import pytest

from drivers.messages import DriveSample
from hil.config import load_config
from hil.messages.fault import LEAST_SET_RADPS, NOT_FOLLOWING_NS, STANDS_SHARE
from hil.messages.stages import Command
from hil.safety.device_monitors import SpeedMonitor

MS = 1_000_000
SET = 0.179
FULL_RAD = 0.02  # as of the drives of the RCP: gathered in less than NOT_FOLLOWING_NS


@pytest.fixture
def monitor():
    return monitor_of(FULL_RAD)


def monitor_of(full_torque_rad):
    return SpeedMonitor(("left", "right"), full_torque_rad)


def command(*speeds, cut=False, duty=()):
    return Command(0, False, cut, speeds, (), 0, duty=duty)


def answers(monitor, right, until_ns, asked=None):
    """What is found in answers each 10 ms of a left wheel that follows, and a right one with these speeds."""
    found = []
    for t_ns in range(0, until_ns + 1, 10 * MS):
        monitor.record_command(asked or command(SET, SET))
        if one := monitor.check(DriveSample(t_ns, t_ns, (SET, right(t_ns)), -1)):
            found.append((t_ns, one))
    return found


def test_a_wheel_that_stands_though_driven_is_found_after_half_a_second(monitor):
    (t_ns, (_, value, limit, detail, *_)), *_ = answers(monitor, lambda _: 0.003, 1_000_000_000)
    assert t_ns == NOT_FOLLOWING_NS
    assert (value, limit) == (0.003, pytest.approx(STANDS_SHARE * SET))
    assert detail == "wheel right: 0.003 rad/s for 0.50 s, set: 0.179 rad/s"


def test_one_that_turns_the_other_way_is_found_too(monitor):
    asked = command(SET, -SET)
    assert answers(monitor, lambda _: 0.1, NOT_FOLLOWING_NS, asked)
    assert not answers(monitor_of(FULL_RAD), lambda _: -0.1, NOT_FOLLOWING_NS, asked)


@pytest.mark.parametrize(("share", "found"), [(STANDS_SHARE - 0.01, True), (STANDS_SHARE + 0.01, False)])
def test_the_share_from_which_a_wheel_turns(monitor, share, found):
    assert bool(answers(monitor, lambda _: share * SET, 2 * NOT_FOLLOWING_NS)) is found


@pytest.mark.parametrize(("speed", "found"), [(LEAST_SET_RADPS, True), (LEAST_SET_RADPS - 0.001, False)])
def test_the_speed_from_which_a_wheel_is_judged(monitor, speed, found):
    assert bool(answers(monitor, lambda _: 0.0, 2 * NOT_FOLLOWING_NS, command(SET, speed))) is found


def test_a_wheel_that_is_late_by_less_is_not_found(monitor):
    assert not answers(monitor, lambda t_ns: 0.0 if t_ns % (NOT_FOLLOWING_NS - MS) else SET, NOT_FOLLOWING_NS - 10 * MS)


@pytest.mark.parametrize("asked", [command(0.0, 0.0, cut=True), command(SET, SET, duty=(0.2, 0.2))])
def test_drives_that_are_cut_or_driven_by_duty_are_not_judged(monitor, asked):
    assert not answers(monitor, lambda _: 0.0, 2 * NOT_FOLLOWING_NS, asked)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_wheel_is_judged_when_its_loop_asks_for_full_torque_and_not_before(sign):
    """Gear friction, or a load, holds a wheel until the loop has gathered enough: a wheel that then turns is right."""
    full_rad = 0.8 * SET  # gathered within 0.8 s
    asked = command(SET, sign * SET)
    (t_ns, _), *_ = answers(monitor_of(full_rad), lambda _: 0.0, 1_000_000_000, asked)
    assert t_ns in (800 * MS, 810 * MS)  # by the rounding of a sum
    assert not answers(monitor_of(full_rad), lambda t_ns: sign * SET * (t_ns > 780 * MS), 2_000_000_000, asked)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_loop_that_has_gathered_the_other_way_gets_the_time_to_give_it_back(sign):
    monitor = monitor_of(0.4 * SET)
    assert answers(monitor, lambda _: 0.0, NOT_FOLLOWING_NS, command(SET, sign * SET))  # at full torque, and blocked
    monitor.record_command(command(SET, -sign * SET))
    found = []
    for t_ns in range(NOT_FOLLOWING_NS + 10 * MS, 2 * NOT_FOLLOWING_NS + 400 * MS, 10 * MS):
        if monitor.check(DriveSample(t_ns, t_ns, (SET, 0.0), -1)):
            found.append(t_ns - NOT_FOLLOWING_NS)
    assert found[0] in (800 * MS, 810 * MS)  # by the rounding of a sum


def test_what_a_loop_had_gathered_is_forgotten_in_a_cut():
    full_rad = 0.8 * SET
    monitor = monitor_of(full_rad)
    assert not answers(monitor, lambda _: 0.0, 700 * MS)
    monitor.record_command(command(0.0, 0.0, cut=True))
    assert not answers(monitor, lambda _: 0.0, 700 * MS)


def test_a_wheel_that_stood_before_a_cut_gets_its_time_again_after_it(monitor):
    assert not answers(monitor, lambda _: 0.0, NOT_FOLLOWING_NS - 10 * MS)
    monitor.record_command(command(0.0, 0.0, cut=True))
    monitor.record_command(command(SET, SET))
    for t_ns in range(NOT_FOLLOWING_NS, 2 * NOT_FOLLOWING_NS, 10 * MS):
        assert monitor.check(DriveSample(t_ns, t_ns, (SET, 0.0), -1)) is None
    assert monitor.check(DriveSample(1, 2 * NOT_FOLLOWING_NS, (SET, 0.0), -1)) is not None


def test_a_speed_that_is_not_a_number_is_another_fault_and_hides_no_wheel(monitor):
    found = answers(monitor, lambda t_ns: math.nan if t_ns < 100 * MS else 0.0, 1_000_000_000)
    assert found


@pytest.mark.parametrize("name", ["sim_impact", "sim_juno"])
def test_the_error_that_a_loop_gathers_is_that_of_the_rig_s_drives(name):
    drives = load_config(name).drives
    assert drives.full_torque_rad * drives.integral_gain == pytest.approx(drives.largest_torque_Nm)
    assert drives.model_copy(update={"integral_gain": 0.0}).full_torque_rad == 0.0
