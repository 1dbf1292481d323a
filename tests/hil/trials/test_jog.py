"""Jogging by itself: what may be asked for, and what is commanded tick by tick."""

import itertools
import math
from types import SimpleNamespace

import pytest

from drivers.types import VALVES_OFF
from hil.arming import Check
from hil.config import ConfigError, load_config
from hil.trials.jog import AFTER_NS, Jog, Motion, power, turn
from hil.trials.state import ARMED_NS, State
from hil.values import STILL

CONFIG = load_config("sim_impact")
MS = 1_000_000
PASSED = [Check("all", True, "", "")]
BAD = [Check("sensor", False, "broken", "whole")]


def run(jog, ms, *, impact_ms=None, safe_ms=None):
    """All requests of so many ticks; sensors are zeroed at 10 ms."""
    requests = []
    for now in range(1, ms + 1):
        hit = 1 if impact_ms is not None and now >= impact_ms else None
        estimate = SimpleNamespace(zeroed=now >= 10, impact_ns=hit)
        safe = safe_ms is not None and now >= safe_ms
        samples = SimpleNamespace(t_ns=now * MS, drives=SimpleNamespace(acknowledged_ns=0))
        requests.append(jog.control(samples, estimate, None, safe))
    return requests


def make(motion, checks=PASSED):
    return Jog(motion, CONFIG, lambda *_: checks)


def moving(requests):
    return [request for request in requests if not request.cut]


def test_one_wheel_turns_for_its_time_and_no_other():
    motion = turn(CONFIG, ["middle_right"], -0.02, 0.5)
    requests = run(make(motion), 2000)
    speeds = [request.speed_radps for request in moving(requests)]
    assert len(speeds) == 500
    assert all(speed == 0.0 for each in speeds for place, speed in enumerate(each) if place != 3)
    assert speeds[-1][3] * CONFIG.rover.wheel_radius_m == pytest.approx(-0.02)


def test_speed_grows_slower_than_the_gate_allows():
    limit = CONFIG.limits.wheel_acceleration_radps2 / CONFIG.loop.rate_hz
    speeds = [request.speed_radps[0] for request in moving(run(make(turn(CONFIG, ["all"], 0.1, 1.0)), 2000))]
    steps = [after - before for before, after in itertools.pairwise(speeds)]
    assert 0.0 < max(steps) < limit
    assert speeds[-1] > 0.9 * 0.1 / CONFIG.rover.wheel_radius_m


def test_a_valve_is_powered_with_all_wheels_cut():
    requests = run(make(power("right", "retract", 0.2)), 1000)
    powered = [request.valves for request in requests if request.valves != VALVES_OFF]
    assert powered == [((False, False), (False, True))] * 200
    assert all(request.cut and request.speed_radps == STILL for request in requests)


def test_it_ends_cut_and_a_while_after():
    jog = make(turn(CONFIG, ["all"], 0.1, 0.1))
    last = (10 * MS + ARMED_NS + 100 * MS + AFTER_NS) // MS
    assert run(jog, last)[-1].cut
    assert jog.state is State.DONE
    assert jog.over


@pytest.mark.parametrize("impact_ms", [20, 300])
def test_an_impact_cuts_it_short(impact_ms):
    jog = make(Motion(1.0, (0.1,) * 6, ((True, False), (False, False))))
    requests = run(jog, 900, impact_ms=impact_ms)
    assert all(request.cut and request.valves == VALVES_OFF for request in requests[impact_ms - 1 :])
    assert len(moving(requests)) == max(impact_ms - 60, 0)
    assert jog.touched
    assert jog.state is State.DONE


def test_nothing_moves_unless_every_check_passes():
    jog = make(turn(CONFIG, ["all"], 0.1, 0.1), BAD)
    assert moving(run(jog, 500)) == []
    assert jog.refused
    assert jog.state is State.ABORTED


def test_safe_ends_it_at_once():
    jog = make(turn(CONFIG, ["all"], 0.1, 1.0))
    requests = run(jog, 500, safe_ms=200)
    assert moving(requests[199:]) == []
    assert jog.state is State.ABORTED


@pytest.mark.parametrize("seconds", [0.0, -1.0, 10.001, math.nan, math.inf])
def test_a_time_that_is_too_long_or_none_is_refused(seconds):
    for ask in (lambda: turn(CONFIG, ["all"], 0.02, seconds), lambda: power("left", "extend", seconds)):
        with pytest.raises(ConfigError, match=r"--for: found .* s; allowed: above 0, and 10 s at most"):
            ask()


@pytest.mark.parametrize("speed", [0.0, 0.1751, -0.1751, math.nan, math.inf])
def test_a_speed_over_the_limit_or_none_is_refused(speed):
    with pytest.raises(ConfigError, match=r"--speed: found .* m/s; allowed: up to 0\.175 m/s either way"):
        turn(CONFIG, ["all"], speed, 1.0)


def test_the_largest_speed_is_allowed_either_way():
    limit = CONFIG.limits.wheel_speed_radps * CONFIG.rover.wheel_radius_m
    assert turn(CONFIG, ["front_left"], -limit, 10.0).speed_radps[0] == pytest.approx(-1.0)


def test_all_that_cannot_be_is_told_at_once():
    with pytest.raises(ConfigError) as refused:
        turn(CONFIG, ["nose"], 9.0, 99.0)
    assert [problem.key for problem in refused.value.problems] == ["--for", "--wheel", "--speed"]
    with pytest.raises(ConfigError, match="--wheel: found none"):
        turn(CONFIG, [], 0.02, 1.0)
    with pytest.raises(ConfigError) as refused:
        power("up", "sideways", 0.0)
    assert [problem.key for problem in refused.value.problems] == ["--for", "SIDE", "WAY"]
