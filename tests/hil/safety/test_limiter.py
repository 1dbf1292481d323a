"""The limiter passes no command outside the limits: properties over arbitrary floats."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.fault import CLAMPS_ALLOWED, Alarm, Fault
from hil.messages.stages import Command, SetPoints, Tick
from hil.safety.limiter import Limiter
from hil.safety.monitor import SafetyMonitor

VALVES_OFF = ((False, False), (False, False))

ZERO_SPEEDS = (0.0,) * 6  # the speeds of six wheels

CONFIG = load_config("sim_impact", ["loop.rate_hz=1000"])
LIMIT, STEP = 1.0, 0.005  # rad/s, and 5 rad/s^2 in a millisecond
ON = ((True, False), (False, True))

anything = st.floats(allow_nan=True, allow_infinity=True)
near = st.floats(-2.0, 2.0)
six = st.tuples(*[st.one_of(anything, near, st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -0.0, 5e-324]))] * 6)
requests = st.lists(st.builds(SetPoints, st.integers(0, 6), st.booleans(), six, st.just(ON)), min_size=1, max_size=40)


class Through:
    """A limiter that gets set-points tick by tick."""

    def __init__(self) -> None:
        self.safety = SafetyMonitor(Rig(CONFIG))
        self.limiter = Limiter(Rig(CONFIG), self.safety)
        self.tick = 0

    def ask(self, speeds, cut: bool = False) -> Command:
        return self.check(SetPoints(2, cut, tuple(speeds), ON))

    def check(self, request: SetPoints, skipped: int = 0) -> Command:
        self.tick += 1 + skipped
        return self.limiter.check(Tick(self.tick, self.tick * 1_000_000, 0, 0), request)


def steps_of(stop: float, start: float = 0.0, step: float = 0.9 * STEP):
    return [start + step * (i + 1) for i in range(round((stop - start) / step))]


@settings(deadline=None, max_examples=300)
@given(requests)
def test_nothing_beyond_the_limits_and_nothing_that_is_no_number_gets_out(asked):
    through = Through()
    commands = [Command(0, False, True, ZERO_SPEEDS, VALVES_OFF, 0), *map(through.check, asked)]
    for before, now in pairwise(commands):
        assert len(now.speed_radps) == 6
        assert all(math.isfinite(speed) and abs(speed) <= LIMIT for speed in now.speed_radps)
        if not now.cut:
            changes = [abs(b - a) for a, b in zip(before.speed_radps, now.speed_radps, strict=True)]
            assert max(changes) <= STEP * (1.0 + 1e-9)


@settings(deadline=None, max_examples=300)
@given(requests)
def test_a_cut_gives_zero_speeds_and_safe_gives_a_cut_with_valves_off(asked):
    through = Through()
    for request in asked:
        command = through.check(request)
        assert command.safe == through.safety.safe
        assert command.cut == (command.safe or request.cut)
        assert command.speed_radps == ZERO_SPEEDS or not command.cut
        assert command.valves == (VALVES_OFF if command.safe else ON)
        assert command.state == request.state


@settings(deadline=None)
@given(six.filter(lambda speeds: any(map(math.isnan, speeds))))
def test_a_request_that_is_not_a_number_is_safe_in_the_same_tick(speeds):
    through = Through()
    command = through.ask(speeds)
    assert (command.safe, command.cut, command.speed_radps, command.valves) == (True, True, ZERO_SPEEDS, VALVES_OFF)
    assert [event.alarm.fault for event in through.safety.events] == [Fault.COMMAND_OUT_OF_LIMIT]


@settings(deadline=None)
@given(st.lists(st.floats(-STEP, STEP), min_size=1, max_size=60))
def test_requests_within_the_limits_pass_unchanged(changes):
    through, speed = Through(), 0.0
    for change in changes:
        speed += 0.999 * change
        command = through.ask((speed,) * 6)
        assert (command.speed_radps, command.cut, command.clamped) == ((speed,) * 6, False, 0)


def test_each_wheel_has_its_own_limits():
    assert Through().ask((1.0, -1.0, 0.002, 0.0, 0.005, math.inf)).speed_radps == pytest.approx(
        (STEP, -STEP, 0.002, 0.0, STEP, STEP)
    )


@pytest.mark.parametrize("way", [1.0, -1.0], ids=["forwards", "backwards"])
def test_a_steady_climb_ends_at_the_speed_limit(way):
    through = Through()
    for speed in (*steps_of(LIMIT), LIMIT):
        assert through.ask((way * speed,) * 6).speed_radps == (way * speed,) * 6
    assert through.limiter.clamped == 0
    assert through.ask((way * 1.001,) * 6).speed_radps == (way * LIMIT,) * 6
    assert through.limiter.clamped == 1


def test_a_ramp_within_the_limit_passes_unchanged_over_skipped_periods():
    through = Through()
    for skipped in (0, 5, 0, 9, 1):
        asked = SetPoints(2, False, (0.9 * STEP * (through.tick + 1 + skipped),) * 6, ON)
        assert through.check(asked, skipped).speed_radps == asked.speed_radps
    assert through.limiter.clamped == 0


def test_skipped_periods_allow_no_more_change_than_their_time():
    through = Through()
    through.ask(ZERO_SPEEDS)
    assert through.check(SetPoints(2, False, (1.0,) * 6, ON), skipped=3).speed_radps == (4 * STEP,) * 6
    assert through.ask((1.0,) * 6).speed_radps == pytest.approx((5 * STEP,) * 6)


def test_after_a_cut_the_rate_limit_starts_from_standstill():
    through = Through()
    for speed in steps_of(0.4):
        through.ask((speed,) * 6)
    assert through.ask((0.4,) * 6, cut=True).speed_radps == ZERO_SPEEDS
    assert through.ask((0.4,) * 6).speed_radps == pytest.approx((STEP,) * 6)


def clamp_in_a_row(through: Through, times: int) -> list[Command]:
    return [through.ask((0.9,) * 6) for _ in range(times)]


class ByDuty(Through):
    """The same of a rig that is driven by duty."""

    def __init__(self) -> None:
        super().__init__()
        config = load_config("sim_drawbar")
        self.safety = SafetyMonitor(Rig(config))
        self.limiter = Limiter(Rig(config), self.safety)

    def drive(self, *duty: float, cut: bool = False) -> Command:
        return self.check(SetPoints(2, cut, ZERO_SPEEDS, duty=duty))


def test_a_duty_passes_within_the_whole_supply_and_is_zero_while_cut():
    through = ByDuty()
    assert through.drive(0.5, -0.5, 1.5, -7.0, -1.0, 1.0).duty == (0.5, -0.5, 1.0, -1.0, -1.0, 1.0)
    assert through.drive(*(0.5,) * 6, cut=True).duty == ZERO_SPEEDS


def test_a_regulator_is_set_from_nothing_to_the_whole_supply_and_a_pressure_that_is_no_number_closes_it():
    through = ByDuty()
    asked = SetPoints(2, False, ZERO_SPEEDS, regulators_Pa=(-1.0, 0.5, 1.0))
    assert through.check(asked).regulators_Pa == (0.0, 0.5, 1.0)
    most_Pa = 1e3 * load_config("sim_drawbar").cylinders.supply_kPa
    for asked_Pa in ((0.99 * most_Pa, most_Pa, 1.01 * most_Pa), (math.inf, -math.inf, math.nan)):
        got = through.check(SetPoints(2, False, ZERO_SPEEDS, regulators_Pa=asked_Pa)).regulators_Pa
        assert got == ((0.99 * most_Pa, most_Pa, most_Pa) if asked_Pa[0] < math.inf else (0.0, 0.0, 0.0))
    through.safety.report(Alarm(Fault.STOP_BY_OPERATOR, math.nan, math.nan, "E-stop"), 1, 0)
    assert through.check(asked).regulators_Pa == (0.0, 0.0, 0.0)


def test_no_duty_means_that_the_speeds_hold():
    command = ByDuty().drive()
    assert (command.cut, command.duty, command.speed_radps) == (False, (), ZERO_SPEEDS)


@pytest.mark.parametrize("share", [math.nan, math.inf])
def test_a_duty_that_is_no_number_is_safe_in_its_own_tick(share):
    through = ByDuty()
    command = through.drive(0.5, share, 0.5, 0.5, 0.5, 0.5)
    assert (command.safe, command.cut, command.duty) == (True, True, ZERO_SPEEDS)
    assert [event.alarm.fault for event in through.safety.events] == [Fault.COMMAND_OUT_OF_LIMIT]


def test_19_clamped_commands_in_a_row_are_forgiven():
    assert CLAMPS_ALLOWED == 19
    through = Through()
    for _ in range(3):
        commands = clamp_in_a_row(through, 19)
        assert not any(command.safe for command in commands)
        through.ask(commands[-1].speed_radps)  # a command within the limits resets the count
    assert not through.safety.events


def test_the_20th_clamped_command_in_a_row_is_safe_in_its_own_tick():
    through = Through()
    *forgiven, last = clamp_in_a_row(through, 20)
    assert not any(command.safe for command in forgiven)
    assert (last.safe, last.cut, last.speed_radps) == (True, True, ZERO_SPEEDS)
    (event,) = through.safety.events
    assert (event.alarm.fault, event.tick, event.alarm.value, event.alarm.limit) == (
        Fault.COMMAND_OUT_OF_LIMIT,
        20,
        20,
        19,
    )


@pytest.mark.parametrize(
    ("speed", "limit"), [(9.0, "limits.wheel_speed_radps 1"), (0.5, "limits.wheel_acceleration_radps2 5")]
)
def test_the_fault_names_the_wheel_what_was_asked_of_it_and_the_limit(speed, limit):
    through = Through()
    for number in range(20):
        through.ask((0.0, 0.0, speed * (-1) ** number, 0.0, 0.0, 0.0))
    (event,) = through.safety.events
    assert f": {CONFIG.layout.wheels[2]} asked for {speed * (-1) ** 19:g} rad/s, {limit}" in event.alarm.detail
    assert len(event.alarm.detail) < 128


def test_a_cut_between_begins_the_count_anew():
    through = Through()
    clamp_in_a_row(through, 19)
    through.ask(ZERO_SPEEDS, cut=True)
    assert not any(command.safe for command in clamp_in_a_row(through, 19))


def test_clamped_commands_are_counted_for_good():
    through = Through()
    assert [command.clamped for command in clamp_in_a_row(through, 3)] == [1, 2, 3]
    assert through.ask((3 * STEP,) * 6).clamped == 3
    assert through.ask(ZERO_SPEEDS, cut=True).clamped == 3
    assert through.ask((0.9,) * 6).clamped == through.limiter.clamped == 4


def test_safe_holds_whatever_is_asked_from_then_on():
    through = Through()
    through.ask((0.001,) * 6)
    through.safety.report(Alarm(Fault.STOP_BY_OPERATOR, math.nan, math.nan, "E-stop"), 1, 0)
    for speed in (0.001, 0.002, math.nan):
        command = through.ask((speed,) * 6)
        assert (command.safe, command.cut, command.speed_radps, command.valves) == (True, True, ZERO_SPEEDS, VALVES_OFF)
