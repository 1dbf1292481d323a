"""Each limit of acceptance on both sides: the value that is equal to it is accepted, the next number beyond is not."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.base import FinishedRun
from hil.experiments.impact import experiment as impact_limits
from hil.experiments.impact.acceptance import Evidence, judge
from hil.experiments.impact.approach import LEAST_ANGLE_DEG, Approach
from hil.experiments.impact.experiment import ImpactExperiment, impact_checks
from hil.experiments.impact.predicted_force import predicted_force
from hil.experiments.normal_force.summary import Loads, Segment, _limits_met
from hil.experiments.registry import experiment_named
from hil.messages.fault import Alarm, Check, Event, Fault
from hil.messages.link_messages import EVENT
from hil.messages.loads import LoadGoal, LoadMode
from hil.messages.signals import tick_dtype
from hil.safety.monitor import SafetyMonitor
from hil.signals.impact import UncertainValue

CONFIG = load_config("sim_impact")
PLACES = np.array(CONFIG.triangle.places_m)
SAMPLES = np.arange(10_000) * 1e-4


def evidence(peaks=(60.0, 30.0, 30.0), again_N=0.0, later=None, speed_mps=None, after=None, across_m=0.0, **others):
    """Of a hit of 100 N at 0 s that ends at 0.1 s; `after` are the three channels' forces from then on [N]."""
    traces = None
    if after is not None:
        corrected = np.where(SAMPLES[:, None] > 0.1, np.asarray(after), 0.0)
        traces = SimpleNamespace(t_s=SAMPLES, corrected=corrected)
    estimator = SimpleNamespace(
        peaks_N=(*peaks, 100.0, again_N), load_points_m=((across_m, 0.0), (across_m, 0.0)), impact_peak_N=40.0,
        later_peak=later, contact_duration_s=others.pop("contact_s", 0.1), contact_end_ns=100_000_000,
    )  # fmt: skip
    impact = None if traces is None else SimpleNamespace(
        traces=traces, end_s=0.1, peak_N=SimpleNamespace(value=100.0)
    )  # fmt: skip
    return Evidence(CONFIG, estimator, impact=impact, speed_mps=speed_mps, **others)


def measured(angle_deg=0.0, across_m=0.0, sd_deg=0.01, sd_m=1e-4):
    """The approach that an instrument outside has measured."""
    angle = UncertainValue(math.radians(angle_deg), math.radians(sd_deg))
    return Approach(1e-4, True, angle, UncertainValue(across_m, sd_m), None, ())


def with_limit(judged, key, limit):
    quality = judged.config.quality.model_copy(update={key: limit})
    return replace(judged, config=judged.config.model_copy(update={"quality": quality}))


MIDDLE_ACROSS_M = PLACES.mean(axis=0)[0]
SWINGS = np.where(SAMPLES > 0.1, np.sin(2 * np.pi * 20.0 * (SAMPLES - 0.1)), 0.0)[:, None] * np.array([6.0, 3.0, 3.0])
PUSHES = np.where(SAMPLES > 0.1, 1.0 - np.cos(2 * np.pi * 20.0 * (SAMPLES - 0.1)), 0.0)[:, None] * np.array([6, 3, 3])
JUDGED = {
    "first_hit": ("first_hit_share", evidence(across_m=0.01)),
    "contact_s": ("contact_s", evidence(contact_s=0.3)),
    "snap_back": ("snap_back_share", evidence(after=SWINGS)),
    "snap_back, only a pull": ("snap_back_share", evidence(after=-np.array([6.0, 3.0, 3.0]))),
    "snap_back, only a push": ("snap_back_share", evidence(after=PUSHES)),
    "double_hit": ("double_hit_share", evidence(again_N=20.0)),
    "speed, too fast": ("speed_share", evidence(speed_mps=1.07 * CONFIG.trial.speed_mps)),
    "speed, too slow": ("speed_share", evidence(speed_mps=0.93 * CONFIG.trial.speed_mps)),
    "cut_late": ("cut_ms", evidence(cut_ms=12.5)),
    "droop, too low": ("droop_share", evidence(after=(-2.0, 0.0, 0.0))),
    "droop, too high": ("droop_share", evidence(after=(0.0, 30.0, 0.0))),
    "sensor_dead": ("sensor_share", evidence(peaks=(60.0, 4.0, 36.0))),
    "veer, to port": ("veer_m", evidence(across_m=-MIDDLE_ACROSS_M + 0.02)),
    "veer, to starboard": ("veer_m", evidence(across_m=-MIDDLE_ACROSS_M - 0.02)),
    "veer, measured, to port": ("veer_m", evidence(approach=measured(across_m=0.015))),
    "veer, measured, to starboard": ("veer_m", evidence(approach=measured(across_m=-0.015))),
    "approach, to port": ("approach_deg", evidence(approach=measured(0.13))),
    "approach, to starboard": ("approach_deg", evidence(approach=measured(-0.13))),
}


@pytest.mark.parametrize("case", JUDGED)
def test_a_trial_at_the_limit_of_a_rule_counts_and_the_next_number_beyond_does_not(case):
    key, judged = JUDGED[case]
    rule = case.split(",")[0]
    value = judge(judged)[rule].value
    assert value is not None
    assert value > 0.0
    beyond = math.inf if rule in ("first_hit", "sensor_dead") else -math.inf
    at, out = (judge(with_limit(judged, key, limit))[rule] for limit in (value, math.nextafter(value, beyond)))
    assert (at.ok, out.ok) == (True, False)
    assert at.value == out.value == value


def test_the_veer_is_measured_from_the_wheels_line():
    for off_m in (0.02, -0.02):
        assert judge(evidence(across_m=off_m - MIDDLE_ACROSS_M))["veer"].value == pytest.approx(0.02)


def test_the_veer_is_that_of_the_instrument_where_there_is_one():
    off, on = evidence(across_m=0.03 - MIDDLE_ACROSS_M), evidence(across_m=-MIDDLE_ACROSS_M)
    assert judge(replace(off, approach=measured(across_m=0.001)))["veer"].ok
    assert judge(replace(on, approach=measured(across_m=0.03)))["veer"].ok is False
    # what an instrument knows worse than the rule allows is no answer: the sensors judge
    vague = measured(across_m=0.03, sd_m=math.nextafter(CONFIG.quality.veer_m, 1.0))
    assert judge(replace(on, approach=vague))["veer"].ok
    assert not judge(replace(off, approach=measured()._replace(across_m=None)))["veer"].ok


def test_an_angle_that_is_known_worse_than_the_rule_allows_is_not_judged():
    limit_deg = CONFIG.quality.approach_deg
    assert judge(evidence(approach=measured(3.0, sd_deg=limit_deg)))["approach"].ok is False
    for unknown in (measured(3.0, sd_deg=1.001 * limit_deg), measured(3.0, sd_deg=math.nan), None):
        assert judge(evidence(approach=unknown))["approach"].ok is None


def test_the_reason_says_who_knows_the_speed():
    fast = evidence(speed_mps=0.09)
    by = judge(fast)["speed"].reason, judge(replace(fast, approach=measured()))["speed"].reason
    assert "by twin and wheels" in by[0]
    assert "measured (sd 0.1)" in by[1]


def test_a_later_force_may_be_as_large_as_the_peak_of_the_impact_and_no_larger():
    assert judge(evidence(later=(40.0, 0.3)))["weight"].ok
    assert judge(evidence(later=(math.nextafter(40.0, 41.0), 0.3)))["weight"].ok is False


def test_a_contact_without_an_end_and_a_saturated_sensor_are_refused():
    assert judge(evidence(contact_s=None))["contact_ended"].ok is False
    assert judge(evidence())["contact_ended"].ok
    assert judge(evidence(saturated=True))["saturated"].ok is False
    assert judge(evidence(saturated=False))["saturated"].ok


def test_an_operators_cut_is_late_without_a_limit():
    slow = evidence(cut_ms=1e4)
    by_hand = slow.config.trial.model_copy(update={"release": "operator"})
    assert judge(replace(slow, config=slow.config.model_copy(update={"trial": by_hand})))["cut_late"].ok is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"timed_out": True}, "no impact within trial.timeout_s, 30 s"),
        ({"hit_standing": True}, "the obstacle was hit before the run-up"),
        ({"stopped": True}, "ended by the operator"),
        ({"checks": (Check("disk", False, "a", "b", "c"),)}, "not armed: disk is a, allowed: b; c"),
    ],
)
def test_each_way_to_end_early_is_a_reason_of_its_own(change, reason):
    trial, safety = ImpactExperiment(Rig(CONFIG), lambda *_: ()), SafetyMonitor(Rig(CONFIG))
    assert trial.reasons(safety) == []
    for name, value in change.items():
        setattr(trial, name, value)
    assert trial.reasons(safety) == [reason]


# ---- limits before an impact trial is armed ----
def ok(item, *settings):
    return {check.item: check.ok for check in impact_checks(Rig(load_config("sim_impact", settings)))}[item]


def test_the_impact_speed_may_be_at_its_limit_and_no_higher():
    assert ok("impact speed", "limits.impact_speed_mps=0.07", "trial.speed_mps=0.07")
    assert not ok("impact speed", "limits.impact_speed_mps=0.07", "trial.speed_mps=0.0701")


@pytest.mark.parametrize(("config", "key"), [("sim_impact", "sensor_force_N"), ("bumper", "bumper_force_N")])
def test_the_predicted_force_may_be_at_its_limit_and_no_higher(config, key):
    base = load_config(config)
    force = predicted_force(Rig(base))
    most_N = max(force.sensor_N) if config == "sim_impact" else force.wheel_N

    def refused(limit_N):
        limits = base.limits.model_copy(update={key: limit_N})
        return [check.item for check in impact_checks(Rig(base.model_copy(update={"limits": limits}))) if not check.ok]

    assert refused(most_N) == []
    assert len(refused(math.nextafter(most_N, 0.0))) == 1


def test_the_angle_of_a_real_obstacle_may_be_the_least_and_no_less(monkeypatch):
    monkeypatch.setattr(impact_limits, "predicted_force", lambda _: SimpleNamespace(
        energy_J=0.1, delay_s=0.01, sensor_N=(0.0,) * 3, wheel_N=0.0))  # fmt: skip
    base = load_config("mars_dome")
    assert LEAST_ANGLE_DEG == 40.0

    def accepted(angle_deg):
        trial = base.trial.model_copy(update={"angle_deg": angle_deg})
        return all(check.ok for check in impact_checks(Rig(base.model_copy(update={"trial": trial}))))

    assert accepted(40.0)
    assert not accepted(39.99)


# ---- every experiment ----
def finished(name):
    """A run of an experiment that went through, without a tick."""
    config = load_config("sim_impact" if name == "jog" else "sim_normal_force", [f"experiment={name}"])
    experiment = experiment_named(name)(Rig(config), lambda *_: ())
    experiment.state = experiment.states.DONE
    safety = SafetyMonitor(Rig(config))
    return FinishedRun(
        Rig(config), SimpleNamespace(experiment=experiment, safety=safety), None,
        SimpleNamespace(loads=None, traction=None),
        np.zeros(0, tick_dtype(config.layout)), None, np.zeros(0, EVENT), None, None, 0.0,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["drive", "jog", "normal_force", "slope"])
def test_a_run_is_accepted_if_it_went_through_and_nothing_speaks_against_it(name):
    run = finished(name)
    run.experiment.touched = False
    assert (run.experiment.summarise(run)["accepted"], run.experiment.summarise(run)["reasons"]) == (True, [])
    run.experiment.state = run.experiment.states.ABORTED
    assert not run.experiment.summarise(run)["accepted"]
    run.experiment.state = run.experiment.states.DONE
    run.cycle.safety.report(Alarm(Fault.EXCEPTION, math.nan, math.nan, "x"), 1, 0)
    assert (run.experiment.summarise(run)["accepted"], run.experiment.summarise(run)["reasons"]) == (
        False,
        ["fault 27: x"],
    )


def test_of_what_is_only_marked_a_value_near_its_limit_speaks_against_any_run():
    run = finished("drive")
    run.cycle.safety.warnings.append(Event(Alarm(Fault.MEASURED_NEAR_LIMIT, 20.0, 21.0, "supply: 20 V"), 1, 0))
    assert run.experiment.summarise(run)["reasons"] == ["supply: 20 V"]


def test_a_jog_that_touched_the_obstacle_is_not_accepted():
    run = finished("jog")
    run.experiment.touched = True
    found = run.experiment.summarise(run)
    assert (found["accepted"], found["reasons"]) == (False, ["ended early: the force sensors detected an impact"])


def test_a_rover_climbs_up_to_the_slip_limit_and_no_further(monkeypatch):
    run = finished("slope")
    limit = run.config.slope.slip_limit

    def climbed(slip):
        monkeypatch.setattr("hil.experiments.throttle.traction_of", lambda *_: {"slip": slip})
        return run.experiment.summarise(run)["climbed"]

    assert climbed(limit)
    assert not climbed(math.nextafter(limit, 1.0))
    assert not climbed(None)
    run.experiment.state = run.experiment.states.ABORTED
    assert not climbed(limit)


def test_the_slip_of_a_drawbar_pull_is_within_its_tolerance_on_both_sides(monkeypatch):
    run = finished("drawbar")
    low, high = (run.config.drawbar.slip + way * run.config.drawbar.slip_tolerance for way in (-1, 1))

    def accepted(slip):
        monkeypatch.setattr("hil.experiments.throttle.traction_of", lambda *_: {"slip": slip})
        return run.experiment.summarise(run)["accepted"]

    assert accepted(low)
    assert accepted(high)
    assert not accepted(math.nextafter(low, 0.0))
    assert not accepted(math.nextafter(high, 1.0))
    assert not accepted(None)
    run.experiment.state = run.experiment.states.ABORTED
    assert not accepted(low)


# ---- loads and torques of a run with controlled wheel loads ----
def loads_met(loads_N, torques_Nm=(0.0,), most_N=300.0):
    """Whether loads (ticks, wheels) and wanted torques are within 20 N, `most_N` and 40 N m, from 1 s to 2 s."""
    wanted = SimpleNamespace(least_load_N=20.0, most_load_N=most_N, torque_limit_Nm=40.0)
    run = SimpleNamespace(config=SimpleNamespace(normal_force=wanted))
    parts = [Segment(0.0, 1.0, LoadGoal(LoadMode.PASSIVE)), Segment(1.0, 2.0, LoadGoal(LoadMode.UNIFORM))]
    t_s = np.linspace(0.5, 2.0, len(loads_N))
    active = np.array([(torques_Nm,)], dtype=[("torque_wanted_Nm", float, (len(torques_Nm),))])
    return _limits_met(run, parts, Loads("twin", t_s, np.array(loads_N), None), active)


@pytest.mark.parametrize(("limit_N", "out_N"), [(20.0, 0.0), (300.0, 400.0)])
def test_a_load_may_be_at_its_limit_and_no_further_once_the_loads_are_controlled(limit_N, out_N):
    beyond = math.nextafter(limit_N, out_N)
    assert loads_met([[100.0, 100.0], [100.0, limit_N]])
    assert not loads_met([[100.0, 100.0], [100.0, beyond]])
    assert loads_met([[100.0, beyond], [100.0, 100.0]])
    assert loads_met([[100.0, 100.0], [100.0, 1e6]], most_N=None)


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_wanted_torque_may_be_at_its_limit_and_no_further(way):
    assert loads_met([[100.0, 100.0]], (0.0, way * 40.0))
    assert not loads_met([[100.0, 100.0]], (0.0, way * 40.0 * (1.0 + 1e-6)))
