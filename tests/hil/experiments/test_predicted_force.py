"""The force that arming predicts against simulated trials, and what it refuses."""

import math

import pytest

from hil.app.run import run
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.impact.experiment import impact_checks
from hil.experiments.impact.predicted_force import predicted_force

SHORT = (
    "telemetry.endpoint=''", "trial.start_distance_m=0.05", "trial.ramp_s=0.3", "trial.settle_s=0.5",
    "record.after_s=0.5",
)  # fmt: skip
# Over the ranges of angle, speed, stiffness and delay; docs/explanation/limits.md has all of them.
TRIALS = {
    "shallow and fast": ("trial.angle_deg=40", "trial.speed_mps=0.1"),
    "steep, stiff legs": ("trial.angle_deg=90", "obstacle.leg_stiffness_Npm=2e5"),
    "cut late": ("trial.angle_deg=90", "links.drives_delay_ms=30"),
    "cut by a person": ("trial.angle_deg=60", "trial.release=operator"),
    "hard ground": ("trial.angle_deg=40", "ground.kind=firm"),
    "one wheel first": ("trial.angle_deg=60", "plant.veer.heading_deg=2"),
    "each leg a spring": ("trial.angle_deg=60", "obstacle.legs=each", "obstacle.exponent=1.5"),
}


def checks_of(config, *overrides):
    return {check.item: check for check in impact_checks(Rig(load_config(config, overrides)))}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIALS)
def test_the_predicted_force_is_over_that_of_the_trial_and_less_than_2_2_times_as_large(name):
    config = load_config("sim_impact", [*SHORT, *TRIALS[name]])
    predicted, summary = predicted_force(Rig(config)), run(config).summary
    largest_N = max(0.5 * summary["contact_force_peak_N"], summary["peak_force_N"])
    assert largest_N <= predicted.wheel_N <= 2.2 * largest_N


def test_the_prediction_grows_with_speed_stiffness_and_delay_and_ends_at_the_grip_of_the_ground():
    plain = predicted_force(Rig(load_config("sim_impact"))).wheel_N
    for worse in ("trial.speed_mps=0.08", "obstacle.leg_stiffness_Npm=7e4", "links.drives_delay_ms=20"):
        assert predicted_force(Rig(load_config("sim_impact", [worse]))).wheel_N > 1.05 * plain
    held = predicted_force(Rig(load_config("sim_impact", ["trial.release=timed"])))
    assert math.isinf(held.delay_s)
    assert 2.0 * plain < held.wheel_N < math.inf
    frictionless = ("ground.kind=firm", "ground.friction=0", "trial.release=timed")
    assert predicted_force(Rig(load_config("sim_impact", frictionless))).wheel_N < 1.5 * plain


def test_the_sensors_of_a_triangle_bear_a_half_and_a_quarter_each_and_a_bumper_all():
    top, left, right = predicted_force(Rig(load_config("sim_impact", ["daq.ring_share=0"]))).sensor_N
    assert (top, left) == pytest.approx((2.0 * right, right))
    bumper = predicted_force(Rig(load_config("bumper", ["daq.ring_share=0"])))
    assert bumper.sensor_N == pytest.approx((bumper.wheel_N, bumper.wheel_N))
    links = "[{name: link_left, across_m: 0.254}, {name: link_right, across_m: -0.254}]"
    behind = ("daq.layout=rear", f"daq.channels={links}", "trial.angle_deg=40", "daq.ring_share=0")
    rear = predicted_force(Rig(load_config("sim_impact", behind)))
    assert max(rear.sensor_N) < 0.2 * rear.wheel_N


@pytest.mark.parametrize("config", ["sim_impact", "sim_wire", "mars_dome", "bumper"])
@pytest.mark.parametrize("angle_deg", [40, 60, 90])
def test_the_trials_of_the_shipped_configs_are_within_the_limits(config, angle_deg):
    assert all(check.ok for check in checks_of(config, f"trial.angle_deg={angle_deg}").values())


@pytest.mark.parametrize(
    ("config", "overrides", "item", "found", "allowed"),
    [
        ("mars_dome", ("trial.speed_mps=0.12",), "impact speed", "0.12 m/s", "at most 0.1 m/s"),
        (
            "mars_dome",
            ("obstacle.leg_stiffness_Npm=5e6",),
            "predicted force on sensor top",
            " N: T_c 0.",
            "at most 445 N (limits.sensor_force_N)",
        ),
        (
            "bumper",
            ("trial.release=timed",),
            "predicted force on a bumper",
            "drives cut after a set time",
            "at most 300 N (limits.bumper_force_N)",
        ),
        ("bumper", ("limits.bumper_force_N=100",), "predicted force on a bumper", " N: T_c", "at most 100 N"),
    ],
)
def test_an_impact_beyond_a_limit_is_refused_with_what_is_found_allowed_and_to_be_done(
    config, overrides, item, found, allowed
):
    check = checks_of(config, *overrides)[item]
    assert not check.ok
    assert found in check.found
    assert allowed in check.allowed
    assert check.to_do.startswith("lower trial.speed_mps")


def test_a_lower_sensor_alone_can_be_the_one_that_is_refused():
    moved = "daq.channels.1.across_m=0.01"  # nearer to the wheel's line, so that it bears more than a quarter
    loads = predicted_force(Rig(load_config("sim_impact", [moved]))).sensor_N
    assert loads[1] > 1.5 * loads[2]
    limit_N = f"limits.sensor_force_N={0.5 * (loads[1] + loads[2]):.3f}"
    refused = [name for name, check in checks_of("sim_impact", moved, limit_N).items() if not check.ok]
    assert "predicted force on sensor lower_right" not in refused
    assert "predicted force on sensor lower_left" in refused


def test_arming_is_refused_over_the_limit_and_nothing_moves():
    result = run(load_config("sim_impact", [*SHORT, "limits.sensor_force_N=20"]))
    assert result.exit_code == 3
    assert not result.ticks["set_speed_radps"].any()


def test_a_limit_that_is_not_checked_says_so():
    check = checks_of("sim_impact", "limits.sensor_force_N=null")["predicted force on sensor top"]
    assert check.ok
    assert check.allowed == "not checked (limits.sensor_force_N is null)"
