"""The twin says where the rover is: way, gap to the obstacle, pose and joint angles, enough to draw it as it moved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from drivers.messages import DriveSample, ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.estimation.twin import RoverTwin
from hil.messages.stages import Estimate, Prediction, Samples

MS = 1_000_000
SPEED_RADPS = 0.4
STAND = ("trial.start_distance_m=0.05",)


class Drive:
    """A twin of `sim_impact` that gets wheel speeds every millisecond."""

    def __init__(self, overrides: Sequence[str] = STAND, **how: Any) -> None:
        self.rig = Rig(load_config("sim_impact", overrides))
        self.twin = RoverTwin(self.rig.nominal, joints=self.rig.layout.turning, **how)
        self.t_ns = 0

    def go(self, ticks: int, speed_radps: float = SPEED_RADPS, impact_ns: int | None = None) -> list[Prediction]:
        return [self._tick((speed_radps,) * 6, impact_ns) for _ in range(ticks)]

    def _tick(self, speeds: tuple[float, ...], impact_ns: int | None) -> Prediction:
        self.t_ns += MS
        estimate = Estimate(
            zeroed=True, bias_V=(0.0,) * 3, noise_V=(0.0,) * 3, finite=True, saturated=False, impact_ns=impact_ns,
            force_N=(0.0,) * 3, load_point_m=(math.nan, math.nan), wheel_speed_radps=speeds,
        )  # fmt: skip
        valves = ValveSample(0, self.t_ns, ((0.0, 0.0), (0.0, 0.0)), -1)
        return self.twin.predict(Samples(self.t_ns, (), 0, 0, DriveSample(0, self.t_ns, speeds, -1), valves), estimate)


@pytest.fixture(scope="module")
def approach() -> list[Prediction]:
    """Half a second of driving towards the obstacle, 0.05 m away."""
    return Drive().go(500)


def test_the_gap_at_the_start_is_the_distance_along_the_obstacles_normal(approach):
    # the wheels stand some 6 mm deep in the soil, where the inclined plate is nearer
    assert approach[1].gap_m == pytest.approx(0.05 * math.sin(math.radians(60.0)), abs=0.004)


def test_the_gap_closes_by_the_way_driven(approach):
    closed = approach[0].gap_m - approach[-1].gap_m
    driven = approach[-1].way_m - approach[0].way_m
    assert driven > 0.02
    assert closed == pytest.approx(driven * math.sin(math.radians(60.0)), rel=0.01)


def test_the_way_is_how_far_the_base_has_come_and_forwards_and_backwards_cancel(approach):
    assert approach[-1].way_m == pytest.approx(approach[-1].pose[0], rel=0.01)
    drive = Drive()
    forth, back = drive.go(300), drive.go(300, -SPEED_RADPS)
    assert abs(back[-1].way_m) < 0.1 * max(one.way_m for one in forth + back)


def test_the_gap_is_what_the_time_to_impact_is_made_of(approach):
    closing_mps = (approach[-2].gap_m - approach[-1].gap_m) / 1e-3
    assert approach[-1].gap_m / approach[-1].time_to_impact_s == pytest.approx(closing_mps, rel=0.02)


def test_the_gap_neither_runs_away_in_braking_nor_jumps_back_after_the_impact():
    drive = Drive()
    gaps = [one.gap_m for one in drive.go(300)]
    gaps += [one.gap_m for one in drive.go(100, 0.02)]  # braking: the time to the impact grows without end
    gaps += [one.gap_m for one in drive.go(600, 0.02, impact_ns=drive.t_ns)]
    before, after = gaps[1:400], gaps[402:]
    assert max(before) <= gaps[1]
    assert max(map(abs, after)) < 1e-3  # at the wheel, pressed in by less than a millimetre


def test_pose_and_joint_angles_are_those_of_the_model_in_the_order_of_the_layout():
    drive = Drive()
    last = drive.go(200)[-1]
    rover, state = drive.twin._rover, drive.twin._state
    assert last.pose == tuple(state.q[:7])
    angles = dict(zip(drive.rig.layout.turning, last.joint_angle_rad, strict=True))
    assert set(angles) == {"left_bogie", "right_bogie", "rear_bogie"}
    for joint, angle in angles.items():
        assert angle == state.q[7 + rover.tree_joint_names.index(joint)]
    assert any(angles.values())


def test_the_motion_of_a_rover_that_something_unknown_pulls_is_not_known():
    last = Drive(pull_unknown=True).go(5)[-1]
    assert np.isnan([last.way_m, last.gap_m, *last.pose, *last.joint_angle_rad]).all()


def test_without_an_obstacle_there_is_no_gap():
    rig = Rig(load_config("sim_normal_force"))
    twin = RoverTwin(rig.nominal, joints=rig.layout.turning)
    speeds = rig.layout.zero_speeds
    estimate = Estimate(True, (), (), True, False, None, (), (math.nan, math.nan), speeds)
    valves = ValveSample(0, MS, ((0.0, 0.0),) * len(rig.layout.cylinders), -1)
    assert math.isnan(twin.predict(Samples(MS, (), 0, 0, DriveSample(0, MS, speeds, -1), valves), estimate).gap_m)


@pytest.mark.parametrize("kind", ["rcp", "rocker_bogie", "exomars_like"])
def test_each_turning_joint_of_a_layout_is_one_of_the_model_and_none_of_a_wheel(kind):
    rig = Rig(load_config("sim_impact", [f"rover.type={kind}"]))
    rover = rig.nominal.make_rover()
    carry_wheels = {joint.name for joint in rover.tree.joints if joint.child in {w.body for w in rover.tree.wheels}}
    assert set(rig.layout.turning) == set(rover.tree_joint_names) - carry_wheels
