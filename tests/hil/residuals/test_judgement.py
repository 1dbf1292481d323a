"""Thresholds from good runs, for which runs they hold, and what a run that is over one comes to."""

import json

import numpy as np
import pytest

from hil.app.run import run
from hil.config import ConfigError, load_config
from hil.config.checks.sensor_cross_checks import NotAlikeError, conditions, unlike
from hil.messages.fault import Fault
from hil.residuals.judgement import MARK, JudgedValue, judge, marks, thresholds
from hil.signals.calibration_fits import CalibrationError

QUIET = "telemetry.endpoint=''"
PLAIN = "residuals.calibration=null"


@pytest.mark.slow
def test_a_good_run_of_a_shipped_config_is_judged_and_accepted(impact):
    result = run(load_config("sim_impact", [QUIET], seed=77))
    assert (result.summary["accepted"], result.summary["reasons"]) == (True, [])
    residuals = result.summary["residuals"]
    assert residuals["not_judged"] == ""
    assert {one["name"] for one in residuals["values"]} >= {"force_share", "force_impulse", "wheel_speed", "age"}
    assert all(one["ok"] for one in residuals["values"])


@pytest.mark.slow
def test_a_run_with_a_sensor_of_half_its_gain_is_marked_in_summary_and_events():
    result = run(load_config("sim_impact", [QUIET, "plant.spread.sensitivity=0.2"], seed=3))
    assert not result.summary["accepted"]
    assert not result.summary["aborted"]
    reason = result.summary["reasons"][0]
    assert reason.startswith("implausible value, force_")
    assert "expected" in reason
    assert "look at: sensitivit" in reason
    found = result.events[result.events["id"] == Fault.IMPLAUSIBLE_VALUE]
    assert len(found) == len(result.summary["reasons"])
    assert set(found["name"]) == {MARK.encode()}
    assert result.exit_code == 0


@pytest.mark.slow
def test_a_run_of_another_trial_is_not_judged_and_says_so():
    result = run(load_config("sim_impact", [QUIET, "trial.angle_deg=75"]))
    assert result.summary["accepted"]
    assert result.summary["residuals"] == {"not_judged": "trial: not as in the good runs", "values": []}


def test_thresholds_hold_between_the_values_of_the_good_runs():
    configs = [load_config("sim_impact", [PLAIN, f"trial.angle_deg={angle}"]) for angle in (50, 60, 70)]
    sections, between = conditions(configs)
    assert between == {"trial.angle_deg": (50.0, 70.0)}
    sheet = {"runs": 5, "sections": sections, "between": {key: list(pair) for key, pair in between.items()}}
    given = f"residuals.calibration={json.dumps({**sheet, 'thresholds': {}})}"
    assert unlike(load_config("sim_impact", [given, "trial.angle_deg=55"])) == ""
    assert "trial.angle_deg is 75.0, and 50 to 70" in unlike(load_config("sim_impact", [given, "trial.angle_deg=75"]))
    assert unlike(load_config("sim_impact", [given, "soil.exponent=0.8"])) == "soil: not as in the good runs"
    assert unlike(load_config("sim_impact", [given, "seed=9", "plant.spread.mass=0.1", "record.flush_ms=20"])) == ""


def test_runs_that_differ_in_more_than_numbers_are_not_alike():
    configs = [load_config("sim_impact", [PLAIN, f"trial.release={how}"]) for how in ("automatic", "operator")]
    with pytest.raises(NotAlikeError, match=r"trial\.release: found automatic, operator; allowed: one value"):
        conditions(configs)
    with pytest.raises(CalibrationError, match="the runs are not alike"):
        thresholds([*configs] * 3, [{}] * 6)


def test_a_threshold_leaves_out_one_good_run_in_thousands():
    config, random = load_config("sim_impact", [PLAIN]), np.random.default_rng(1)
    drawn = random.normal(10.0, 1.0, (300, 6))
    wheels = config.layout.wheels
    values = [{"current_share": dict(zip(wheels, one, strict=True))} for one in drawn.tolist()]
    found = thresholds([config] * 300, values)["thresholds"]["current_share"]
    fresh = random.normal(10.0, 1.0, (20000, 6))
    outside = [
        (one < low) | (one > high) for one, (low, high) in zip(fresh.T, (found[name] for name in wheels), strict=True)
    ]
    assert np.any(outside, axis=0).mean() < 1e-3
    assert all(2.0 < high - 10.0 < 6.0 for _, high in found.values())


def test_few_good_runs_give_wide_thresholds_and_too_few_give_none():
    config, random = load_config("sim_impact", [PLAIN]), np.random.default_rng(2)
    values = [{"force_peak": {"sum": one}} for one in random.normal(1.0, 0.1, 200).tolist()]

    def width(count):
        low, high = thresholds([config] * count, values[:count])["thresholds"]["force_peak"]["sum"]
        return high - low

    assert width(6) > 2.0 * width(200)
    with pytest.raises(CalibrationError, match="found 4 runs, allowed: 5 or more"):
        thresholds([config] * 4, values[:4])


def test_of_a_residual_the_element_that_is_furthest_over_is_marked():
    judged = [
        JudgedValue("force_share", "top", 0.5, -0.1, 0.1),
        JudgedValue("force_share", "lower_left", -0.2, -0.1, 0.1),
        JudgedValue("age", "daq", 0.5, 0.0, 1.0),
    ]
    assert [(one.name, one.element, one.limit) for one in marks(judged)] == [("force_share", "top", 0.1)]


def test_what_has_no_threshold_is_not_judged():
    assert judge(load_config("sim_impact", [PLAIN]), {"age": {"daq": 1e6}}) == []


@pytest.mark.parametrize(
    ("sheet", "words"),
    [
        ({"runs": 4, "sections": {}, "thresholds": {}}, "runs"),
        ({"runs": 5, "sections": {}, "thresholds": {"tastes_odd": {}}}, "tastes_odd"),
        ({"runs": 5, "sections": {"trial": "x"}, "thresholds": {}}, "sections"),
        ({"runs": 5, "sections": {}, "thresholds": {"age": {"daq": [2.0, 1.0]}}}, "2 to 1"),
        ({"runs": 5, "sections": {}, "thresholds": {"age": {"daq": [2.0]}}}, "age"),
    ],
)
def test_thresholds_that_are_none_are_refused(sheet, words):
    with pytest.raises(ConfigError, match=words):
        load_config("sim_impact", [f"residuals.calibration={json.dumps(sheet)}"])


@pytest.mark.parametrize(
    ("setting", "words"), [(PLAIN, "safe with no residuals.calibration"), ("trial.angle_deg=75", "trial: not as in")]
)
def test_safe_is_refused_without_thresholds_of_such_runs(setting, words):
    with pytest.raises(ConfigError, match=words):
        load_config("sim_impact", ["residuals.reaction=safe", setting])
