"""Servos against simulated controllers in position mode, over a line with the line time of its baud rate."""

import itertools
import math
from contextlib import suppress

import pytest
from basicmicro import Basicmicro

from drivers.host import COMPUTER
from drivers.interfaces import DamagedError, DeviceError, LinkLostError
from drivers.roboclaw import protocol
from drivers.roboclaw.protocol import CommandCode, PositionPid
from drivers.servo_section import HOME

from .servo_rig import COUNTS, NAMES, ServoRig, cut, go, scale

START = (0.25, 0.25, 0.25)


@pytest.fixture
def rig(tmp_path, line_time):
    return ServoRig(tmp_path, line_time)


@pytest.fixture
def run(until):
    """Opens servos and lets them hold angles, confirmed by all controllers."""

    def hold(servos, *angles):
        servos.open()
        servos.write(cut(1))
        until(servos, lambda sample: sample.acknowledged_ns >= 1)
        servos.write(go(2, *(angles or START)))
        until(servos, lambda sample: sample.acknowledged_ns >= 2)
        return servos

    return hold


def test_the_joints_go_to_the_angles_commanded_and_tell_those_measured(rig, run, until):
    servos = run(rig.servos())
    servos.write(go(3, 0.3, -0.1, 0.6))
    sample = until(servos, near((0.3, -0.1, 0.6)))
    assert sample.acknowledged_ns == 3
    assert sample.stopped_ns == -1


def test_currents_have_the_sign_of_the_torque_at_the_joint_whichever_way_the_encoder_counts(
    tmp_path, line_time, run, until
):
    rig = ServoRig(tmp_path, line_time, sign=-1)
    rig.joints.current = [1.5, -2.25, 0.5]
    servos = run(rig.servos(slow_hz=10.0))
    sample = until(servos, lambda sample: math.isfinite(sum(sample.current_A)) and any(sample.current_A))
    assert sample.current_A == pytest.approx((1.5, -2.25, 0.5), abs=0.01)
    servos.write(cut(3))
    assert until(servos, lambda sample: not any(sample.current_A)).stopped_ns > 0


def test_a_move_is_command_67_byte_by_byte_and_66_or_65_where_one_channel_is_used(rig, run):
    servos = run(rig.servos(), 0.25, -0.5, 0.25)
    speed, acceleration = servos._joints[0].profile
    one, two = (HOME + round(angle * COUNTS / math.tau) for angle in (0.25, -0.5))
    words = (acceleration, speed, acceleration, one, acceleration, speed, acceleration, two)
    body = bytes([0x80, 67]) + b"".join(word.to_bytes(4, "big") for word in words) + b"\x01"
    assert rig.sent(67)[-1] == body + protocol.crc16(body).to_bytes(2, "big")
    assert rig.sent(65)[-1][:2] == b"\x81\x41"
    assert not rig.sent(66)
    assert (speed, acceleration) == (round(2 * 0.5 * COUNTS / math.tau), round(10 * 2.0 * COUNTS / math.tau))


def test_an_encoder_that_counts_the_other_way_round_and_a_gear_are_taken_into_account(tmp_path, line_time, run, until):
    rig = ServoRig(tmp_path, line_time, sign=-1, counts_per_turn=4096 * 50.0)
    servos = run(rig.servos())
    servos.write(go(3, 0.5, 0.0, -0.5))
    until(servos, near((0.5, 0.0, -0.5)))
    assert rig.bus.controllers[0x80].motors[0].count() == HOME - round(0.5 * 4096 * 50 / math.tau)


def test_a_controller_that_was_without_power_is_refused_until_the_start_is_confirmed(rig):
    unconfirmed = tuple(scale(name, start_rad=None) for name in NAMES)
    with pytest.raises(DeviceError, match=r"count 0 of left_arm.*start: confirmed"):
        rig.servos(unconfirmed).open()
    rig.servos().open()  # confirmed: the joints stand at 0.25 rad
    servos = rig.servos(unconfirmed)  # and the controllers know it from then on
    servos.open()
    assert servos.read(0).angle_rad == pytest.approx(START, abs=1e-3)


def test_a_known_count_is_kept_whatever_start_is_confirmed(rig):
    rig.servos().open()
    rig.joints.angle[0] += 0.4
    servos = rig.servos()
    servos.open()
    assert servos.read(0).angle_rad == pytest.approx((0.65, 0.25, 0.25), abs=1e-3)


def test_a_controller_that_loses_its_power_in_a_run_is_a_failure_and_cuts(rig, run, step_until_error, step_for):
    servos = run(rig.servos())
    rig.bus.controllers[0x80].power_up()
    error = step_until_error(servos)
    assert "without power" in str(error)
    step_for(servos_stepped(servos), 0.2)
    assert rig.joints.held == [None] * 3


def near(angles):
    return lambda sample: max(abs(a - b) for a, b in zip(sample.angle_rad, angles, strict=True)) < 1e-3


def servos_stepped(servos):
    """Steps that go on after a failure, as those of a worker."""

    class Stepped:
        def step(self):
            with suppress(DeviceError):
                servos.step()

    return Stepped()


def test_a_joint_outside_its_angles_at_opening_has_a_wrong_zero(rig):
    rig.servos().open()
    rig.joints.angle[2] = 2.0
    with pytest.raises(DeviceError, match=r"mast stands at 114\.6 deg, allowed: -57\.3 to 57\.3"):
        rig.servos().open()


def test_an_absolute_encoder_needs_no_start(tmp_path, line_time, run, until):
    rig = ServoRig(tmp_path, line_time, absolute=True, zero=500, start_rad=None)
    rig.joints.angle[:] = [0.1, 0.2, 0.3]
    servos = run(rig.servos(), 0.1, 0.2, 0.3)
    assert until(servos, lambda sample: True).angle_rad == pytest.approx((0.1, 0.2, 0.3), abs=1e-3)
    assert not rig.sent(CommandCode.SET_COUNT_M1)


def test_an_encoder_of_the_other_kind_is_refused(rig):
    with pytest.raises(DeviceError, match="encoder 1, of left_arm, is incremental, needed: absolute"):
        rig.servos(tuple(scale(name, absolute=True, zero=0) for name in NAMES)).open()


def test_a_position_loop_that_is_not_tuned_is_refused(rig):
    rig.bus.controllers[0x81].motors[0].pid = PositionPid(0, 0, 0, 0, 0, 0, 0)
    with pytest.raises(DeviceError, match=r"motor 1, of mast: P, I and D are 0"):
        rig.servos().open()


def test_the_ends_of_the_positions_are_set_and_the_gains_kept(rig):
    motor = rig.bus.controllers[0x80].motors[0]
    motor.pid = PositionPid(1024, 20, 3, 4, 5, 0, 0)
    rig.servos().open()
    ends = HOME + round(-COUNTS / math.tau), HOME + round(COUNTS / math.tau)
    assert motor.pid == PositionPid(1024, 20, 3, 4, 5, *ends)


def test_an_angle_that_the_joint_does_not_have_is_refused_and_cuts(rig, run, until):
    for wrong in ((1.1, 0.0, 0.0), (math.nan, 0.0, 0.0), (0.0, 0.0)):
        servos = run(rig.servos())
        with pytest.raises(ValueError, match="angle_rad"):
            servos.write(go(9, *wrong))
        sample = until(servos, lambda sample: sample.stopped_ns >= 0)
        assert sample.stopped_ns >= 0
        assert rig.joints.held == [None] * 3
        servos.close()


def test_a_cut_is_duty_zero_to_every_controller_and_says_when_it_was_sent(rig, run, until):
    servos = run(rig.servos())
    began_ns = rig.time.monotonic_ns()
    servos.write(cut(5))
    sample = until(servos, lambda sample: sample.acknowledged_ns >= 5)
    assert sample.stopped_ns >= began_ns
    assert {address for address, _ in rig.bus.stops} == {0x80, 0x81}
    assert rig.joints.held == [None] * 3


@pytest.mark.parametrize("kind", ["intermittent", "delayed"])
def test_a_cut_overtakes_the_answer_to_a_move_which_is_not_repeated(rig, run, wait_for, until, monkeypatch, kind):
    servos = run(rig.servos(answer_timeout_s=0.015))
    wait_for(lambda: servos.step() or servos._to_set)
    rig.inject_fault(kind, ms=40.0)
    before, pending = len(rig.recorder.received), [cut(7)]

    def rest(seconds):
        rig.time.sleep(seconds / 2)
        if pending:
            servos.write(pending.pop())

    monkeypatch.setattr(COMPUTER, "rest", rest)
    until(servos, lambda sample: sample.acknowledged_ns >= 7)
    first, stops, *others = [data for _, _, data in rig.recorder.received[before:]]
    assert first[1] == CommandCode.GO_M1
    assert stops[1] == CommandCode.DUTY
    assert not {data[1] for data in others} & {CommandCode.GO, CommandCode.GO_M1}
    assert rig.joints.held == [None] * 3


def test_nothing_moves_after_opening_or_a_failure_until_a_cut_and_a_command(rig, step_for):
    servos = rig.servos()
    servos.open()
    servos.write(go(1, *START))
    step_for(servos, 0.2)
    assert not rig.sent(CommandCode.GO)


def test_the_watchdogs_frames_stop_the_servos_without_their_driver(rig, run, send_stop, wait_for):
    servos = run(rig.servos())
    frames = servos.stop_frames()
    servos.close()
    for stop in frames:
        send_stop(stop)
    wait_for(lambda: rig.joints.held == [None] * 3)


def test_a_dead_program_is_noticed_by_the_controllers_time_out(rig, run, wait_for):
    servos = run(rig.servos(timeout_ms=100, answer_timeout_s=0.015))
    servos.close()
    wait_for(lambda: rig.joints.held == [None] * 3)
    assert {address for address, _ in rig.bus.timeouts} == {0x80, 0x81}


@pytest.mark.parametrize("requests", [False, True])
@pytest.mark.parametrize("kind", ["garbage", "slow", "delayed", "duplicate"])
def test_a_line_that_misbehaves_once_is_seen_through(rig, run, until, kind, requests):
    servos = run(rig.servos())
    rig.inject_fault(kind, requests=requests, ms=8.0)
    moved_ns = rig.time.monotonic_ns()
    sample = until(servos, lambda sample: sample.t_ns > moved_ns + 100_000_000)
    assert sample.angle_rad == pytest.approx(START, abs=1e-3)


def test_a_line_that_is_silent_is_lost(rig, run, step_until_error):
    servos = run(rig.servos())
    rig.inject_fault("off")
    assert isinstance(step_until_error(servos), LinkLostError)


def test_damaged_answers_are_too_many(rig, run, wait_for, step_until_error):
    servos = run(rig.servos())
    for retries in (1, 2):
        rig.inject_fault("garbage")
        wait_for(lambda retries=retries: servos.step() or servos.health().retries >= retries)
    rig.inject_fault("garbage")
    assert isinstance(step_until_error(servos), DamagedError)


def test_the_makers_client_moves_a_joint_and_reads_its_loop(rig, serve):
    serve([rig.line])
    maker = Basicmicro(str(rig.line.path), 115200, timeout=20.0, retries=5)
    assert maker.Open()
    assert maker.SetEncM1(0x80, 1000)
    assert maker.SetM1PositionPID(0x80, 2.0, 0.5, 0.25, 7, 8, 100, 2000)
    assert maker.ReadM1PositionPID(0x80) == (True, 2.0, 0.5, 0.25, 7, 8, 100, 2000)
    assert maker.ReadEncoderModes(0x80) == (True, 0, 0)
    assert maker.SpeedAccelDeccelPositionM1(0x80, 10**6, 10**6, 10**6, 1500, 1)
    assert any(maker.ReadEncM1(0x80)[1] == 1500 for _ in range(5000))
    assert maker.SpeedAccelDeccelPositionM1M2(0x80, 10**6, 10**6, 10**6, 9999, 10**6, 10**6, 10**6, 300, 1)
    ends = (2000, 300)  # its own end, and the other motor
    assert any(tuple(maker.GetEncoders(0x80)[1:]) == ends for _ in range(5000))
    assert maker.DutyM1M2(0x80, 0, 0)
    assert rig.joints.held == [None] * 3
    maker.close()


def test_counts_and_angles_are_each_others_inverse():
    for sign, angle in itertools.product((1, -1), (-0.9, 0.0, 0.31)):
        one = scale("arm", sign=sign)
        assert one.angle_rad(one.count(angle)) == pytest.approx(angle, abs=math.tau / COUNTS)
