"""Drawbar pull and slope: their states in order, what is measured, and how a run is judged."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.app.run import run, run_experiment
from hil.config import ConfigError, load_config
from hil.experiments.throttle import DONE, MEASURE, RAMP, SETTLE, STOPPING, wanted_loads
from hil.messages.loads import LoadMode
from hil.recording import read_trial

WHEELS = ("front_left", "front_right", "middle_left", "middle_right", "rear_left", "rear_right")
QUIET = "telemetry.endpoint=''"
SHORT = (QUIET, "drawbar.settle_s=1.5", "drawbar.measure_s=0.5")


@pytest.fixture(scope="module")
def drawbar():
    return run(load_config("sim_drawbar", SHORT))


def states(ticks):
    return list(dict.fromkeys(ticks["state"].tolist()))


def test_it_ramps_settles_and_measures_and_is_cut_but_while_it_drives(drawbar):
    ticks = drawbar.ticks
    assert states(ticks) == [0, 1, RAMP, SETTLE, MEASURE, STOPPING, DONE]
    assert (ticks["cut"] == ~_driving(ticks)).all()
    assert (ticks["state"] == MEASURE).sum() == 500


def test_the_duty_rises_by_a_ramp_and_then_is_constant(drawbar):
    ticks = drawbar.ticks
    assert (ticks["duty"][~_driving(ticks)] == 0.0).all()
    ramp = ticks["duty"][ticks["state"] == RAMP]
    assert ramp[250] == pytest.approx([0.225] * 6, rel=0.01)
    assert (ticks["duty"][ticks["state"] == MEASURE] == 0.45).all()
    assert ticks["clamped"][-1] == 0


def test_the_slip_that_was_wanted_is_reached_and_the_pull_measured(drawbar):
    summary = drawbar.summary
    assert summary["accepted"], summary["reasons"]
    assert summary["slip"] == pytest.approx(0.2, abs=0.01)
    assert (summary["slip_from"], summary["duty"], summary["speed_set_mps"]) == ("simulated rig", 0.45, None)
    assert 300.0 < summary["pull_N"] < 450.0  # the twin has no say in it


@pytest.mark.slow
def test_a_slip_that_was_not_reached_is_not_accepted():
    config = load_config("sim_drawbar", [*SHORT, "drawbar.largest_N=50"])
    summary = run(config).summary
    assert not summary["accepted"]
    assert any(reason.startswith("slip is 0.0") and "allowed: 0.17 to 0.23" in reason for reason in summary["reasons"])


@pytest.mark.slow
def test_a_rover_climbs_if_its_slip_stays_under_the_limit():
    level = [QUIET, "experiment=slope", "slope.duty=0.45", "slope.settle_s=0.5", "slope.measure_s=0.5"]
    climbs = run(load_config("sim_drawbar", level)).summary
    assert climbs["accepted"]
    assert climbs["climbed"]
    assert 0.0 < climbs["slip"] < 0.1
    slips = run(load_config("sim_drawbar", [*level, "slope.slip_limit=0.01"])).summary
    assert slips["accepted"]
    assert not slips["climbed"]


@pytest.mark.slow
def test_a_run_leaves_a_figure_and_a_record_that_replays(tmp_path):
    config = load_config("sim_drawbar", ["telemetry.endpoint=''", "drawbar.settle_s=0.2", "drawbar.measure_s=0.2"])
    assert run_experiment(config, tmp_path, progress=lambda _: None).exit_code == 0
    assert (tmp_path / "drawbar.png").stat().st_size > 10_000
    assert read_trial(tmp_path, trusted=True).meta["experiment"] == "drawbar"
    assert replay(tmp_path).differences == []


WITHOUT_CELL = ("loads=null", "drawbar.modes=[passive]")


@pytest.mark.slow
def test_loads_that_follow_from_a_pull_which_nobody_measures_are_not_known(tmp_path):
    """The winch moves them by half of their mean; the rover twin would be right about none."""
    config = load_config("sim_drawbar", [*SHORT, *WITHOUT_CELL])
    summary = run_experiment(config, tmp_path, progress=lambda _: None).summary
    assert summary["accepted"], summary["reasons"]
    assert (summary["load_N"], summary["load_from"], summary["spread"]) == (None, None, None)
    assert summary["pull_from"] == summary["slip_from"] == "simulated rig"
    tick = read_trial(tmp_path, trusted=True).tick
    for field in ("normal_force_N", "sinkage_m", "slip", "speed_mps"):
        assert np.isnan(tick[field]).all(), field


@pytest.mark.slow
def test_leg_sensors_measure_the_loads_whatever_pulls():
    config = load_config("sim_drawbar", [*SHORT, "loads={leg_sensors: {}}", "drawbar.modes=[passive]"])
    summary = run(config).summary
    assert summary["load_from"] == "leg sensors"
    assert sum(summary["load_N"]) == pytest.approx(120.0 * 9.81, rel=0.02)


@pytest.mark.parametrize("loads", ["null", "{leg_sensors: {}}"])
@pytest.mark.parametrize("modes", [("uniform", "passive"), ("passive", "max_traction")])
def test_loads_are_not_controlled_against_a_pull_which_nobody_measures(loads, modes):
    given = [f"loads={loads}", f"drawbar.mode={modes[0]}", f"drawbar.modes=[{modes[1]}]"]
    with pytest.raises(ConfigError, match=r"loads\.load_cell: found none, .*; allowed: a load cell"):
        load_config("sim_drawbar", given)


def test_heavy_axles_have_their_share_and_the_others_the_rest():
    front = wanted_loads("front_heavy", 0.5, WHEELS)
    assert (front.mode, front.share) == (LoadMode.SHARE, (0.25, 0.25, 0.125, 0.125, 0.125, 0.125))
    assert wanted_loads("rear_heavy", 0.6, WHEELS).share == pytest.approx((0.1, 0.1, 0.1, 0.1, 0.3, 0.3))
    assert wanted_loads("max_traction", 0.5, WHEELS).mode == LoadMode.MAX_TRACTION


def test_only_a_series_with_other_modes_has_a_load_controller():
    assert not load_config("sim_drawbar", ["drawbar.modes=[passive]"]).layout.controls_loads
    assert load_config("sim_drawbar", ["drawbar.modes=[passive, uniform]"]).layout.controls_loads


def test_wrong_settings_are_refused_all_at_once():
    with pytest.raises(ConfigError) as caught:
        load_config(
            "sim_drawbar",
            ["drawbar.duty=null", "drawbar.speed_mps=1", "ground.kind=firm", "drawbar.modes=[passive]",
             "drawbar.weights=[{name: a}, {name: a}]"],
        )  # fmt: skip
    text = str(caught.value)
    for key in ("drawbar.speed_mps", "drawbar.ramp_s", "ground.kind", "drawbar.weights"):
        assert key in text


def test_modes_that_need_cylinders_are_refused_without_them():
    with pytest.raises(ConfigError, match=r"drawbar\.modes: found passive, uniform; allowed: passive: w"):
        load_config("sim_drawbar", ["cylinders.joints=[]", "drawbar.modes=[passive, uniform]"])


def _driving(ticks):
    return (ticks["state"] == RAMP) | (ticks["state"] == SETTLE) | (ticks["state"] == MEASURE)
