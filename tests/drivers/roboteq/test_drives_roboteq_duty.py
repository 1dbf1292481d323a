"""Drives by duty on Roboteq controllers: only in open loop, as the controllers are set up, with the same cut."""

import math

import pytest

from drivers.interfaces import DeviceError
from drivers.messages import DriveCommand

from .conftest import cut

DUTY = (0.5, 0.5, -0.25, 0.1, 1.0, -1.0)


@pytest.fixture
def driven(rig_by_duty, until):
    """Drives that have confirmed a cut and then a duty."""
    drives = rig_by_duty.drives(open_loop=True)
    drives.open()
    drives.write(cut(1))
    until(drives, lambda sample: sample.acknowledged_ns >= 1)
    drives.write(DriveCommand(2, False, (0.0,) * 6, DUTY))
    until(drives, lambda sample: sample.acknowledged_ns >= 2)
    return drives


def test_duties_go_out_in_thousandths_with_the_signs_of_the_motors(driven, rig_by_duty):
    # controllers of the wheels (0, 2), (5, 4), (1, 3); the motors of 1 and 4 are mounted the other way round
    for place, line in enumerate((b"!G 1 500_!G 2 -250\r", b"!G 1 -1000_!G 2 -1000\r", b"!G 1 -500_!G 2 100\r")):
        assert line in rig_by_duty.received(place)
    assert rig_by_duty.wheels.duty == pytest.approx(DUTY)


def test_a_cut_from_duty_is_the_emergency_stop_and_then_zero(driven, rig_by_duty, until):
    driven.write(cut(3))
    until(driven, lambda sample: sample.acknowledged_ns >= 3)
    for place in range(3):
        after = rig_by_duty.received(place).rpartition(b"!EX\r")[2]
        assert after.startswith(b"!G 1 0_!G 2 0_?FF\r")
    assert all(commanded[-1] is None for commanded in rig_by_duty.wheels.commanded)


def test_controllers_in_closed_loop_are_refused_for_a_run_by_duty(rig):
    drives = rig.drives(open_loop=True)
    with pytest.raises(DeviceError, match=r"MMOD of channel 1 \(open loop\): found 1, needed 0"):
        drives.open()


def test_controllers_in_open_loop_are_refused_for_a_run_by_speed(rig_by_duty):
    drives = rig_by_duty.drives()
    with pytest.raises(DeviceError, match=r"MMOD of channel 1 \(closed-loop speed\): found 0, needed 1"):
        drives.open()


def test_a_duty_in_closed_loop_is_refused_and_moves_nothing(rig, running):
    drives = rig.drives()
    running(drives, 0.0)
    rig.wheels.forget()
    with pytest.raises(DeviceError, match="duty commanded, but the controllers are in closed-loop speed mode"):
        drives.write(DriveCommand(3, False, (0.0,) * 6, DUTY))
    assert not rig.wheels.ever_ran()


def test_speeds_in_open_loop_are_refused(driven):
    with pytest.raises(DeviceError, match="speeds commanded, but the controllers are in open loop mode"):
        driven.write(DriveCommand(3, False, (0.1,) * 6))


@pytest.mark.parametrize("share", [math.nan, 1.01, -math.inf])
def test_a_duty_that_cannot_be_is_refused(driven, share):
    with pytest.raises(DeviceError, match="duty of wheel 5"):
        driven.write(DriveCommand(3, False, (0.0,) * 6, (*DUTY[:5], share)))
