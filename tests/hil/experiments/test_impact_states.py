"""The states of a trial in order; only the run-up drives a wheel."""

from __future__ import annotations

import math

import pytest

from drivers.messages import DriveSample, ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.control.wheel_speed import LARGEST_SLIP, SMOOTHING_S, WheelSpeed
from hil.experiments.base import ARMED_NS
from hil.experiments.impact.experiment import ImpactExperiment, ImpactState
from hil.messages.fault import Check
from hil.messages.stages import Estimate, Goal, Prediction, Samples, SetPoints

ZERO_SPEEDS = (0.0,) * 6  # the speeds of six wheels

SPEED, RAMP_S, SETTLE_S, TIMEOUT_S = 0.07, 0.5, 1.0, 8.0
CONFIG = load_config(
    "sim_impact",
    [
        f"trial.speed_mps={SPEED}", f"trial.ramp_s={RAMP_S}", f"trial.settle_s={SETTLE_S}",
        f"trial.timeout_s={TIMEOUT_S}", "record.after_s=0.5",
    ],
)  # fmt: skip
RADIUS = 0.175
MS = 1_000_000
GOOD, BAD = Check("disk space", True, "1 GB free", "200 MB"), Check("sensor top bias", False, "1 V", "0.05 V")


def estimate(impact_ns: int | None = None, zeroed: bool = True) -> Estimate:
    nothing = (0.0,) * 3
    return Estimate(zeroed, nothing, nothing, True, False, impact_ns, nothing, (math.nan, math.nan), ZERO_SPEEDS)


def prediction(*slip: float) -> Prediction:
    return Prediction(ZERO_SPEEDS, ZERO_SPEEDS, slip or ZERO_SPEEDS, 0.0, 0.0, math.inf, True)


def speeds(wheels, *slips):
    return wheels.control(Goal(2, False, SPEED), None, None, prediction(*slips)).speed_radps


class Course:
    """A trial, a tick every millisecond."""

    def __init__(self, *checks: Check, delay_ms: float = 0.0) -> None:
        self.armed, self.acknowledged_ns = 0, -1
        links = CONFIG.links.model_copy(update={"drives_delay_ms": delay_ms})
        self.trial = ImpactExperiment(Rig(CONFIG.model_copy(update={"links": links})), lambda *_: self.arm(checks))
        self.controller = self.trial.controller()
        self.set_points = SetPoints(0, True, ())
        self.t_ns = 0

    def arm(self, checks):
        self.armed += 1
        return checks

    def tick(self, impact_ns: int | None = None, safe: bool = False, zeroed: bool = True, slip: float = 0.0) -> Goal:
        self.t_ns += MS
        valves = ValveSample(0, 0, ((0.0, 0.0), (0.0, 0.0)), -1)
        samples = Samples(self.t_ns, (), 0, 0, DriveSample(0, 0, ZERO_SPEEDS, self.acknowledged_ns), valves)
        slips = prediction(*(slip,) * 6)
        goal = self.trial.decide(samples, estimate(impact_ns, zeroed), slips, safe)
        self.set_points = self.controller.control(goal, samples, None, slips)
        return goal

    def until(self, state: ImpactState, most_ms: int = 20_000, **values) -> Goal:
        for _ in range(most_ms):
            goal = self.tick(**values)
            if self.trial.state == state:
                return goal
        raise AssertionError(f"still {self.trial.state!r}")


def test_a_trial_goes_through_its_states_in_order():
    course, seen = Course(GOOD), []
    for tick in range(4000):
        goal = course.tick(zeroed=tick >= 200, impact_ns=1_999 * MS if tick >= 2000 else None)
        assert goal.state == course.trial.state
        if not seen or seen[-1] is not course.trial.state:
            seen.append(course.trial.state)
    assert seen == [
        ImpactState.IDLE,
        ImpactState.ARMED,
        ImpactState.RUN_UP,
        ImpactState.IMPACT,
        ImpactState.SETTLE,
        ImpactState.DONE,
    ]
    assert course.armed == 1
    assert course.trial.impact_tick_ns == 2001 * MS


@pytest.mark.parametrize("safe_at", [None, 100, 230, 1000, 2000, 2001, 2500, 3500])
def test_every_state_but_the_run_up_is_a_cut(safe_at):
    course = Course(GOOD)
    for tick in range(4000):
        goal = course.tick(
            zeroed=tick >= 200,
            impact_ns=1_999 * MS if tick >= 2000 else None,
            safe=safe_at is not None and tick >= safe_at,
        )
        assert goal.cut == (course.trial.state != ImpactState.RUN_UP)
        assert course.set_points.cut == goal.cut
        assert course.set_points.speed_radps == () or not goal.cut
        assert course.set_points.valves == ()


def test_nothing_happens_before_the_sensors_are_zeroed():
    course = Course(GOOD)
    for _ in range(1000):
        course.tick(zeroed=False)
    assert (course.trial.state, course.armed) == (ImpactState.IDLE, 0)


def test_arming_waits_for_the_cut_on_a_link_with_a_delay():
    at_once, waits = Course(), Course(delay_ms=300.0)
    at_once.tick()
    assert at_once.trial.state is ImpactState.ARMED
    for _ in range(350):
        waits.tick()
        assert waits.trial.state is ImpactState.IDLE
    waits.acknowledged_ns = 50_000_000
    waits.tick()
    assert waits.trial.state is ImpactState.ARMED


def test_a_cut_that_never_is_confirmed_comes_to_the_arming_checks_all_the_same():
    waits = Course(delay_ms=300.0)
    waits.until(ImpactState.ARMED)
    assert waits.t_ns == 600_000_000


def test_the_rig_stands_armed_for_a_while_before_it_moves():
    course = Course(GOOD)
    course.until(ImpactState.ARMED)
    armed_ns = course.t_ns
    course.until(ImpactState.RUN_UP)
    assert course.t_ns - armed_ns == ARMED_NS


@pytest.mark.parametrize("into_run_up_ms", [1, 300, 3000])
def test_the_tick_in_which_the_impact_is_first_known_is_a_cut(into_run_up_ms):
    course = Course(GOOD)
    course.until(ImpactState.RUN_UP)
    for _ in range(into_run_up_ms):
        assert not course.tick().cut
    goal = course.tick(impact_ns=course.t_ns)
    assert (goal.cut, course.set_points.cut, goal.state) == (True, True, ImpactState.IMPACT)
    assert course.trial.impact_tick_ns == course.t_ns


def test_an_impact_in_the_tick_that_would_start_the_run_up_is_a_cut():
    course = Course(GOOD)
    course.until(ImpactState.ARMED)
    for _ in range(ARMED_NS // MS - 1):
        course.tick()
    assert course.trial.state == ImpactState.ARMED
    assert course.tick(impact_ns=course.t_ns).cut
    assert course.trial.state == ImpactState.IMPACT


def test_an_impact_and_a_timeout_in_one_tick_is_an_impact():
    course = Course(GOOD)
    course.until(ImpactState.RUN_UP)
    for _ in range(round(TIMEOUT_S * 1000)):
        course.tick()
    course.tick(impact_ns=course.t_ns)
    assert (course.trial.state, course.trial.timed_out) == (ImpactState.IMPACT, False)


def test_a_refused_arming_aborts_and_keeps_its_checks():
    course = Course(GOOD, BAD)
    course.tick()
    assert (course.trial.state, course.trial.over, course.trial.refused) == (ImpactState.ABORTED, True, True)
    assert course.trial.checks[:2] == (GOOD, BAD)  # then those that follow from the config
    for _ in range(200):
        assert course.tick().cut
    assert course.armed == 1


def test_an_armed_trial_is_not_refused():
    course = Course(GOOD)
    course.tick()
    assert (course.trial.refused, course.trial.over) == (False, False)


def test_a_run_up_without_an_impact_times_out():
    course = Course(GOOD)
    course.until(ImpactState.RUN_UP)
    began_ns = course.t_ns
    course.until(ImpactState.ABORTED)
    assert course.t_ns - began_ns == TIMEOUT_S * 1e9 + MS
    assert course.trial.timed_out
    assert course.trial.impact_tick_ns is None


def test_settling_lasts_as_long_as_the_config_says():
    course = Course(GOOD)
    course.until(ImpactState.RUN_UP)
    course.tick(impact_ns=course.t_ns)
    hit_ns = course.t_ns
    course.until(ImpactState.DONE, impact_ns=hit_ns)
    assert course.t_ns - hit_ns == SETTLE_S * 1e9
    assert (course.trial.over, course.trial.timed_out) == (True, False)


@pytest.mark.parametrize(
    "state", [ImpactState.IDLE, ImpactState.ARMED, ImpactState.RUN_UP, ImpactState.IMPACT, ImpactState.SETTLE]
)
def test_safe_aborts_any_trial_that_is_not_over(state):
    course = Course(GOOD)
    if state > ImpactState.RUN_UP:
        course.until(ImpactState.RUN_UP)
        course.until(state, impact_ns=course.t_ns)
    elif state is not ImpactState.IDLE:
        course.until(state)
    assert course.tick(safe=True).cut
    assert course.trial.state == ImpactState.ABORTED
    assert course.tick(impact_ns=course.t_ns).cut  # and it stays cut
    assert course.trial.state == ImpactState.ABORTED


@pytest.mark.parametrize("state", [ImpactState.DONE, ImpactState.ABORTED])
def test_a_trial_that_is_over_stays_as_it_is(state):
    course = Course(GOOD)
    course.trial.state = state
    course.tick(safe=True)
    assert course.tick(impact_ns=0).cut
    assert course.trial.state == state


def test_speed_rises_linearly_over_the_ramp_and_then_holds():
    course = Course(GOOD)
    course.until(ImpactState.RUN_UP)
    for ms in range(1000):
        wanted = SPEED / RADIUS * min(ms * 1e-3 / RAMP_S, 1.0)
        assert course.set_points.speed_radps == pytest.approx((wanted,) * 6, rel=1e-9, abs=1e-12)
        course.tick()


def test_the_run_up_makes_up_for_the_slip_that_the_twin_predicts():
    course = Course(GOOD)
    course.until(ImpactState.RUN_UP, slip=0.1)
    for _ in range(2000):
        course.tick(slip=0.1)
    assert course.set_points.speed_radps == pytest.approx((SPEED / (RADIUS * 0.9),) * 6, rel=1e-6)


def test_slip_compensation_smooths_the_mean_slip():
    """omega = v / (R (1 - s)), s a first-order filter of the wheels' mean."""
    wheels, filtered = WheelSpeed((RADIUS,) * 6, 1e-3), 0.0
    for i in range(500):
        slips = tuple(0.05 * (wheel + 1) * math.sin(0.02 * i) ** 2 for wheel in range(6))
        filtered += (sum(slips) / 6.0 - filtered) * 1e-3 / SMOOTHING_S
        wanted = SPEED / (RADIUS * (1.0 - filtered))
        assert speeds(wheels, *slips) == pytest.approx((wanted,) * 6, rel=1e-12)


@pytest.mark.parametrize(("slip", "counted"), [(1.0, LARGEST_SLIP), (5.0, LARGEST_SLIP), (-0.5, 0.0)])
def test_slip_that_no_wheel_speed_could_make_up_for_is_capped(slip, counted):
    wheels = WheelSpeed((RADIUS,) * 6, 1e-3)
    for _ in range(3000):
        found = speeds(wheels, *(slip,) * 6)
    assert found == pytest.approx((SPEED / (RADIUS * (1.0 - counted)),) * 6, rel=1e-6)
