"""The plug-in's servos with a driver of rover-hil in virtual time: joints follow, stop, and forget their zero."""

import math

import pytest

from drivers.driver_type import RigSetup, ServoSetup
from drivers.interfaces import DeviceError
from drivers.messages import JointCommand
from drivers.roboclaw.section import RoboClawServosSection
from drivers.roboclaw.servos import RoboClawServos
from hil.testing import roboclaw_servos


def driver_of(bus, bench, start="confirmed"):
    scales = bus.scales
    names = {None: None, **{place: scale.name for place, scale in enumerate(scales)}}
    controllers = [{"address": one.address, "m1": names[one.m1], "m2": names[one.m2]} for one in bus.controllers]
    section = RoboClawServosSection.model_validate(
        {
            "driver": "roboclaw",
            "ports": [bus.path],
            "baud": bus.baud,
            "timeout_ms": 200,
            "counts_per_turn": scales[0].counts_per_turn,
            "encoder": "absolute" if scales[0].absolute else "incremental",
            "joints": {scale.name: {"zero": scale.zero} for scale in scales if scale.absolute},
            "start": start,
            "controllers": controllers,
        }
    )
    servos = tuple(
        ServoSetup(one.name, one.start_rad, one.lowest_rad, one.highest_rad, one.rate_radps, one.acceleration_radps2)
        for one in scales
    )
    return RoboClawServos(section, RigSetup(servos=servos, power_hz=20.0), bench.host)


@pytest.fixture
def held(virtual_bench):
    """Three joints, and a driver that holds them at 0.2, 0.0 and -0.1 rad."""
    with roboclaw_servos(3, bench=virtual_bench) as bus:
        servos = driver_of(bus, virtual_bench)
        servos.open()
        for number, cut in enumerate((True, False), start=1):
            servos.write(JointCommand(number, cut, (0.2, 0.0, -0.1)))
            virtual_bench.step_until(servos, lambda: acknowledged(servos) >= number)  # noqa: B023  called at once
        virtual_bench.step_for(servos, 0.6)
        yield bus, servos


def acknowledged(driver):
    sample = driver.read(0)
    return -1 if sample is None else sample.acknowledged_ns


def test_a_driver_turns_the_joints_and_reads_angles_and_currents(held, virtual_bench):
    bus, servos = held
    assert [joint.angle_rad for joint in bus.joints] == pytest.approx([0.2, 0.0, -0.1], abs=1e-3)
    bus.joints[2].load_Nm = -15.0
    virtual_bench.step_for(servos, 0.5)
    sample = virtual_bench.step_until(servos, lambda: servos.read(0))
    assert sample.angle_rad == pytest.approx((0.2, 0.0, -0.1), abs=1e-3)
    assert sample.current_A == pytest.approx((0.0, 0.0, -1.5), abs=0.01)


def test_a_blocked_joint_stays_and_a_cut_one_is_held_by_nothing(held, virtual_bench):
    bus, servos = held
    bus.joints[0].blocked = True
    servos.write(JointCommand(3, False, (0.5, 0.3, -0.1)))
    virtual_bench.step_for(servos, 0.6)
    assert [joint.angle_rad for joint in bus.joints] == pytest.approx([0.2, 0.3, -0.1], abs=1e-3)
    servos.write(JointCommand(4, True, (0.0, 0.0, 0.0)))
    virtual_bench.step_until(servos, lambda: acknowledged(servos) >= 4)
    assert [joint.held_rad for joint in bus.joints] == [None] * 3


def test_the_controllers_stop_by_themselves_when_the_driver_falls_silent(held, virtual_bench):
    bus, _ = held
    virtual_bench.run_for(0.3)
    assert [joint.held_rad for joint in bus.joints] == [None] * 3


def test_a_loss_of_power_loses_the_zero_of_incremental_encoders_and_not_of_absolute_ones(virtual_bench):
    for absolute in (False, True):
        with roboclaw_servos(2, absolute=absolute, bench=virtual_bench) as bus:
            before = driver_of(bus, virtual_bench)
            before.open()
            before.close()
            bus.power_up()
            servos = driver_of(bus, virtual_bench, start="")
            if absolute:
                servos.open()
            else:
                with pytest.raises(DeviceError, match="count 0 of joint_1"):
                    servos.open()


@pytest.mark.parametrize("wrong", [{"joints": 0}, {"joints": 17}, {"counts_per_turn": 0.0}, {"torque_per_A": math.nan}])
def test_what_cannot_be_is_refused(wrong, virtual_bench):
    with pytest.raises(ValueError, match=r"roboclaw_servos: .* found; allowed"):
        roboclaw_servos(**wrong, bench=virtual_bench)
