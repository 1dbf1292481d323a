"""The section servos: which joints are driven, with what numbers, and what is refused in words."""

from __future__ import annotations

import math

import pytest

from hil.config import ConfigError, load_config

WALKING = tuple(f"{wheel}_walking" for wheel in load_config("sim_impact").layout.wheels)


def with_servos(servos, *overrides):
    return load_config("sim_impact", [f"servos={servos}", *overrides])


def test_driven_joints_turn_and_no_others_do():
    config = with_servos("{joints: {walking: {}}}")
    assert config.layout.servos == WALKING
    assert config.layout.turning == ("left_bogie", "right_bogie", "rear_bogie", *WALKING)
    assert config.layout.links[-1] == "servos"
    assert config.rover_model().nv == load_config("sim_impact").rover_model().nv + 6


def test_without_the_section_nothing_is_driven():
    config = load_config("sim_impact")
    assert (config.layout.servos, config.driven_joints, config.rover_parameters()) == (
        (),
        (),
        config.rover.parameters(),
    )


def test_a_joints_own_numbers_come_before_those_of_its_kind_and_of_the_section():
    config = with_servos(
        "{joints: {walking: {range_deg: [-20, 25]}, front_left_walking: {torque_limit_Nm: 9, start_deg: 4}}, "
        "rate_degps: 7}"
    )
    joints = {joint.name: joint for joint in config.driven_joints}
    own, other = joints["front_left_walking"], joints["rear_right_walking"]
    assert (own.torque_limit_Nm, other.torque_limit_Nm) == (9.0, 60.0)
    assert own.rate_radps == other.rate_radps == math.radians(7.0)
    assert (math.degrees(own.start_rad), other.start_rad) == (pytest.approx(4.0), 0.0)
    assert math.degrees(own.high_rad) == pytest.approx(45.0)  # a name takes nothing from its kind
    assert math.degrees(other.low_rad) == pytest.approx(-20.0)


def test_a_joint_starts_where_its_type_of_rover_locks_it():
    config = with_servos("{joints: {walking: {}}}", "rover.type=parametric", "rover.parametric.walking_angle_deg=12")
    assert {round(math.degrees(joint.start_rad), 9) for joint in config.driven_joints} == {
        12.0,
        -12.0,
    }  # rear legs the other way


def test_steering_is_driven_wheel_by_wheel_and_the_rest_of_it_stays_locked():
    config = with_servos("{joints: {front_left_steering: {}, front_right_steering: {}}}")
    free = [
        joint.name for joint in config.rover_model().tree.joints if joint.kind == "steering" and joint.locked_at is None
    ]
    assert free == ["front_left_steering", "front_right_steering"]


@pytest.mark.parametrize(
    ("servos", "overrides", "said"),
    [
        ("{joints: {}}", [], "servos: found no joint; allowed: joints or slides"),
        ("{joints: {elbow: {}}}", [], "servos.joints: found elbow; allowed: joints of rover.type rcp"),
        ("{joints: {drive: {}}}", [], "servos.joints: found of a wheel, drive"),
        ("{joints: {front_left_drive: {}}}", [], "servos.joints: found of a wheel, front_left_drive"),
        ("{joints: {left_rocker: {}}}", ["rover.type=rocker_bogie"], "found the coupled left_rocker"),
        (
            "{joints: {walking: {}}}",
            ["rover.locks={rear_left_walking: 3}"],
            "rear_left_walking, which rover.locks locks",
        ),
        ("{joints: {walking: {}}}", ["rover.locks={walking: 3}"], "front_left_walking, which rover.locks locks"),
        (
            "{joints: {left_bogie: {}}}",
            [],
            "servos.joints.left_bogie: found left_bogie; allowed: a joint without a cyl",
        ),
        ("{joints: {walking: {range_deg: [9, 9]}}}", [], "walking.range_deg: found 9 to 9; allowed: a smaller angle"),
        ("{joints: {walking: {start_deg: 46}}}", [], "walking.start_deg: found 46 of front_left_walking; allowed: -45"),
        (
            "{joints: {steering: {}}}",
            ["plant.veer.steering_deg=1"],
            "plant.veer.steering_deg: found angles; allowed: 0 ",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_words(servos, overrides, said):
    with pytest.raises(ConfigError) as refused:
        with_servos(servos, *overrides)
    assert said in str(refused.value)


def table(rows):
    return f'stimulus.table="time_s,walking_deg\\n{rows}"'


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("0,0\\n1,50\\n9,0", "of front_left_walking 50; allowed: -45 to 45 (range_deg)"),
        ("0,3\\n1,0", "of front_left_walking 3 first; allowed: 0 there, where the joint starts"),
        ("0,0\\n1,19\\n3,0", "of front_left_walking 19 deg in a second; allowed: at most 18"),
    ],
)
def test_a_stimulus_that_its_joints_cannot_follow_is_refused(rows, said):
    with pytest.raises(ConfigError) as refused:
        with_servos("{joints: {walking: {}}}", "experiment=stimulus", table(rows))
    assert said in str(refused.value)


def test_a_column_of_a_joint_that_is_locked_is_refused():
    with pytest.raises(ConfigError, match="a column walking_deg; allowed: time_s and speed_mps"):
        load_config("sim_impact", ["experiment=stimulus", table("0,0\\n1,1")])
