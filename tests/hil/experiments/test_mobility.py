"""The metrics of how the rover stood: of rows made by hand, against statics on paper."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.mobility import balance_of, mobility, mobility_summary
from hil.experiments.summary_table import EVERY_RUN, result_rows
from hil.messages.signals import tick_dtype
from tests.rover_files import cart


def rows_of(rig, count=3):
    """Ticks of a rover that stands with all joints at zero and its weight evenly on its wheels."""
    even_N = rig.nominal.make_rover().mass * 9.80665 / len(rig.layout.wheels)
    rows = np.zeros(count, tick_dtype(rig.layout))
    rows["t_ns"] = np.arange(count) * 1_000_000
    rows["pose"][:, 6] = 1.0
    rows["normal_force_N"], rows["gap_m"] = even_N, np.nan
    return rows


def test_the_summary_says_what_the_pose_and_the_loads_of_its_ticks_say():
    rig = Rig(load_config("sim_impact"))
    rows = rows_of(rig)
    rows["normal_force_N"][1] *= np.array([0.4, 0.4, 1.3, 1.3, 1.3, 1.3])
    found = mobility(rig, rows)
    assert found.load_share[0] == pytest.approx([1 / 6] * 6)
    assert found.load_share[1] == pytest.approx([0.4 / 6] * 2 + [1.3 / 6] * 4)
    assert found.friction_needed.tolist() == [0.0] * 3
    assert (found.stability_deg == found.stability_deg[0]).all()


def test_on_a_slope_the_friction_is_its_tangent_and_the_margin_less_by_its_angle():
    rig = Rig(load_config("sim_impact", ["ground.pitch_deg=12"]))
    rows = rows_of(rig)
    angle = math.radians(-12.0)
    rows["pose"][:, 3:] = (0.0, math.sin(0.5 * angle), 0.0, math.cos(0.5 * angle))
    level = Rig(load_config("sim_impact"))
    found, flat = mobility(rig, rows), mobility(level, rows_of(level))
    assert found.friction_needed == pytest.approx([math.tan(-angle)] * 3, abs=1e-6)
    assert (found.stability_deg < flat.stability_deg - 5.0).all()


def test_a_rover_with_no_joint_but_those_of_its_wheels_has_the_metrics_of_one_whose_joints_are_at_zero():
    """The record of a rover none of whose joints turns has no field of joint angles."""
    changes = {"rover.imported.wheels": None}
    rig, free = (
        Rig(load_config("sim_imported", {**changes, "rover.imported.urdf": cart(sides=sides)}))
        for sides in ("fixed", "revolute")
    )
    found, same = mobility(rig, rows_of(rig)), mobility(free, rows_of(free))
    assert "joint_angle_rad" not in tick_dtype(rig.layout).names
    assert found.load_share == pytest.approx(same.load_share)
    assert found.stability_deg == pytest.approx(same.stability_deg)


def on_profile(overrides, place, pitch=0.0):
    """A rig of sim_step, and ticks of a rover whose base is at a place along its profile, (ahead, up) of its foot."""
    rig = Rig(load_config("sim_step", overrides))
    rows = rows_of(rig, 1)
    foot = rig.nominal.placed_profile(rig.nominal.make_rover()).point[1, 0]
    rows["pose"][0, 0], rows["pose"][0, 2] = foot + place[0], place[1]
    rows["pose"][:, 3:] = (0.0, -math.sin(0.5 * pitch), 0.0, math.cos(0.5 * pitch))
    return rig, rows


def test_on_a_face_of_a_profile_the_friction_is_the_tangent_of_that_face():
    rise = math.radians(12.0)
    along, into = 3.0, 1e-5  # pressed in by that, the wheels touch it
    place = (along * math.cos(rise) + into * math.sin(rise), along * math.sin(rise) - into * math.cos(rise))
    face = ["ground.profile.shape=slope", "ground.profile.faces=[{length_m: 6.0, angle_deg: 12.0}]"]
    found = mobility(*on_profile(face, place, rise))
    assert found.friction_needed == pytest.approx([math.tan(rise)], abs=1e-6)


def test_a_tick_in_which_a_wheel_touches_ground_and_face_is_left_out():
    high = ["ground.profile.height_m=0.3"]
    rig, rows = on_profile(high, (0.0, -1e-5))
    front = rig.nominal.make_rover()
    rim = (front.wheel_positions(front.neutral())[:, 0] + front.chain.wheel_radius).max()
    rows["pose"][0, 0] -= rim - 1e-5
    assert mobility(rig, rows).t_s.size == 0
    rows["pose"][0, 0] -= 1e-3
    assert mobility(rig, rows).t_s.size == 1


def test_ticks_against_the_obstacle_or_without_known_loads_are_left_out():
    rig = Rig(load_config("sim_impact"))
    rows = rows_of(rig, 5)
    rows["gap_m"][1], rows["normal_force_N"][2], rows["pose"][3, 0] = -1e-3, np.nan, np.nan
    assert mobility(rig, rows).t_s.tolist() == [0.0, 0.004]


def test_wheels_that_lift_do_not_count_as_support():
    rig = Rig(load_config("sim_impact"))
    rows = rows_of(rig, 1)
    rows["normal_force_N"][0] *= np.array([3.0, 3.0, 0.0, 0.0, 0.0, 0.0])  # both front wheels are left
    found = mobility(rig, rows)
    assert math.isinf(found.friction_needed[0])
    assert math.isnan(found.stability_deg[0])


@pytest.mark.slow
def test_a_wheel_that_bears_within_50_ms_counts_as_support_and_one_that_hangs_for_longer_does_not():
    rig = Rig(load_config("sim_impact"))
    rows = rows_of(rig, 300)
    rows["normal_force_N"][100:120] *= np.array([0.0, 1.5, 0.0, 1.5, 1.5, 1.5])  # chatters
    rows["normal_force_N"][200:] *= np.array([3.0, 3.0, 0.0, 0.0, 0.0, 0.0])
    found = mobility(rig, rows, most=300)
    assert (found.stability_deg[:249] == found.stability_deg[0]).all()
    assert np.isnan(found.stability_deg[252:]).all()
    assert np.isinf(found.friction_needed[252:]).all()


@pytest.mark.slow
@pytest.mark.parametrize("config", ["sim_impact", "sim_step", "sim_step_nonsmooth"])
@pytest.mark.parametrize("share", [0.0, 0.75, 1.25, 20.0])
def test_ticks_within_50_ms_of_a_hit_or_a_fall_are_left_out_on_every_ground(config, share):
    rig = Rig(load_config(config))
    rows = rows_of(rig, 201)
    rows["normal_force_N"][100] *= share
    rows["normal_force_N"][140] *= np.array([-1.0, 3.0, 1.0, 1.0, 1.0, 1.0])  # wheels that push against one another
    found = mobility(rig, rows, most=201)
    assert found.t_s * 1e3 == pytest.approx([*range(50), *range(151, 201)])
    assert found.load_share.min() == pytest.approx(1 / 6)


def test_loads_that_change_places_and_a_rover_that_is_lifted_by_a_tenth_are_no_hit():
    rig = Rig(load_config("sim_impact"))
    rows = rows_of(rig)
    rows["normal_force_N"][1] *= np.array([0.0, 0.0, 1.5, 1.5, 1.5, 1.5])
    rows["normal_force_N"][2] *= 0.9
    assert mobility(rig, rows).t_s.size == 3


@pytest.mark.parametrize(("pitch_deg", "kept"), [(0.0, 0), (-90.0, 3)])
@pytest.mark.parametrize("measured", [False, True], ids=["constant", "measured"])
def test_what_the_pull_bears_is_not_missing_from_the_loads(pitch_deg, kept, measured):
    rig = Rig(
        load_config("sim_drawbar" if measured else "sim_impact", [] if measured else ["rover.drawbar.pull_N=400"])
    )
    rows = rows_of(rig)
    if measured:
        rows["pull_N"] = 400.0
    rows["normal_force_N"] *= 1.0 - 400.0 / rows["normal_force_N"].sum(axis=1, keepdims=True)
    angle = math.radians(pitch_deg)
    rows["pose"][:, 3:] = (0.0, math.sin(-0.5 * angle), 0.0, math.cos(0.5 * angle))  # tail up, the pull is upwards
    assert np.count_nonzero(balance_of(rig, rig.nominal.make_rover(), rows).kept(rows)) == kept


def test_a_summary_says_how_long_the_ticks_are_that_it_leaves_out():
    rig = Rig(load_config("sim_impact"))
    rows = rows_of(rig, 300)
    rows["normal_force_N"][100] *= 2.0
    rows["normal_force_N"][90:110, 0] *= 0.1  # not looked at, so near to a hit
    rows["normal_force_N"][200, 0] = np.nan
    found = mobility_summary(SimpleNamespace(rig=rig, ticks=rows))["mobility"]
    assert found["disturbed_s"] == pytest.approx(0.101)
    assert found["load_share"]["front_left"] == pytest.approx({"start": 1 / 6, "least": 1 / 6, "largest": 1 / 6})


def test_a_run_that_is_one_hit_has_none():
    rig = Rig(load_config("sim_impact"))
    rows = rows_of(rig, 20)
    rows["normal_force_N"][10] *= 2.0
    assert mobility_summary(SimpleNamespace(rig=rig, ticks=rows)) == {"mobility": None}


@pytest.mark.parametrize("config", ["sim_wheel_bed"])
def test_a_wheel_on_a_carriage_has_none(config):
    rig = Rig(load_config(config))
    assert mobility(rig, rows_of(rig)) is None


def test_the_terminal_shows_the_worst_of_each():
    shares = {"front_left": {"start": 0.2, "least": 0.11, "largest": 0.3}}
    over = {"start": 0.1, "largest": None, "largest_at_s": 2.0}
    margin = {"start": 30.0, "least": 12.5, "least_at_s": 1.5}
    shown = result_rows(
        EVERY_RUN, {"mobility": {"load_share": shares, "stability_deg": margin, "friction_needed": over}}
    )
    assert [value for _, value in shown] == ["11.0 %, front left", "12.5 deg at 1.50 s", "- at 2.00 s"]
    hits = {"load_share": shares, "stability_deg": margin, "friction_needed": over, "disturbed_s": 0.1014}
    assert result_rows(EVERY_RUN, {"mobility": hits})[3] == ("near a hit or a fall, left out", "0.101 s")
    assert result_rows(EVERY_RUN, {"mobility": None}) == []
