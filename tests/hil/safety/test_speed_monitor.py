"""A wheel that does not turn although it is commanded to is found; one that is only late or slow is not."""

import pytest

from drivers.messages import DriveSample
from hil.messages.fault_bounds import LEAST_SET_RADPS, NOT_FOLLOWING_NS, STANDS_SHARE
from hil.messages.stages import Command
from hil.safety.speed_monitor import SpeedMonitor

MS = 1_000_000
SET = 0.179


@pytest.fixture
def monitor():
    return SpeedMonitor(("left", "right"))


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
    (t_ns, (value, limit, detail)), *_ = answers(monitor, lambda _: 0.003, 1_000_000_000)
    assert t_ns == NOT_FOLLOWING_NS
    assert (value, limit) == (0.003, pytest.approx(STANDS_SHARE * SET))
    assert detail == "wheel right: 0.003 rad/s for 0.50 s, set: 0.179 rad/s"


def test_one_that_turns_the_other_way_is_found_too(monitor):
    asked = command(SET, -SET)
    assert answers(monitor, lambda _: 0.1, NOT_FOLLOWING_NS, asked)
    assert not answers(SpeedMonitor(("left", "right")), lambda _: -0.1, NOT_FOLLOWING_NS, asked)


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
