"""Driven joints that do not follow, have left their range, or are not heard of, are faults; others are not."""

from __future__ import annotations

import math

from drivers.messages import DriveSample, JointSample, ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.fault import Fault
from hil.messages.stages import Command, Samples
from hil.safety.device_monitors import ServoMonitor

CONFIG = load_config(
    "sim_impact", ["servos={joints: {front_left_walking: {}, rear_left_walking: {}}, follow_deg: 4, follow_s: 0.2}"]
)
MS = 1_000_000


def monitor_of(config):
    return ServoMonitor(Rig(config))


class Watch:
    """A monitor that gets a sample each 10 ms."""

    def __init__(self, cut: bool = False) -> None:
        self.monitor, self.cut, self.t_ns, self.found = monitor_of(CONFIG), cut, 0, []
        self.command(0.0, 0.0)

    def command(self, *angles: float) -> None:
        self.monitor.record_command(Command(2, False, True, (), (), 0, joint_angle_rad=angles, servos_cut=self.cut))

    def see(self, *angles: float, times: int = 1) -> list[Fault]:
        for _ in range(times):
            self.t_ns += 10 * MS
            sample = JointSample(1, self.t_ns, angles, 0)
            samples = Samples(self.t_ns, (), 0, 0, DriveSample(0, 0, (), 0), ValveSample(0, 0, (), 0), servos=sample)
            self.found += self.monitor.alarms(samples)
        return [one[0] for one in self.found]


def test_a_joint_that_is_far_from_its_command_for_long_does_not_follow():
    watch, far = Watch(), math.radians(4.1)
    assert watch.see(0.0, far, times=20) == []
    assert watch.see(0.0, far) == [Fault.JOINT_NOT_FOLLOWING]
    _, value, limit, words, *_ = watch.found[0]
    assert (value, limit) == (far, math.radians(4.0))
    assert words.startswith("rear_left_walking is at 4.1 deg, 4.1 deg from its command for 0.2 s")


def test_a_joint_that_is_just_near_enough_follows_on_either_side():
    for near, far in ((3.9, 4.1), (-3.9, -4.1)):
        watch = Watch()
        assert watch.see(0.0, math.radians(near), times=50) == []
        assert watch.see(0.0, math.radians(far), times=21) == [Fault.JOINT_NOT_FOLLOWING]


def test_one_that_comes_back_in_time_follows():
    watch, far = Watch(), math.radians(4.1)
    for _ in range(5):
        watch.see(0.0, far, times=19)
        watch.see(0.0, 0.0)
    assert watch.found == []


def test_a_joint_beyond_its_range_is_a_fault_in_one_sample():
    watch, edge = Watch(), math.radians(45.0)
    watch.command(edge, 0.0)
    assert watch.see(edge + math.radians(1.9), 0.0) == []
    assert watch.see(edge + math.radians(2.1), 0.0) == [Fault.JOINT_OUT_OF_RANGE]
    assert "-45.0 deg to 45.0 deg" in watch.found[0][3]
    watch = Watch()
    watch.command(-edge, 0.0)
    assert watch.see(-edge - math.radians(1.9), 0.0) == []
    assert watch.see(-edge - math.radians(2.1), 0.0) == [Fault.JOINT_OUT_OF_RANGE]


def test_a_servo_that_is_cut_may_be_anywhere():
    assert Watch(cut=True).see(2.0, -2.0, times=50) == []


def test_a_joint_that_was_far_before_a_cut_gets_its_time_again_after_it():
    watch, far = Watch(), math.radians(4.1)
    watch.see(0.0, far, times=20)
    watch.cut = True
    watch.command(0.0, 0.0)
    watch.see(0.0, far)
    watch.cut = False
    watch.command(0.0, 0.0)
    assert watch.see(0.0, far, times=20) == []
    assert watch.see(0.0, far) == [Fault.JOINT_NOT_FOLLOWING]


def test_angles_that_are_no_numbers_are_a_fault():
    watch = Watch()
    assert watch.see(math.nan, 0.0, times=2) == []
    assert watch.see(math.nan, 0.0) == [Fault.SAMPLE_NOT_FINITE]


def test_a_rig_without_servos_is_not_watched():
    assert not monitor_of(load_config("sim_impact")).watched
