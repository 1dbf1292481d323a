"""Gaits and programmes as set-points over time."""

from __future__ import annotations

import numpy as np
import pytest

from hil.config.schema.walk import read_gait
from hil.control.motions.geometry import Geometry, route_legs
from hil.control.motions.timeline import STEP_S, PaceLimits, Programme
from models.rover import RcpParameters

LEGS = tuple(name for name in RcpParameters.lockable() if name.endswith("walking"))
STEERS = tuple(name for name in RcpParameters.lockable() if name.endswith("steering"))
LIMITS = PaceLimits(joint_rate=0.3, joint_acceleration=0.6, wheel_acceleration=1.0)
LENGTH, SWING = 0.4711 - 0.175, np.radians(15.0)
INCH_WORM = """duration_s,front_walking_deg,middle_walking_deg,rear_walking_deg,front_wheels,rear_wheels
4,-15,0,15,roll,hold
4,15,0,-15,hold,roll
"""
AXLES = """\
duration_s,front_walking_deg,middle_walking_deg,rear_walking_deg,wheels,front_wheels,middle_wheels,rear_wheels
3,-15,15,15,hold,roll,,
3,,-15,,hold,,roll,
3,,,-15,hold,,,roll
4,15,15,15,hold,,,
"""


def programme(driven=LEGS, limits=LIMITS):
    return Programme(Geometry(RcpParameters().tree(), driven), limits)


def advance(text, cycles=2):
    made = programme()
    phases = read_gait(text)
    made.begin_gait(phases)
    begun = made.timeline().path[-1]
    for _ in range(cycles):
        made.cycle(phases)
    return (made.timeline().path[-1] - begun) / cycles, made.timeline()


def test_an_inch_worm_advances_by_the_stride_of_both_axles_a_cycle():
    by_cycle, _ = advance(INCH_WORM)
    assert by_cycle[0] == pytest.approx(4.0 * LENGTH * np.sin(SWING), rel=1e-3)
    assert by_cycle[1:] == pytest.approx(0.0, abs=1e-12)


def test_axle_by_axle_advances_by_one_stride_a_cycle():
    by_cycle, timeline = advance(AXLES)
    assert by_cycle[0] == pytest.approx(2.0 * LENGTH * np.sin(SWING), rel=1e-3)
    assert timeline.slip.max() < 5e-4  # legs of different places: what six held wheels do not agree on


def test_locked_wheels_advance_by_their_radius_more():
    by_cycle, timeline = advance(INCH_WORM.replace("hold", "lock"))
    assert by_cycle[0] == pytest.approx(4.0 * LENGTH * np.sin(SWING) + 4.0 * 0.175 * SWING, rel=1e-3)
    locked = timeline.standing > 0.0
    assert locked.any()
    assert np.all(timeline.speeds[locked] == 0.0)


def test_the_drive_of_a_wheel_that_holds_turns_back_what_its_leg_turns():
    _, timeline = advance(INCH_WORM, cycles=1)
    rates = np.gradient(timeline.angles, STEP_S, axis=0)
    held = timeline.standing > 0.0
    assert timeline.speeds[held] == pytest.approx(-rates[held], abs=2e-3)


def test_angles_and_speeds_of_a_programme_have_no_jumps_and_end_at_rest():
    made = programme((*LEGS, *STEERS))
    made.move((0.05, 0.0, 0.02), 6.0)
    made.end_part()
    made.move((0.0, 0.0, 0.1), 6.0)
    made.pose(np.zeros(12))
    timeline = made.timeline()
    wheel, rate, acceleration = (float(np.abs(each).max()) for each in timeline.accelerations())
    assert wheel <= LIMITS.wheel_acceleration
    assert rate <= LIMITS.joint_rate * 1.001
    assert acceleration <= LIMITS.joint_acceleration * 1.001
    assert not timeline.speeds[-1].any()
    assert set(timeline.part.tolist()) == {0, 1}


def test_an_arc_ends_where_its_radius_and_length_say():
    made = programme(STEERS)
    made.move((0.05, 0.0, 0.05 / 1.5), 40.0)
    x, y, yaw = made.timeline().path[-1]
    assert (x, y) == pytest.approx((1.5 * np.sin(yaw), 1.5 * (1.0 - np.cos(yaw))), abs=1e-6)
    ramp = 1.875 * np.abs(made.timeline().speeds).max() / LIMITS.wheel_acceleration
    assert 1.5 * yaw == pytest.approx(0.05 * (40.0 - ramp), abs=2e-3)


def test_a_motion_too_short_for_its_speed_is_refused_with_the_time_it_needs():
    with pytest.raises(ValueError, match=r"needs 1\.07 s to speed up and to stop"):
        programme(()).move((0.05, 0.0, 0.0), 0.5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the header is"),
        ("duration_s,front\n1,2\n", "the header is"),
        ("duration_s,walking_deg\n", "0 rows"),
        ("duration_s,walking_deg\n0,5\n", "row 2: duration_s is '0'; a number from 0.1 to 600"),
        ("duration_s,walking_deg\n1,nan\n", "row 2: walking_deg is 'nan'"),
        ("duration_s,walking_deg\n1\n", "row 2 has 1 columns; 2"),
        ("# one\n\nduration_s,wheels\n1,stand\n", "row 4: wheels is 'stand'; hold, lock or roll"),
    ],
)
def test_a_table_that_is_no_gait_is_refused_with_its_row(text, words):
    with pytest.raises(ValueError, match=words):
        read_gait(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "duration_s,front_steering_deg\n1,5\n",
            "front_steering_deg fits no driven joint; driven are front_left_walking",
        ),
        ("duration_s,fourth_wheels\n1,hold\n", "fourth_wheels fits no wheel; wheels are front_left"),
    ],
)
def test_a_gait_of_another_rover_is_refused_with_what_this_one_has(text, words):
    with pytest.raises(ValueError, match=words):
        programme().cycle(read_gait(text))


@pytest.mark.parametrize("corner_m", [0.0, 0.4])
def test_a_route_ends_at_its_last_point_within_the_limits(corner_m):
    made, points = programme(STEERS), [(0.8, 0.2), (1.5, 1.2), (0.5, 1.6)]
    for leg in route_legs(points, corner_m):
        made.go(*leg, 0.05, 0.1)
    timeline = made.timeline()
    x, y, yaw = timeline.path[-1]
    assert (x, y) == pytest.approx(points[-1], abs=5e-3)
    assert np.arctan2(np.sin(yaw), np.cos(yaw)) == pytest.approx(np.arctan2(0.4, -1.0), abs=2e-3)
    wheel, _, _ = (float(np.abs(each).max()) for each in timeline.accelerations())
    assert wheel <= LIMITS.wheel_acceleration
    assert np.abs(timeline.twist[:, 0]).max() <= 0.05 + 1e-12
    passes = np.hypot(timeline.path[:, 0] - 0.8, timeline.path[:, 1] - 0.2).min()
    assert passes < 5e-3 if corner_m == 0.0 else 0.01 < passes < corner_m


def test_a_route_of_short_lines_never_comes_to_its_speed_and_goes_their_way():
    made = programme(())
    made.go(0.02, 0.0, 1.0, 0.1)
    assert made.timeline().path[-1, 0] == pytest.approx(0.02, abs=5e-4)
    assert made.timeline().twist[:, 0].max() < 0.2


@pytest.mark.parametrize(
    ("points", "corner_m", "words"),
    [([(1.0, 0.0), (1.0, 0.0)], 0.0, "two way points in one place"), ([(1.0, 0.0), (1.0, 0.2)], 0.5, "at least 0.5 m")],
)
def test_a_route_that_cannot_be_gone_is_refused_with_its_point(points, corner_m, words):
    with pytest.raises(ValueError, match=words):
        route_legs(points, corner_m)
