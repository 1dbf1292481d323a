"""Driven joints that fail, as their simulated controllers see them."""

import math

import pytest

from drivers.sim.protocol.servo_faults import FaultyServos
from tests.drivers.roboclaw.servo_rig import NAMES, InstantJoints


@pytest.fixture
def joints():
    return InstantJoints()


@pytest.fixture
def faulty(joints):
    return FaultyServos(joints, {name: place for place, name in enumerate(NAMES)})


def test_a_blocked_joint_stays_where_it_is_and_the_others_move(joints, faulty):
    joints.angle[1] = 0.2
    faulty.inject_fault("blocked", {"joint": "right_arm"})
    for joint in (0, 1):
        faulty.hold(joint, 0.5)
    assert joints.angle[:2] == [0.5, 0.2]
    assert faulty.angle_rad(1) == 0.2
    faulty.inject_fault("freed", {"joint": "right_arm"})
    faulty.hold(1, 0.5)
    assert joints.angle[1] == 0.5


def test_a_frozen_encoder_repeats_its_angle_at_no_speed_while_the_joint_moves(joints, faulty):
    joints.rate[0] = 0.3
    faulty.inject_fault("frozen", {})
    faulty.hold(0, 0.5)
    assert joints.angle[0] == 0.5
    assert (faulty.angle_rad(0), faulty.speed_radps(0)) == (0.0, 0.0)


def test_an_encoder_slips_by_what_is_told_and_a_joint_that_is_not_there_is_refused(joints, faulty):
    faulty.inject_fault("slipped", {"joint": "mast", "deg": 30})
    faulty.inject_fault("slipped", {"joint": "mast", "deg": -10})
    assert faulty.angle_rad(2) == pytest.approx(math.radians(20.0))
    with pytest.raises(ValueError, match="joint is one of left_arm, right_arm, mast, found 'nose'"):
        faulty.inject_fault("slipped", {"joint": "nose"})
    with pytest.raises(ValueError, match="deg of mast: nan, allowed: a finite number"):
        faulty.inject_fault("slipped", {"joint": "mast", "deg": math.nan})
