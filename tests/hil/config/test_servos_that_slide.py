"""Driven joints that slide: keys in mm and N, refusals, columns of a stimulus, locks, and scales of encoders."""

from __future__ import annotations

import math

import pytest

from drivers.driver_type import ServoSetup
from drivers.interfaces import DeviceError
from drivers.messages import DriveSample, JointSample, ValveSample
from drivers.roboclaw.section import RoboClawServosSection
from drivers.servo_section import HOME
from hil.config import ConfigError, load_config
from hil.config.rig import Rig
from hil.messages.fault import Fault
from hil.messages.stages import Command, Samples
from hil.safety.device_monitors import ServoMonitor

MS = 1_000_000


def problems(*overrides: str) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        load_config("sim_lift", list(overrides))
    return {problem.key: f"{problem.found}; {problem.allowed}" for problem in caught.value.problems}


def test_a_slide_has_its_numbers_in_metres_and_newtons() -> None:
    config = load_config("sim_lift", ["servos.slides.deck_lift.friction_speed_mmps=2"])
    (joint,) = config.driven_joints
    assert (joint.low_rad, joint.high_rad, joint.rate_radps, joint.torque_limit_Nm) == (-0.005, 0.12, 0.05, 1000.0)
    assert (joint.friction_speed_radps, joint.follow_rad, joint.outside_rad) == (0.002, 0.005, 0.002)
    assert config.layout.servos == config.layout.slides == ("deck_lift",)
    assert (joint.shown(0.0123), joint.unit) == (pytest.approx(12.3), "mm")
    # an encoder of the instrument `joints` measures angles
    assert "deck_lift" not in [one.joint for one in load_config("sim_lift", ["joints={}"]).encoders]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("override", "key", "words"),
    [
        ("servos={joints: {deck_lift: {}}}", "servos.joints", "deck_lift; in servos.slides, for it slides"),
        ("servos={slides: {left_rocker_joint: {}}}", "servos.slides", "the coupled left_rocker_joint"),
        ("servos={slides: {mast: {}}}", "servos.slides", "mast; joints of rover.type imported"),
        ("servos={}", "servos", "no joint; joints or slides"),
        ("servos.slides.deck_lift.range_mm=[5, 1]", "servos.slides.deck_lift.range_mm", "a smaller displacement"),
        ("servos.slides.deck_lift.start_mm=130", "servos.slides.deck_lift.start_mm", "130 of deck_lift; -5 to 120"),
        ("rover.locks={deck_lift: 10}", "servos.slides.deck_lift", "which rover.locks locks"),
        (r'stimulus.table="time_s,deck_lift_deg\n0,0\n1,0\n"', "stimulus.table", "lift_mm, deck_lift_mm"),
        (r'stimulus.table="time_s,lift_mm\n0,0\n1,90\n"', "stimulus.table", "90 mm in a second; at most 45"),
        (r'stimulus.table="time_s,lift_mm\n0,0\n9,130\n"', "stimulus.table", "130; -5 to 120 (range_mm)"),
        ("joints={encoders: [{joint: deck_lift}]}", "joints.encoders", "the joint deck_lift; joints of the rover that"),
    ],
)
def test_what_a_slide_cannot_have_is_refused_in_its_unit(override: str, key: str, words: str) -> None:
    found = problems(override)
    assert words in found[key], found


def test_a_slide_is_locked_at_a_way_in_millimetres() -> None:
    quiet = ["servos=null", r'stimulus.table="time_s,speed_mps\n0,0\n1,0\n"']
    config = load_config("sim_lift", [*quiet, "rover.locks={deck_lift: 140}"])
    locked = {joint.name: joint.locked_at for joint in config.rover_model().tree.joints}
    assert locked["deck_lift"] == pytest.approx(0.14)
    assert config.layout.slides == ()
    assert "-180 to 180" in problems(*quiet, "rover.locks={mast_pan: 200}")["rover.locks.mast_pan"]


def test_faults_of_a_slide_are_told_in_millimetres() -> None:
    config = load_config("sim_lift", ["servos.slides.deck_lift.follow_mm=4", "servos.follow_s=0.02"])
    monitor, found = ServoMonitor(Rig(config)), []
    monitor.record_command(Command(2, False, True, (), (), 0, joint_angle_rad=(0.05,), servos_cut=False))
    for t_ns, way_m in ((10 * MS, 0.045), (30 * MS, 0.045), (50 * MS, 0.123)):
        sample = JointSample(1, t_ns, (way_m,), 0)
        samples = Samples(t_ns, (), 0, 0, DriveSample(0, 0, (), 0), ValveSample(0, 0, (), 0), servos=sample)
        found += monitor.alarms(samples)
    assert [one[0] for one in found] == [
        Fault.JOINT_NOT_FOLLOWING, Fault.JOINT_OUT_OF_RANGE, Fault.JOINT_NOT_FOLLOWING
    ]  # fmt: skip
    assert (
        found[0][3] == "deck_lift is at 45.0 mm, 5.0 mm from its command for 0.02 s, allowed: servos.slides.follow_mm"
    )
    assert found[1][3] == "deck_lift is at 123.0 mm, allowed: -5.0 mm to 120.0 mm and servos.slides.outside_mm"


def test_counts_of_a_slide_follow_from_the_lead_of_its_spindle() -> None:
    section = RoboClawServosSection.model_validate(
        {
            "driver": "roboclaw", "ports": ["/dev/ttyS0"], "counts_per_turn": 2000, "gear": 4,
            "controllers": [{"address": 0x80, "m1": "deck_lift"}], "joints": {"deck_lift": {"lead_mm": 5}},
        }
    )  # fmt: skip
    scale = section._scale(0, _Rig())  # type: ignore[arg-type]
    assert scale.count(0.005) - HOME == 8000  # a turn of the spindle
    assert scale.shaft_counts == pytest.approx(2000)
    assert scale.angle_rad(HOME + 800) == pytest.approx(0.0005)
    with pytest.raises(DeviceError, match=r"deck_lift stands at 123.0 mm, allowed: 0.0 to 120.0; .*lead_mm"):
        scale.check_start(0.123, "RoboClaw")
    assert math.isclose(scale.shaft_profile[0], 2 * 0.05 / 0.005 * 4 * 60, rel_tol=1e-3)
    (wrong,) = RoboClawServosSection.model_validate({**section.model_dump(), "joints": {}}).joint_problems(
        ["deck_lift"],
        "controllers",
        _Rig(),  # type: ignore[arg-type]
    )
    assert wrong.found == "no lead_mm of deck_lift"
    assert wrong.allowed.startswith("lead_mm of each joint that slides")


class _Rig:
    """What a section asks of a rig."""

    servos = (ServoSetup("deck_lift", 0.0, 0.0, 0.12, 0.05, 0.1, slides=True),)
