"""The jog alone: its allowed settings, and its commands tick by tick."""

import itertools
import json
import math
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from hil.config import ConfigError, load_config
from hil.config.rig import Rig
from hil.experiments.base import AFTER_NS, ARMED_NS
from hil.experiments.jog import JogExperiment, JogState, wheel_speeds
from hil.messages.fault import Check
from hil.messages.operator_input import SetPoint, Stop

CONFIG = load_config("sim_impact")
MS = 1_000_000
PASSED = [Check("all", True, "", "")]
BAD = [Check("sensor", False, "broken", "whole")]


def run(jog, ms, *, impact_ms=None, safe_ms=None, asked=MappingProxyType({})):
    """All goals of this number of ticks; sensors are zeroed at 10 ms. An operator's commands by time [ms]."""
    goals = []
    for now in range(1, ms + 1):
        hit = 1 if impact_ms is not None and now >= impact_ms else None
        estimate = SimpleNamespace(zeroed=now >= 10, impact_ns=hit)
        drives = SimpleNamespace(acknowledged_ns=0, stopped_ns=-1)
        samples = SimpleNamespace(t_ns=now * MS, operator=asked.get(now, ()), drives=drives)
        safe = safe_ms is not None and now >= safe_ms
        goals.append(jog.decide(samples, estimate, None, safe))
    return goals


def turn(wheels, speed_mps, seconds):
    asked = [f"jog.wheels={json.dumps(wheels)}", f"jog.speed_mps={speed_mps}", f"jog.seconds={seconds}"]
    return load_config("sim_impact", ["experiment=jog", *asked])


def power(valve, seconds):
    return load_config(
        "sim_impact", ["experiment=jog", "jog.wheels=[]", f"jog.valve={valve}", f"jog.seconds={seconds}"]
    )


def make(config, checks=PASSED):
    return JogExperiment(Rig(config), lambda *_: checks)


def moving(goals):
    return [goal for goal in goals if not goal.cut]


def test_one_wheel_turns_for_its_time_and_no_other():
    goals = run(make(turn(["middle_right"], -0.02, 0.5)), 2000)
    speeds = [goal.speed_radps for goal in moving(goals)]
    assert len(speeds) == 500
    assert all(speed == 0.0 for each in speeds for place, speed in enumerate(each) if place != 3)
    assert speeds[-1][3] * CONFIG.rover.wheel_radius_m == pytest.approx(-0.02)


def test_speed_grows_slower_than_the_limiter_allows():
    limit = CONFIG.limits.wheel_acceleration_radps2 / CONFIG.loop.rate_hz
    speeds = [goal.speed_radps[0] for goal in moving(run(make(turn(["all"], 0.1, 1.0)), 2000))]
    steps = [after - before for before, after in itertools.pairwise(speeds)]
    assert 0.0 < max(steps) < limit
    assert speeds[-1] > 0.9 * 0.1 / CONFIG.rover.wheel_radius_m


def test_a_set_point_changes_the_speed_of_the_wheels_that_turn_and_a_stop_cuts_in_its_tick():
    asked = {500: (SetPoint("speed_mps", -0.03),), 900: (SetPoint("speed_mps", 0.0),), 1200: (Stop("let go"),)}
    goals = run(make(turn(["front_left"], 0.02, 5.0)), 1300, asked=asked)
    rims = [goal.speed_radps[0] * CONFIG.rover.wheel_radius_m if goal.speed_radps else 0.0 for goal in goals]
    assert [rims[at] for at in (497, 897, 1197)] == pytest.approx([0.02, -0.03, 0.0])
    limit = CONFIG.limits.wheel_acceleration_radps2 / CONFIG.loop.rate_hz * CONFIG.rover.wheel_radius_m
    assert max(abs(after - before) for before, after in itertools.pairwise(rims)) < limit
    assert all(speed == 0.0 for goal in moving(goals) for speed in goal.speed_radps[1:])
    assert [goal.cut for goal in goals[1195:1202]] == [False] * 4 + [True] * 3


def test_a_valve_is_powered_with_all_wheels_cut():
    goals = run(make(power("right_retract", 0.2)), 1000)
    powered = [goal.valves for goal in goals if any(map(any, goal.valves))]
    assert powered == [((False, False), (False, True))] * 200
    assert all(goal.cut and not any(goal.speed_radps) for goal in goals)


def test_it_ends_cut_and_a_while_after():
    jog = make(turn(["all"], 0.1, 0.1))
    last = (10 * MS + ARMED_NS + 100 * MS + AFTER_NS) // MS
    assert run(jog, last)[-1].cut
    assert jog.state == JogState.DONE
    assert jog.over


@pytest.mark.parametrize("impact_ms", [20, 300])
def test_an_impact_cuts_it_short(impact_ms):
    jog = make(turn(["all"], 0.02, 1.0))
    goals = run(jog, 900, impact_ms=impact_ms)
    assert all(goal.cut and not goal.valves for goal in goals[impact_ms - 1 :])
    assert len(moving(goals)) == max(impact_ms - 60, 0)
    assert jog.touched
    assert jog.over
    assert not jog.done


def test_nothing_moves_unless_every_check_passes():
    jog = make(turn(["all"], 0.1, 0.1), BAD)
    assert moving(run(jog, 500)) == []
    assert jog.refused
    assert jog.state == JogState.ABORTED


def test_safe_ends_it_at_once():
    jog = make(turn(["all"], 0.1, 1.0))
    goals = run(jog, 500, safe_ms=200)
    assert moving(goals[199:]) == []
    assert jog.state == JogState.ABORTED


@pytest.mark.parametrize("seconds", [0.0, -1.0, 10.001])
def test_a_time_that_is_too_long_or_none_is_refused(seconds):
    for ask in (lambda: turn(["all"], 0.02, seconds), lambda: power("left_extend", seconds)):
        with pytest.raises(ConfigError, match=r"jog\.seconds: found .*; allowed: "):
            ask()


@pytest.mark.parametrize("speed", [0.0, 0.1751, -0.1751])
def test_a_speed_over_the_limit_or_none_is_refused(speed):
    with pytest.raises(ConfigError, match=r"jog\.speed_mps: found .* m/s; allowed: up to 0\.175 m/s either way"):
        turn(["all"], speed, 1.0)


def test_the_largest_speed_is_allowed_either_way():
    limit = CONFIG.limits.wheel_speed_radps * CONFIG.rover.wheel_radius_m
    jog, wheels = turn(["front_left"], -limit, 10.0).jog, CONFIG.layout.wheels
    assert wheel_speeds(jog, CONFIG.wheel_radii_m, wheels)[0] == pytest.approx(-1.0)


def swing(joint="front_left_walking", angle_deg=5.0, *more):
    asked = ["jog.wheels=[]", f"jog.joint={joint}", f"jog.angle_deg={angle_deg}", *more]
    driven = "servos={joints: {walking: {range_deg: [-30, 10], rate_degps: 8}}}"
    return load_config("sim_impact", ["experiment=jog", driven, *asked])


def angles_of(config, ms, start_deg):
    """Angles asked for in each tick [deg], with all joints measured where they stand."""
    jog, goals = make(config), []
    measured = SimpleNamespace(angle_rad=tuple(math.radians(start_deg) for _ in config.driven_joints))
    for now in range(1, ms + 1):
        estimate = SimpleNamespace(zeroed=now >= 10, impact_ns=None)
        drives = SimpleNamespace(acknowledged_ns=0)
        samples = SimpleNamespace(t_ns=now * MS, operator=(), drives=drives, servos=measured)
        goals.append(jog.decide(samples, estimate, None, False))
    return goals


def test_one_joint_turns_from_where_it_is_at_its_rate_and_the_others_stay():
    goals = angles_of(swing("middle_left_walking", -4.0, "jog.rate_degps=4", "jog.seconds=2"), 3000, 1.0)
    assert all(goal.cut and not any(map(any, goal.valves)) for goal in goals)
    turning = np.degrees([goal.joint_angle_rad for goal in goals if goal.joint_angle_rad])
    assert len(turning) == 2000
    place = load_config("sim_impact", ["servos={joints: {walking: {}}}"]).layout.servos.index("middle_left_walking")
    assert np.delete(turning, place, axis=1) == pytest.approx(1.0)
    assert np.diff(turning[:, place]).min() == pytest.approx(-4.0e-3)
    assert turning[0, place] == pytest.approx(1.0)
    assert turning[-1, place] == pytest.approx(-4.0)
    assert goals[-1].joint_angle_rad == ()  # and holds


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (lambda: swing(angle_deg=10.001), r"jog\.angle_deg: found 10\.001 deg; allowed: -30 to 10 deg"),
        (lambda: swing(angle_deg=-30.001), r"jog\.angle_deg: found -30\.001 deg; allowed: -30 to 10 deg"),
        (lambda: swing("front_left_walking", 5.0, "jog.rate_degps=8.01"), r"jog\.rate_degps: .*: up to 8 deg/s"),
        (lambda: swing("left_rocker"), r"jog\.joint: found left_rocker; allowed: one of front_left_walking"),
        (lambda: swing("front_left_walking", 5.0, "jog.wheels=[all]"), r"jog\.wheels: .*: none with jog\.joint"),
        (lambda: swing("front_left_walking", 5.0, "jog.valve=left_extend"), r"jog\.valve: .*: none with jog\.joint"),
        (lambda: swing("front_left_walking", 5.0, "servos=null"), r"jog\.joint: .* no joint is driven; servos\.joints"),
    ],
)
def test_a_joint_that_is_locked_or_asked_beyond_its_limits_is_refused(config, said):
    with pytest.raises(ConfigError, match=said):
        config()


def test_the_ends_of_a_range_and_its_rate_are_allowed():
    for angle_deg in (-30, 10):
        assert swing("front_left_walking", angle_deg, "jog.rate_degps=8").jog.angle_deg == angle_deg


def test_all_that_cannot_be_is_said_at_once():
    with pytest.raises(ConfigError) as refused:
        turn(["nose"], 9.0, 1.0)
    assert [problem.key for problem in refused.value.problems] == ["jog.wheels", "jog.speed_mps"]
    with pytest.raises(ConfigError, match=r"jog\.wheels: found none"):
        turn([], 0.02, 1.0)
    with pytest.raises(ConfigError, match=r"jog\.valve: found up_sideways; allowed: one of left_extend"):
        power("up_sideways", 1.0)
    with pytest.raises(ConfigError, match=r"jog\.wheels: found all; allowed: none with jog.valve"):
        load_config("sim_impact", ["experiment=jog", "jog.valve=left_extend"])


@pytest.mark.parametrize("reasons", [[], ["not armed: disk"]])
def test_the_table_says_accepted_only_of_what_went_as_asked(reasons):
    console = Console(width=120)
    with console.capture() as said:
        console.print(JogExperiment.table({"motion": "one", "accepted": not reasons, "reasons": reasons}))
    assert ("not armed: disk" in said.get(), "Moved" in said.get()) == (bool(reasons), False)
