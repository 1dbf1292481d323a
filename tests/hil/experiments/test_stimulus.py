"""A stimulus: what the table says is what the wheels and valves are told, tick by tick."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.app.run import run, run_experiment
from hil.config import load_config
from hil.experiments.stimulus import StimulusState

RAMPS = "time_s,speed_mps,front_left_mps\n0,0,0\n0.4,0.04,0.02\n0.7,0.04,0.02\n1,-0.02,0\n1.2,0,0\n"
STEPS = "time_s,speed_mps\n0,0\n0.1,0.04\n0.6,0.01\n1,0\n"
VALVES = "time_s,left_extend,right_retract\n0,0,0\n0.2,1,0\n0.5,1,1\n0.7,0,0\n1,0,0\n"


def config_of(table, *overrides, source="sim_stimulus"):
    text = table.replace("\n", "\\n")
    return load_config(source, [f'stimulus.table="{text}"', "telemetry.endpoint=''", *overrides])


def played(table, *overrides, source="sim_stimulus"):
    outcome = run(config_of(table, *overrides, source=source))
    assert outcome.summary["reasons"] == []
    return outcome, outcome.ticks[outcome.ticks["state"] == StimulusState.PLAY]


@pytest.fixture(scope="module")
def ramps():
    return played(RAMPS)


def test_speeds_are_on_the_line_between_two_rows_wheel_by_wheel(ramps):
    outcome, rows = ramps
    t_s = (rows["t_ns"] - rows["t_ns"][0]) * 1e-9
    radius_m = load_config("sim_stimulus").wheel_radius_m
    times = [0.0, 0.4, 0.7, 1.0, 1.2]
    others = np.interp(t_s, times, [0.0, 0.04, 0.04, -0.02, 0.0]) / radius_m
    np.testing.assert_allclose(rows["set_speed_radps"][:, 1:], np.column_stack([others] * 3), atol=1e-9)
    first = np.interp(t_s, times, [0.0, 0.02, 0.02, 0.0, 0.0]) / radius_m
    np.testing.assert_allclose(rows["set_speed_radps"][:, 0], first, atol=1e-9)
    assert len(rows) == 1200
    assert outcome.ticks["clamped"][-1] == 0


def test_before_and_after_the_table_the_drives_are_cut(ramps):
    ticks = ramps[0].ticks
    assert (ticks["cut"] == (ticks["state"] != StimulusState.PLAY)).all()
    assert ticks["state"][-1] == StimulusState.DONE


def test_the_summary_says_how_the_wheels_followed(ramps):
    outcome, rows = ramps
    error = load_config("sim_stimulus").wheel_radius_m * (rows["set_speed_radps"] - rows["wheel_speed_radps"])
    summary = outcome.summary
    assert (summary["rows"], summary["length_s"], summary["played_s"]) == (5, 1.2, 1.2)
    assert summary["error_rms_mps"] == pytest.approx(np.sqrt((error**2).mean()))
    assert summary["error_largest_mps"] == pytest.approx(np.abs(error).max())
    np.testing.assert_allclose(summary["error_rms_by_wheel_mps"], np.sqrt((error**2).mean(axis=0)))
    assert summary["way_m"] == pytest.approx(rows["speed_mps"].sum() * 1e-3)


def test_held_rows_are_reached_by_a_ramp_that_the_limiter_need_not_clamp():
    outcome, rows = played(STEPS, "stimulus.interpolation=held")
    config = load_config("sim_stimulus")
    speeds = rows["set_speed_radps"][:, 0] * config.wheel_radius_m
    assert speeds[:101] == pytest.approx([0.0] * 100 + [speeds[100]])
    assert speeds[590] == pytest.approx(0.04)
    assert speeds[990] == pytest.approx(0.01)
    change = 0.5 * config.limits.wheel_acceleration_radps2 / config.loop.rate_hz
    assert np.abs(np.diff(rows["set_speed_radps"][:, 0])).max() <= change * (1 + 1e-9)
    assert outcome.ticks["clamped"][-1] == 0


@pytest.mark.slow
def test_valves_are_held_between_rows_and_without_speeds_the_drives_stay_cut():
    far = ("experiment=stimulus",)
    outcome, rows = played(VALVES, *far, source="sim_impact")
    t_ms = (rows["t_ns"] - rows["t_ns"][0]) // 1_000_000
    valves = rows["valves"].reshape(len(rows), -1).astype(bool)
    names = list(load_config("sim_impact").layout.valves)
    np.testing.assert_array_equal(valves[:, names.index("left_extend")], (t_ms >= 200) & (t_ms < 700))
    np.testing.assert_array_equal(valves[:, names.index("right_retract")], (t_ms >= 500) & (t_ms < 700))
    assert outcome.ticks["cut"].all()
    assert outcome.summary["error_rms_mps"] is None


@pytest.mark.slow
def test_a_run_leaves_a_figure_and_a_record_that_replays(tmp_path):
    assert run_experiment(config_of(STEPS), tmp_path, progress=lambda _: None).exit_code == 0
    assert (tmp_path / "stimulus.png").stat().st_size > 10_000
    assert replay(tmp_path).differences == []
