"""Drives by duty on RoboClaw controllers: command 34 with signs, the same cut, and refusals."""

import math

import pytest

from drivers.messages import DriveCommand
from drivers.roboclaw import protocol
from drivers.roboclaw.protocol import CommandCode

from .conftest import WHEELS, cut

SIGN = (1, -1, 1, 1, -1, 1)
DUTY = (0.5, 0.5, -0.25, 0.0, 1.0, -1.0)


def sent(rig):
    return [data for _, _, data in rig.recorders[0].received]


@pytest.fixture
def rig(make_rig):
    return make_rig(sign=SIGN)


@pytest.fixture
def driven(rig, until):
    """Drives that have confirmed a cut and then a duty."""
    drives = rig.drives(reversed=[wheel for wheel, sign in zip(WHEELS, SIGN, strict=True) if sign < 0])
    drives.open()
    drives.write(cut(1))
    until(drives, lambda sample: sample.acknowledged_ns >= 1)
    drives.write(DriveCommand(2, False, (0.0,) * 6, DUTY))
    until(drives, lambda sample: sample.acknowledged_ns >= 2)
    return drives


def test_a_duty_has_these_bytes():
    # 50 % of M1, -50 % of M2; the CRC of the first is that of the maker's manual
    assert protocol.request(0x80, CommandCode.DUTY_M1, 0x4000) == bytes.fromhex("80 20 40 00 56 32")
    assert protocol.request(0x80, CommandCode.DUTY_M2, -0x4000)[:4] == bytes.fromhex("80 21 c0 00")
    assert protocol.request(0x80, CommandCode.DUTY, 0x4000, -0x4000)[:6] == bytes.fromhex("80 22 40 00 c0 00")


def test_duties_go_out_as_command_34_with_the_signs_of_the_motors(driven, rig):
    frames = sent(rig)
    for address, values in ((0x80, (16384, -16384)), (0x81, (-8192, 0)), (0x82, (-32767, -32767))):
        assert protocol.request(address, CommandCode.DUTY, *values) in frames
    assert not any(data[1] in (CommandCode.RUN, CommandCode.RUN_ACCELERATING) for data in frames)


def test_the_wheels_are_driven_by_those_duties_and_zero_is_a_cut(driven, rig):
    expected = {0: 0.5, 1: 0.5, 2: -0.25, 4: 1.0, 5: -1.0}
    assert {wheel: rig.wheels.duty[wheel] for wheel in expected} == pytest.approx(expected, abs=1e-4)
    assert rig.wheels.commanded[3] is None


def test_a_cut_from_duty_is_the_same_stop_and_is_timed(driven, rig, until):
    driven.write(cut(3))
    sample = until(driven, lambda sample: sample.acknowledged_ns >= 3)
    stops = b"".join(protocol.request(address, CommandCode.DUTY, 0, 0) for address in (0x80, 0x81, 0x82))
    assert stops in sent(rig)
    assert rig.wheels.commanded == [None] * 6
    assert sample.stopped_ns > 0


def test_after_a_duty_speeds_hold_again(driven, rig, until):
    driven.write(DriveCommand(3, False, (0.2,) * 6))
    until(driven, lambda sample: sample.acknowledged_ns >= 3)
    assert rig.wheels.commanded == pytest.approx([0.2] * 6, rel=1e-2)


@pytest.mark.parametrize("duty", [(math.nan, *DUTY[1:]), (1.01, *DUTY[1:]), DUTY[:5]])
def test_a_duty_that_cannot_be_is_refused_and_cuts(driven, rig, duty, step_until):
    with pytest.raises(ValueError, match="duty"):
        driven.write(DriveCommand(3, False, (0.0,) * 6, duty))
    step_until(driven, lambda: rig.wheels.commanded == [None] * 6)
