"""A wrong zero of a servo is noticed at arming where an encoder on the same joint knows better."""

import math

import pytest

from drivers.messages import DriveSample, JointSample, Reading, ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.stages import Estimate, Samples
from hil.safety.arming import arming_checks, zero_checks
from hil.safety.limits import joint_limits, limit_checks

WALKING = "servos={joints: {walking: {}}, outside_deg: 2}"
ENCODERS = "joints={encoders: [{joint: front_left_walking, zero_deg: 10, reversed: true}, {joint: rear_left_walking}]}"


@pytest.fixture(scope="module")
def rig():
    return Rig(load_config("sim_impact", [WALKING, ENCODERS]))


def samples(servo_deg, encoders_deg, sequence=1):
    """Of the front left walking joint as its servo says, and of both encoders as they are read."""
    servos = JointSample(1, 0, (math.radians(servo_deg), 0.0, 0.0, 0.0, 0.0, 0.0), 0)
    readings = Reading(sequence, 0, tuple(map(math.radians, encoders_deg)))
    drives, valves = DriveSample(1, 0, (0.0,) * 6, 0), ValveSample(1, 0)
    return Samples(0, (), 0, 0, drives, valves, joints=readings, servos=servos)


def test_angles_that_agree_pass_with_the_zero_and_the_direction_of_the_encoder(rig):
    checks = zero_checks(rig, samples(5.0, (5.0, 0.0)))
    assert [(check.item, check.ok) for check in checks] == [
        ("zero of front_left_walking", True),
        ("zero of rear_left_walking", True),
    ]


def test_a_servo_that_thinks_it_stands_elsewhere_is_named_with_the_difference(rig):
    wrong, right = zero_checks(rig, samples(15.0, (5.0, 360.0)))
    assert (wrong.ok, wrong.found) == (False, "10.0 deg apart")
    assert right.ok  # a whole turn is none


def test_what_has_not_been_measured_is_not_judged(rig):
    assert zero_checks(rig, samples(15.0, (5.0, 0.0), sequence=0)) == []
    assert len(zero_checks(rig, samples(15.0, (math.nan, 0.0)))) == 1
    assert zero_checks(Rig(load_config("sim_impact", [WALKING])), samples(15.0, (5.0, 0.0))) == []


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_arming_is_refused_while_a_joint_is_outside_its_range(rig, sign):
    edge_deg = sign * math.degrees(rig.config.driven_joints[0].high_rad)
    estimate = Estimate(True, (0.0,) * 3, (0.0,) * 3, True, False, None, (0.0,) * 3, (math.nan, math.nan), (0.0,) * 6)
    failed = [
        {one.item for one in arming_checks(rig, samples(deg, (0.0, 0.0), sequence=0), estimate, ()) if not one.ok}
        for deg in (edge_deg, edge_deg + sign * 0.1)
    ]
    assert failed[1] - failed[0] == {"joint front_left_walking"}


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_joint_just_outside_its_range_is_refused_and_one_at_its_end_is_not(rig, sign):
    edge_deg = math.degrees(rig.config.driven_joints[0].high_rad)
    assert edge_deg == -math.degrees(rig.config.driven_joints[0].low_rad)
    found = [
        limit_checks(joint_limits(rig, powered=False), samples(sign * deg, (0.0, 0.0)).servos)[0]
        for deg in (edge_deg, edge_deg + 0.1)
    ]
    assert [(check.item, check.ok) for check in found] == [
        ("joint front_left_walking", True),
        ("joint front_left_walking", False),
    ]
    assert found[1].allowed == f"-{edge_deg:g} to {edge_deg:g} deg (servos.joints)"
