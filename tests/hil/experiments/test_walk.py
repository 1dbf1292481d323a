"""Experiment walk: what it plays is within the limits, and how it is judged."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hil.app.run import run_experiment
from hil.config import ConfigError, load_config
from hil.config.rig import Rig
from hil.config.schema.walk import shipped_gaits
from hil.control.motions.timeline import STEP_S
from hil.experiments.figure_form import FigureForm
from hil.experiments.walk.judgement import (
    BodyPoses,
    WalkRecord,
    joint_torques,
    path_errors,
    slides,
    twin_places,
    wanted_places,
)
from hil.experiments.walk.programme import WALK, WalkExperiment, geometry_of, programme_checks, walk_timeline
from hil.recording import open_trial, read_trial

QUIET = "telemetry.endpoint=''"
STEERED = "servos.joints={walking: {}, steering: {range_deg: [-70, 70]}}"


def config_of(*overrides):
    return load_config("sim_walk", [QUIET, *overrides])


WIDE = "servos.joints={walking: {}, steering: {range_deg: [-90, 90]}}"
FAST = ("servos.rate_degps=60", "servos.acceleration_degps2=400", "servos.position_gain=50")


def stepped(*steps):
    return "walk.steps=" + json.dumps(steps)


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """Config, summary, ticks and folder of one cycle."""
    config = config_of(stepped({"motion": "gait", "cycles": 1}))
    run = run_experiment(config, tmp_path_factory.mktemp("walk"), lambda _: None, figure=False)
    return config, run.summary, read_trial(run.folder).tick, run.folder


@pytest.mark.slow
def test_a_cycle_of_inch_worming_advances_nearly_by_its_strides_and_wheels_that_hold_stand(walked):
    _, summary, _, _ = walked
    assert summary["accepted"], summary["reasons"]
    assert summary["advance_wanted_m"] == pytest.approx(0.3066, abs=1e-3)
    assert 0.95 * 0.3066 < summary["advance_m"] < 0.3066
    assert summary["slide_m"] < 0.003
    assert summary["slide_by_wheel_m"][2:4] == [None, None]  # the middle wheels never hold


@pytest.mark.slow
def test_what_is_commanded_is_what_the_motions_say(walked):
    config, _, ticks, _ = walked
    rows = ticks[ticks["state"] == WALK]
    line = walk_timeline(Rig(config), config.walk)
    t_s = STEP_S * np.arange(len(line.part))
    elapsed = (rows["t_ns"] - rows["t_ns"][0]) * 1e-9
    for servo in range(6):
        wanted = np.interp(elapsed, t_s, line.angles[:, servo])
        assert rows["set_servo_angle_rad"][:, servo] == pytest.approx(wanted, abs=1e-5)  # smooth, not straight
    for wheel in range(6):
        assert rows["set_speed_radps"][:, wheel] == pytest.approx(
            np.interp(elapsed, t_s, line.speeds[:, wheel]), abs=1e-9
        )
    assert rows["clamped"].max() == 0


@pytest.mark.ci_cases("screen")
@pytest.mark.slow
@pytest.mark.parametrize("width", ["screen", "single"])
def test_the_figure_shows_angles_errors_and_torques_of_the_joints(walked, width):
    _, summary, ticks, folder = walked
    with open_trial(folder) as record:
        figure = WalkExperiment.plot(record, summary, folder.name, FigureForm(width))
    panels = [axes for axes in figure.axes if axes.lines]
    assert len(panels) == 6
    angles, errors, torques = panels[:3]
    upright = [line for line in angles.lines if np.size(line.get_xdata()) == 2]  # where a phase or a motion ends
    assert len(angles.lines) - len(upright) == 12  # measured and set
    assert any(text.get_text() == "walk" for text in angles.texts)
    shown = [np.abs(line.get_ydata()).max() for line in errors.lines[:6]]
    assert shown == pytest.approx(summary["servo_error_by_joint_deg"], abs=0.02)
    assert np.abs(torques.lines[0].get_ydata()).max() == pytest.approx(summary["servo_torque_by_joint_Nm"][0], rel=0.01)
    assert np.isfinite(ticks["servo_torque_Nm"]).all()


def test_every_shipped_gait_is_within_the_limits_of_its_config():
    assert set(shipped_gaits()) == {"inch_worm", "axle_by_axle"}
    for name in shipped_gaits():
        config = config_of(f"walk.gait={name}")
        assert all(check.ok for check in programme_checks(Rig(config), walk_timeline(Rig(config), config.walk))), name


def test_a_programme_of_all_motions_is_within_the_limits_and_ends_where_it_says():
    steps = (
        {"motion": "straight", "duration_s": 5},
        {"motion": "arc", "radius_m": -1.5},
        {"motion": "turn", "duration_s": 8},
        {"motion": "crab", "heading_deg": 15},
        {"motion": "body_height", "change_m": -0.03},
        {"motion": "wheel_lift", "change_m": 0.01},
        {"motion": "wait", "duration_s": 1},
    )
    config = config_of(STEERED, stepped(*steps))
    line = walk_timeline(Rig(config), config.walk)
    assert [str(one) for one in programme_checks(Rig(config), line) if not one.ok] == []
    assert sorted(set(line.part.tolist())) == list(range(8))
    assert line.slip.max() < 0.03  # while wheels are steered on the spot


def test_a_phase_too_short_for_the_servos_is_refused_before_anything_moves():
    table = shipped_gaits()["inch_worm"].replace("\n5,", "\n1,")
    experiment = WalkExperiment(Rig(config_of("walk.gait=" + json.dumps(table))), lambda *_: [])
    refused = [check for check in experiment.own_checks() if not check.ok]
    assert any("speed of front left walking" in check.item and "rate_degps" in check.allowed for check in refused)


def test_a_motion_that_the_rover_cannot_make_is_refused_with_its_step():
    config = config_of(stepped({"motion": "body_height", "change_m": 0.02}))
    (check,) = WalkExperiment(Rig(config), lambda *_: []).own_checks()
    assert not check.ok
    assert "walk.steps.0, body_height: front_left: raised by -0.02 m" in check.found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("servos=null", "fits no driven joint"),
        (stepped({"motion": "crab"}), "crab, 0 driven steering joints"),
        (stepped({"motion": "wheel_lift", "wheel": "fourth"}), "one of front_left, front_right"),
        (stepped({"motion": "arc", "radius_m": 0}), "0.01 m or more either way"),
        (stepped({"motion": "straight", "speed_mps": 0}), "wait is the motion at rest"),
        ("walk.gait=crawl", "one of axle_by_axle, inch_worm, or CSV text"),
        ('walk.gait="duration_s,wheels\\n1,fly\\n"', "hold, lock or roll"),
    ],
)
def test_what_the_rig_has_not_is_refused_with_what_it_has(change, words):
    with pytest.raises(ConfigError, match=words):
        config_of(change)


def test_a_wheel_that_is_drawn_back_while_it_holds_has_slid_by_that_much():
    config = config_of(stepped({"motion": "gait", "cycles": 1}))
    geometry, line = geometry_of(Rig(config)), walk_timeline(Rig(config), config.walk)
    path = line.path
    pose = np.column_stack([path[:, 0], np.zeros((len(path), 2)), np.zeros((len(path), 3)), np.ones(len(path))])
    turned = np.cumsum(line.speeds, axis=0) * STEP_S
    measured = WalkRecord(STEP_S * np.arange(len(path)), pose, line.angles, turned)
    exact = slides(geometry, measured, twin_places(measured), line)
    assert np.nanmax(exact) < 1e-3
    t_s = measured.t_s[:, None]
    back = twin_places(measured)
    moved = BodyPoses(back.place - 0.001 * t_s * np.array([1.0, 0.0, 0.0]), back.turn)
    assert slides(geometry, measured, moved, line)[4] == pytest.approx(0.005, abs=1e-3)  # 1 mm/s over a phase of 5 s


@pytest.fixture(scope="module")
def routed(tmp_path_factory):
    """Summary and ticks of a route with a corner, then of a lower body."""
    route = {"motion": "route", "points": [[0.1, 0], [0.3, 0.04]], "corner_m": 1.0, "speed_mps": 0.5}
    config = config_of(WIDE, *FAST, stepped(route, {"motion": "body_height", "change_m": -0.02}))
    run = run_experiment(config, tmp_path_factory.mktemp("route"), lambda _: None, figure=False)
    return config, run.summary, read_trial(run.folder).tick


@pytest.mark.slow
def test_a_route_is_followed_within_the_limits_of_speed_and_acceleration(routed):
    config, summary, ticks = routed
    assert summary["accepted"], summary["reasons"]
    route = summary["parts"][0]
    assert route["wanted"][:2] == pytest.approx([0.300, 0.040], abs=2e-3)
    for source in ("twin", "true"):
        assert route[source][:2] == pytest.approx(route["wanted"][:2], abs=0.02)
        assert route[source][2] == pytest.approx(route["wanted"][2], abs=1.5)
        assert 0.0 < route[f"path_error_{source}_m"] < 0.01
        assert route[f"path_error_{source}_m"] < route[f"position_error_{source}_m"] < 0.02
    speeds = ticks["set_speed_radps"][ticks["state"] == WALK]
    # it asks for 0.5 m/s, more than the drives may
    assert np.abs(speeds).max() == pytest.approx(config.limits.wheel_speed_radps, rel=1e-3)
    changes = np.abs(np.diff(speeds, axis=0)) * config.loop.rate_hz
    assert changes.max() < 0.51 * config.limits.wheel_acceleration_radps2


@pytest.mark.slow
def test_the_body_comes_down_by_what_is_asked(routed):
    _, summary, _ = routed
    lower = summary["parts"][1]
    assert lower["wanted"][3] == pytest.approx(-0.02, abs=1e-4)
    for source in ("twin", "true"):
        assert lower[source][3] == pytest.approx(-0.02, abs=0.003)  # its wheels sink a little less, or more


def test_a_rover_that_lags_on_its_path_is_off_its_place_and_not_off_the_path():
    config = config_of(stepped({"motion": "straight", "duration_s": 5}))
    wanted = wanted_places(geometry_of(Rig(config)), walk_timeline(Rig(config), config.walk))
    at = np.arange(len(wanted.place))
    late = BodyPoses(0.9 * wanted.place, wanted.turn)
    assert path_errors(wanted, late, at) == pytest.approx((0.0, 0.1 * wanted.place[-1, 0]), abs=3e-4)
    beside = BodyPoses(wanted.place + np.outer(at / at[-1], [0.0, 0.03, 0.0]), wanted.turn)
    assert path_errors(wanted, beside, at) == pytest.approx((0.03, 0.03), abs=3e-4)


def test_the_wanted_height_is_that_of_the_legs():
    config = config_of(stepped({"motion": "body_height", "change_m": -0.03}))
    wanted = wanted_places(geometry_of(Rig(config)), walk_timeline(Rig(config), config.walk))
    assert wanted.place[-1, 2] == pytest.approx(-0.03, abs=1e-9)


def test_the_time_at_a_torque_limit_is_counted_for_each_joint():
    blocks = [np.zeros(40, [("servo_torque_Nm", "f4", (2,))]) for _ in range(2)]
    blocks[1]["servo_torque_Nm"][:10, 1] = -30.0
    largest, at_limit_s = joint_torques(blocks, np.array([60.0, 30.0]), 100.0)
    assert largest.tolist() == [0.0, 30.0]
    assert at_limit_s == pytest.approx([0.0, 0.1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"servo_error_by_joint_deg": [0.5, 2.5, 0, 0, 0, 0]}, "front right walking was 2.50 deg from its set angle"),
        ({"at_limit_by_joint_s": [0, 0, 0, 0, 0.4, 0]}, "rear left walking took the torque limit of its servo"),
        ({"slide_m": 0.03}, "a standing wheel slid by 0.0300 m"),
        ({"advance_m": 0.2}, "advance is 0.200 m"),
    ],
)
def test_a_walk_is_refused_with_what_was_found_and_allowed(change, words):
    config = config_of()
    found = {
        "joints": list(config.layout.servos), "advance_wanted_m": 0.3, "advance_m": 0.29, "slide_m": 0.001,
        "servo_error_by_joint_deg": [0.5] * 6, "at_limit_by_joint_s": [0.0] * 6,
    }  # fmt: skip
    experiment = WalkExperiment(Rig(config), lambda *_: [])
    assert experiment.own_reasons(found) == []
    (reason,) = experiment.own_reasons(found | change)
    assert words in reason
    assert "allowed: " in reason


@pytest.mark.slow
def test_motions_that_the_rover_cannot_make_are_not_armed_and_the_figure_is_drawn(tmp_path):
    config = config_of(stepped({"motion": "body_height", "change_m": 0.02}))
    run = run_experiment(config, tmp_path, lambda _: None)
    assert "not armed" in run.summary["reasons"][0]
    assert (tmp_path / "walk.png").stat().st_size > 10_000
