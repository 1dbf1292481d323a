"""A followed profile: refused without its instrument, followed by what is measured, judged in its window."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.app.run import run, run_experiment
from hil.config import ConfigError, load_config
from hil.experiments.follow.experiment import DONE, FOLLOW, STOPPING

SHORT = (
    "telemetry.endpoint=''", "follow.profile=[[0, 0], [1, 0.05], [7, 0.05]]", "follow.window_from_s=3",
    "follow.window_s=3.5",
)  # fmt: skip
HELD = "follow.held_back={}"


def ran(*overrides, source="sim_follow"):
    return run(load_config(source, [*SHORT, *overrides]))


def test_forward_speed_and_slip_need_an_instrument_that_measures_the_way():
    for quantity in ("forward_speed", "slip"):
        with pytest.raises(ConfigError, match=r"motion: found none, with follow\.quantity .*; allowed: an instrument"):
            load_config("sim_follow", [f"follow.quantity={quantity}", "motion=null"])
    freely = load_config("sim_follow", ["follow.quantity=wheel_speed", "motion=null"])
    assert freely.section.needs_instruments("real") == ()
    assert load_config("sim_follow").section.needs_instruments("simulated") == ("motion",)


def test_a_distance_across_the_way_does_not_measure_it():
    along = ["motion.measures=distance", "motion.direction=[-1, 0.2, 0]"]
    load_config("sim_follow", along)
    with pytest.raises(ConfigError, match=r"motion\.direction: .*; allowed: within 45 degrees of the path"):
        load_config("sim_follow", [along[0], "motion.direction=[0.2, 1, 0]"])


def test_what_the_limits_do_not_allow_is_refused_all_at_once():
    given = ["follow.profile=[[0, 0], [0.01, 0.9], [9, 0.9]]", "follow.window_s=10", HELD, "loads=null"]
    with pytest.raises(ConfigError) as caught:
        load_config("sim_follow", given)
    text = str(caught.value)
    for part in ("0.9 m/s;", "m/s in a second", "follow.window_s", "loads.load_cell"):
        assert part in text


@pytest.mark.parametrize("profile", ["[[0, 0]]", "[[1, 0], [2, 0.05]]", "[[0, 0], [2, 0.05], [2, 0.04]]"])
def test_points_out_of_order_are_refused(profile):
    with pytest.raises(ConfigError, match="two points or more, the first at 0 s"):
        load_config("sim_follow", [f"follow.profile={profile}"])


@pytest.mark.parametrize(("number", "length_s", "from_s"), [(1, 22, 8), (2, 35, 15), (3, 32, 15)])
def test_the_three_drives_of_petersen_are_shipped_with_their_lengths(number, length_s, from_s):
    given = [f"follow.profile=profiles/petersen_run_{number}.csv", f"follow.window_from_s={from_s}"]
    section = load_config("sim_follow", given).follow
    assert (section.profile[-1][0], section.window_from_s, section.window_s) == (length_s, from_s, 10.0)


@pytest.mark.slow
def test_the_forward_speed_follows_what_holds_the_rover_back():
    result = ran(HELD)
    summary, ticks = result.summary, result.ticks
    assert summary["accepted"], summary["reasons"]
    assert list(dict.fromkeys(ticks["state"].tolist())) == [0, 1, FOLLOW, STOPPING, DONE]
    assert summary["slip"] == pytest.approx(0.6, abs=0.03)  # without an outer loop the rover had 0.02 m/s
    assert summary["true_speed_mps"] == pytest.approx(0.05, abs=0.003)
    assert abs(summary["slip"] - summary["true_slip"]) <= summary["slip_u95"]
    assert abs(summary["speed_mps"] - summary["true_speed_mps"]) <= summary["speed_u95_mps"] < 0.004
    assert summary["delay_ms"] == pytest.approx(50.0, abs=1.0)
    assert summary["phase_margin_deg"] > 60.0


@pytest.mark.slow
def test_delay_and_drop_outs_leave_the_speed_followed():
    summary = ran("motion.errors.drop_outs=0.3", "motion.stale_ms=1000").summary
    assert summary["accepted"], summary["reasons"]
    assert summary["error_rms_mps"] < 0.003
    assert summary["true_speed_mps"] == pytest.approx(0.05, abs=0.002)


@pytest.mark.slow
def test_a_slip_is_held_by_what_is_measured_where_the_winch_has_a_speed_of_its_own():
    held = ["follow.quantity=slip", "follow.slip=0.4", "follow.held_back={cable_mps: 0.04}"]
    summary = ran(*held, "follow.profile=[[0, 0], [1, 0.04], [7, 0.04]]").summary
    assert summary["accepted"], summary["reasons"]
    assert summary["true_slip"] == pytest.approx(0.4, abs=0.02)
    assert abs(summary["slip"] - summary["true_slip"]) <= summary["slip_u95"]


@pytest.mark.slow
def test_a_slip_that_nothing_makes_ends_at_the_limit_and_is_not_accepted():
    summary = ran("follow.quantity=slip", "follow.slip=0.5", "follow.most_slip=0.6").summary
    assert not summary["accepted"]
    assert any("at a limit" in reason for reason in summary["reasons"])
    assert any(reason.startswith("slip is 0.2") for reason in summary["reasons"])


@pytest.mark.slow
def test_by_duty_the_loop_is_closed_here():
    rover = ["experiment=follow", "motion={}", "residuals={}", "follow.full_duty_mps=0.175", "follow.slip=0.2", HELD]
    result = ran(*rover, source="sim_drawbar")
    assert result.summary["accepted"], result.summary["reasons"]
    assert result.summary["true_speed_mps"] == pytest.approx(0.05, abs=0.002)
    driving = result.ticks["state"] == FOLLOW
    assert (result.ticks["duty"][driving] > 0.0).all()


@pytest.mark.slow
def test_a_wheel_speed_needs_no_instrument(tmp_path):
    given = [*SHORT, "follow.quantity=wheel_speed", "motion=null"]
    outcome = run_experiment(load_config("sim_follow", given), tmp_path, progress=lambda _: None)
    summary = outcome.summary
    assert summary["accepted"], summary["reasons"]
    assert summary["error_rms_mps"] < 1e-3
    assert (summary["measured"], summary["slip"]) == (False, None)
    assert (tmp_path / "follow.png").stat().st_size > 10_000
    assert replay(tmp_path).differences == []


@pytest.mark.slow
def test_gains_without_margins_are_not_armed():
    given = ["follow.loop.integral_per_s=40", "follow.profile=[[0, 0], [1, 0.05], [1.5, 0.05]]"]
    given += ["follow.window_from_s=0.5", "follow.window_s=0.5", "telemetry.endpoint=''"]
    result = run(load_config("sim_follow", given))
    assert result.exit_code == 3
    assert any("margins of the outer loop" in reason for reason in result.summary["reasons"])
    assert (np.asarray(result.ticks["state"]) != FOLLOW).all()
