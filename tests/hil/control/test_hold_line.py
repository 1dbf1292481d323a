"""A rover is held on a line: against the plane kinematics with delay, and within the limits of its wheels."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.problems import ConfigError
from hil.config.rig import Rig
from hil.config.schema.trial import CORNER, INTEGRAL, HoldLineConfig, least_length_m
from hil.control.wheel_speed import (
    LARGEST_SD_M,
    LARGEST_SD_RAD,
    OF_LIMITS,
    DirectSetPoints,
    HoldLine,
    hold_line,
    turning_per_metre,
)
from hil.messages.stages import Goal, Prediction

RIG = Rig(load_config("sim_impact", ["motion={}", "limits.wheel_speed_radps=2"]))
ROVER = RIG.nominal.make_rover()
K = turning_per_metre(ROVER.wheel_positions(ROVER.neutral()))
RADIUS_M, PERIOD_S = RIG.config.wheel_radius_m, 1e-3
SIDES = np.array([-1.0 if "left" in wheel else 1.0 for wheel in RIG.layout.wheels])
ZERO = (0.0,) * 6
KNOWN = SimpleNamespace(pose_sd=(1e-3,) * 6)


def prediction(offset_m=0.0, heading=0.0, gap_m=math.nan, known=KNOWN, x_m=0.0):
    pose = (x_m, offset_m, 0.0, 0.0, 0.0, math.sin(0.5 * heading), math.cos(0.5 * heading))
    return Prediction(ZERO, ZERO, ZERO, 0.0, 0.0, math.inf, True, pose=pose, gap_m=gap_m, observed=known)


def holding(**settings) -> HoldLine:
    found = hold_line(RIG, DirectSetPoints(), HoldLineConfig(**settings))
    assert isinstance(found, HoldLine)
    return found


def goal(speed_mps, **others):
    return Goal(2, False, speed_radps=(speed_mps / RADIUS_M,) * 6, **others)


def share_of(line, speed_mps, seen, ticks=1, **others):
    """The difference of a side as a share of the mean speed, once the limits of acceleration have let it through."""
    for _ in range(ticks):
        speeds = np.array(line.control(goal(speed_mps, **others), None, None, seen).speed_radps)
    return float(SIDES @ speeds) / (6.0 * speeds.mean())


def rolling(speed_mps, **settings) -> HoldLine:
    """A controller whose wheels have their speed already, on the line."""
    line = holding(**settings)
    share_of(line, speed_mps, prediction(), 1000)
    return line


def driven(line, speed_mps, *, delay_s, way_m, gain=1.0, offset_m=0.0, heading=0.0, veer_pm=0.0, crab=0.0, wall_m=None):
    """Offset and heading over the way of a rover whose motion is seen late: the plane kinematics, step by step.

    Args:
        line: of the controller.
        speed_mps: negative: backward.
        delay_s: of what is seen.
        way_m: to drive.
        gain: of the loop.
        offset_m: at the start.
        heading: at the start [rad].
        veer_pm: curvature that nobody asked for [1/m].
        crab: angle between heading and way [rad].
        wall_m: where an obstacle stands; None: nowhere.
    """
    x_m, late, rows = 0.0, round(delay_s / PERIOD_S), []
    for _ in range(round(way_m / abs(speed_mps) / PERIOD_S)):
        rows.append((x_m, offset_m, heading))
        x, y, psi = rows[max(len(rows) - 1 - late, 0)]
        gap_m = math.nan if wall_m is None else wall_m - x_m
        speeds = np.array(line.control(goal(speed_mps), None, None, prediction(y, psi, gap_m, x_m=x)).speed_radps)
        mean = float(speeds.mean()) * RADIUS_M
        turn = gain * K * float(SIDES @ speeds) / 6.0 * RADIUS_M + veer_pm * mean
        x_m += mean * math.cos(heading + crab) * PERIOD_S
        offset_m += mean * math.sin(heading + crab) * PERIOD_S
        heading += turn * PERIOD_S
    return np.array(rows)


def test_the_curvature_of_equal_slips_is_that_of_the_moments():
    """Forces proportional to the slips: the yaw rate at which their moments cancel, by least squares instead."""
    places, ahead = ROVER.wheel_positions(ROVER.neutral()), 0.01
    x, y = places[:, 0] - places[:, 0].mean(), places[:, 1]
    # slips (u - v + w y, -w x) with u - v = -sign(y) d: the w that makes their squares least makes the moments cancel
    columns, wanted = np.concatenate([y, -x]), np.concatenate([np.sign(y) * ahead, np.zeros(6)])
    rate = float(np.linalg.lstsq(columns[:, None], wanted, rcond=None)[0][0])
    assert pytest.approx(rate / ahead) == K


def frequency_response(speed_mps, length_m):
    """L(i w) without delay at frequencies w [rad/s], from the gains that the controller really has."""
    small, ticks = 1e-9, round(0.1 * length_m / speed_mps / PERIOD_S)
    by_offset, by_heading, later = (
        share_of(rolling(speed_mps, length_m=length_m), speed_mps, seen, count) / small
        for seen, count in (
            (prediction(offset_m=small), 1), (prediction(heading=small), 1), (prediction(heading=small), 1 + ticks)
        )
    )  # fmt: skip
    gain = CORNER / (K * length_m)
    assert by_heading == pytest.approx(-gain, rel=1e-3)
    assert by_offset == pytest.approx(by_heading / length_m, rel=1e-3)
    integral_pm = (later - by_heading) / by_heading / (ticks * PERIOD_S * speed_mps)
    assert integral_pm == pytest.approx(INTEGRAL / length_m, rel=1e-3)
    w = np.geomspace(1e-1, 1e2, 200_000) * speed_mps / length_m
    s = 1j * w / speed_mps
    return w, -K * (by_heading + by_offset / s) / s * (1.0 + integral_pm / s)


@pytest.mark.slow
@pytest.mark.parametrize("speed_mps", [0.02, 0.07, 0.2])
@pytest.mark.parametrize("delay_s", [0.02, 0.16])
def test_the_shortest_length_that_is_allowed_leaves_margins(speed_mps, delay_s):
    length_m = max(least_length_m(speed_mps, delay_s), 0.02)
    w, loop = frequency_response(speed_mps, length_m)
    late = loop * np.exp(-1j * w * delay_s)
    over = np.flatnonzero(abs(late) >= 1.0)[-1]
    phase = np.degrees(np.unwrap(np.angle(late)))
    assert (180.0 + phase[over]) % 360.0 > 45.0
    after = np.flatnonzero((phase - phase[over] < -((180.0 + phase[over]) % 360.0)) & (w > w[over]))[0]
    gain_margin = 1.0 / abs(late[after])
    assert gain_margin > 3.0
    # the same in time: it settles with less gain than the margin, and swings up with more
    for gain, settles in ((0.8 * gain_margin, True), (1.25 * gain_margin, False)):
        rows = driven(
            holding(length_m=length_m, share=0.9), speed_mps, delay_s=delay_s, way_m=6.0 * length_m, gain=gain,
            heading=1e-4,
        )  # fmt: skip
        last = np.abs(rows[-len(rows) // 6 :, 2]).max()
        assert (last < 5e-5) == settles, (gain, last)


@pytest.mark.slow
@pytest.mark.parametrize("speed_mps", [0.07, -0.07])
def test_a_rover_askew_comes_back_to_its_line_and_stays_on_it(speed_mps):
    """Heading, a curvature that nobody asked for, and wheels that stand askew."""
    rows = driven(
        holding(), speed_mps, delay_s=0.02, way_m=2.0, offset_m=0.03, heading=math.radians(2.0), veer_pm=0.023,
        crab=math.radians(1.0),
    )  # fmt: skip
    alone = driven(
        holding(share=0.01), speed_mps, delay_s=0.02, way_m=2.0, offset_m=0.03, heading=math.radians(2.0),
        veer_pm=0.023, crab=math.radians(1.0),
    )  # fmt: skip
    # with this heading, which the outer loop wants at an offset of it times length_m
    assert math.copysign(1.0, speed_mps) * rows[-1, 1] == pytest.approx(0.1 * math.radians(1.0), rel=0.01)
    assert math.degrees(rows[-1, 2]) == pytest.approx(-1.0, abs=0.02)  # it runs on its line with its wheels' error
    assert abs(alone[-1, 1]) > 0.02


@pytest.mark.slow
def test_before_an_obstacle_it_turns_to_the_normal_and_hits_straight():
    wall = {"delay_s": 0.02, "way_m": 1.0, "heading": math.radians(2.0), "veer_pm": 0.023, "crab": math.radians(1.0)}
    rows = driven(holding(), 0.07, wall_m=0.98, **wall)
    hit = rows[np.flatnonzero(rows[:, 0] >= 0.979)[0]]
    assert abs(math.degrees(hit[2])) < 0.1
    assert abs(hit[1]) < 6e-3
    never = driven(holding(align_m=0.0), 0.07, wall_m=0.98, **wall)
    assert math.degrees(never[-1, 2]) == pytest.approx(-1.0, abs=0.05)


def test_the_last_of_the_way_is_driven_with_the_steering_that_keeps_it_straight():
    line = holding(free_m=0.02)
    kept = share_of(line, 0.07, prediction(heading=-1e-3, gap_m=0.05), 100)
    free = [share_of(line, 0.07, prediction(heading=turn, gap_m=0.0199), 50) for turn in (-1e-2, 0.0, 1e-2)]
    assert free == [pytest.approx(free[0])] * 3
    assert 0.0 < free[0] < kept
    pushing = share_of(line, 0.07, prediction(heading=-1e-2, gap_m=0.05), 50, pushing=True)
    assert pushing == pytest.approx(free[0])


def test_speeds_and_their_changes_stay_within_the_limits():
    limits, line = RIG.limits, holding(share=0.9)
    last = np.zeros(6)
    for tick in range(2000):
        fast = 0.9 * limits.wheel_speed_radps * RADIUS_M
        seen = prediction(heading=0.5 if tick // 300 % 2 else -0.5)
        speeds = np.array(line.control(goal(fast), None, None, seen).speed_radps)
        assert np.abs(speeds).max() <= OF_LIMITS * limits.wheel_speed_radps + 1e-12
        assert np.abs(speeds - last).max() <= OF_LIMITS * limits.wheel_acceleration_radps2 * PERIOD_S + 1e-12
        last = speeds
    assert np.ptp(last) == pytest.approx(2.0 * (OF_LIMITS - 0.9) * limits.wheel_speed_radps, rel=0.01)


@pytest.mark.parametrize(
    "known",
    [
        None,
        SimpleNamespace(pose_sd=(math.nan,) * 6),
        SimpleNamespace(pose_sd=(0.0, math.nextafter(LARGEST_SD_M, 1.0), 0.0, 0.0, 0.0, 0.0)),
        SimpleNamespace(pose_sd=(0.0, 0.0, 0.0, 0.0, 0.0, math.nextafter(LARGEST_SD_RAD, 1.0))),
    ],
    ids=["no instruments", "nothing yet", "place unknown", "heading unknown"],
)
def test_it_does_not_steer_by_a_place_that_is_not_known(known):
    assert share_of(holding(), 0.07, prediction(offset_m=0.01, known=known), 100) == 0.0
    at_limit = SimpleNamespace(pose_sd=(0.0, LARGEST_SD_M, 0.0, 0.0, 0.0, LARGEST_SD_RAD))
    assert share_of(holding(), 0.07, prediction(offset_m=0.01, known=at_limit), 100) < 0.0


def test_after_a_turn_the_line_is_the_heading_of_that_moment():
    line, turned = holding(), prediction(offset_m=0.4, heading=0.7, x_m=1.0)
    assert share_of(line, 0.07, turned, 200) != 0.0
    turn = Goal(2, False, speed_radps=tuple((0.4 + 0.01 * SIDES).tolist()))
    for _ in range(200):
        asked = line.control(turn, None, None, turned).speed_radps
    assert asked == turn.speed_radps
    straight = share_of(line, 0.07, turned, 200)
    along = prediction(offset_m=0.4 + 0.1 * math.sin(0.7), heading=0.7, x_m=1.0 + 0.1 * math.cos(0.7))
    assert share_of(line, 0.07, along, 200) == pytest.approx(straight, abs=1e-12)
    assert abs(straight) < 0.01


def test_a_cut_passes_and_speeds_begin_anew_from_rest():
    line = holding()
    share_of(line, 0.07, prediction(offset_m=0.01), 200)
    assert line.control(Goal(4, True, speed_radps=ZERO), None, None, prediction()).cut
    again = line.control(goal(0.07), None, None, prediction(offset_m=0.01)).speed_radps
    assert max(again) <= OF_LIMITS * RIG.limits.wheel_acceleration_radps2 * PERIOD_S


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["trial.hold_line={}"], "trial.hold_line: found no motion"),
        (["trial.hold_line={}", "motion={measures: distance}"], "found motion.measures distance"),
        (["trial.hold_line={length_m: 0.05}", "motion={rate_hz: 5}"], "at least 0.184 at 0.07 m/s"),
        (["experiment=drive", "drive.hold_line={}"], "drive.hold_line: found no motion"),
    ],
)
def test_a_line_that_cannot_be_held_is_refused(settings, words):
    with pytest.raises(ConfigError, match=words):
        load_config("sim_impact", settings)


def test_whoever_holds_a_line_needs_the_instrument_that_knows_the_place():
    for experiment, section in (("impact", "trial"), ("drive", "drive")):
        held = load_config("sim_impact", [f"experiment={experiment}", "motion={}", f"{section}.hold_line={{}}"])
        assert held.needed_instruments == ("motion",)
        assert load_config("sim_impact", [f"experiment={experiment}"]).needed_instruments == ()
