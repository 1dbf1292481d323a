"""Servos against simulated Roboteq controllers in count position mode, over lines with their line time."""

import math
from unittest import mock

import msgspec
import pytest

from drivers.driver_type import RigSetup
from drivers.interfaces import DeviceError, LinkLostError
from drivers.messages import JointCommand
from drivers.roboteq import motor_layout
from drivers.roboteq.protocol import Exchange
from drivers.roboteq.section import RoboteqServosSection
from drivers.roboteq.servos import RoboteqServos
from drivers.roboteq.simulated_servos import RoboteqServoDevice
from drivers.servo_section import HOME, JointScale
from drivers.sim.protocol.line import LineFault
from tests.drivers.roboclaw.servo_rig import NAMES, SERVOS, InstantJoints, with_scales

GEAR, SHAFT = 50.0, 4096.0
START = (0.25, 0.25, 0.25)
SCALES = tuple(
    JointScale(name, SHAFT * GEAR, sign, False, HOME, -1.0, 1.0, 0.5, 2.0, 0.25, GEAR)
    for name, sign in zip(NAMES, (1, -1, 1), strict=True)
)


def cut(t_ns):
    return JointCommand(t_ns, True, (0.0,) * 3)


class Rig:
    """Two controllers on a line each: two arms on the first, a mast on channel 2 of the second."""

    channels = ((0, 1), (None, 2))

    def __init__(self, folder, line_time):
        self.time, self.joints = line_time, InstantJoints()
        self.joints.angle[:] = START
        self.devices = [RoboteqServoDevice(self.joints, channels, SCALES) for channels in self.channels]
        made = [line_time.connect(folder / f"port{i}", device, 115200) for i, device in enumerate(self.devices)]
        self.lines, self.recorders = zip(*made, strict=True)

    def servos(self, scales=SCALES, *, watchdog_ms=20000, answer_timeout_s=0.15):
        name = dict(enumerate(NAMES))
        controllers = [
            {"port": str(line.path), "channel_1": name.get(one), "channel_2": name.get(two)}
            for line, (one, two) in zip(self.lines, self.channels, strict=True)
        ]
        checked = RoboteqServosSection.model_validate(
            {"driver": "roboteq", "counts_per_turn": SHAFT, "gear": GEAR, "controllers": controllers}
        )
        section = checked.model_construct(**{**dict(checked), "watchdog_ms": watchdog_ms})
        with with_scales(scales), mock.patch.object(motor_layout, "ANSWER_TIMEOUT_S", answer_timeout_s):
            return RoboteqServos(section, RigSetup(servos=SERVOS))

    def sent(self, port=0):
        return b"".join(data for _, _, data in self.recorders[port].received)


@pytest.fixture
def rig(tmp_path, line_time):
    return Rig(tmp_path, line_time)


@pytest.fixture
def run(until):
    """Opens servos and lets them hold angles, confirmed by all controllers."""

    def hold(servos, *angles):
        servos.open()
        servos.write(cut(1))
        until(servos, lambda sample: sample.acknowledged_ns >= 1)
        servos.write(JointCommand(2, False, angles or START))
        until(servos, lambda sample: sample.acknowledged_ns >= 2)
        return servos

    return hold


def near(angles):
    return lambda sample: max(abs(a - b) for a, b in zip(sample.angle_rad, angles, strict=True)) < 1e-4


def test_the_joints_go_to_the_angles_commanded_and_tell_those_measured(rig, run, until):
    servos = run(rig.servos())
    servos.write(JointCommand(3, False, (0.3, -0.1, 0.6)))
    sample = until(servos, near((0.3, -0.1, 0.6)))
    assert sample.stopped_ns == -1
    assert rig.joints.held == pytest.approx([0.3, -0.1, 0.6], abs=1e-4)


def test_currents_have_the_sign_of_the_torque_at_the_joint(rig, run, until):
    rig.joints.current = [1.5, -2.2, 0.5]  # the second encoder counts the other way round
    servos = run(rig.servos())
    sample = until(servos, lambda sample: math.isfinite(sum(sample.current_A)) and any(sample.current_A))
    assert sample.current_A == pytest.approx((1.5, -2.2, 0.5), abs=0.06)


def test_moves_are_lines_of_positions_with_the_sign_of_the_encoder(rig, run):
    run(rig.servos(), 0.25, 0.5, 0.0)
    per_rad = SHAFT * GEAR / math.tau
    words = f"!P 1 {HOME + round(0.25 * per_rad)}_!P 2 {HOME - round(0.5 * per_rad)}\r"
    assert words.encode() in rig.sent(0)
    assert f"!P 2 {HOME}\r".encode() in rig.sent(1)
    assert b"!P 1" not in rig.sent(1)
    assert b"!G" not in rig.sent(0)


def test_the_profile_is_set_in_turns_of_the_encoders_shaft(rig):
    rig.servos().open()
    rpm = 2.0 * 0.5 * GEAR * 60.0 / math.tau  # twice the limiter's rate
    tenths = 10.0 * 10.0 * 2.0 * GEAR * 60.0 / math.tau
    assert f"!S 1 {round(rpm)}_!AC 1 {round(tenths)}_!DC 1 {round(tenths)}\r".encode() in rig.sent(0)


def test_a_controller_that_was_without_power_is_refused_until_the_start_is_confirmed(rig):
    unconfirmed = tuple(msgspec.structs.replace(scale, start_rad=None) for scale in SCALES)
    with pytest.raises(DeviceError, match=r"count 0 of left_arm.*start: confirmed"):
        rig.servos(unconfirmed).open()
    servos = rig.servos()
    servos.open()
    servos.close()
    again = rig.servos(unconfirmed)
    again.open()
    assert again.read(0).angle_rad == pytest.approx(START, abs=1e-4)


def test_a_controller_that_loses_its_power_in_a_run_is_a_failure(rig, run, step_until_error):
    servos = run(rig.servos())
    rig.devices[0].power_up()
    assert "without power" in str(step_until_error(servos))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("MMOD", 1, "MMOD of channel 2.*count position.*found 1, needed 3"),
        ("EPPR", 500, "EPPR.*found 500, needed 1024"),
    ],
)
def test_a_controller_that_is_configured_otherwise_is_refused(rig, name, value, words):
    rig.devices[1]._settings[name][1] = value
    with pytest.raises(DeviceError, match=words):
        rig.servos().open()


def test_a_cut_is_an_emergency_stop_and_the_joint_stays_where_it_was_moved_to_meanwhile(rig, run, until, step_for):
    servos = run(rig.servos())
    began_ns = rig.time.monotonic_ns()
    servos.write(cut(5))
    sample = until(servos, lambda sample: sample.acknowledged_ns >= 5)
    assert sample.stopped_ns >= began_ns
    assert rig.joints.held == [None] * 3
    rig.joints.angle[0] -= 0.2  # by hand
    until(servos, near((0.05, 0.25, 0.25)))
    step_for(servos, 0.1)
    began = [len(recorder.received) for recorder in rig.recorders]
    servos.write(JointCommand(6, False, (0.05, 0.25, 0.25)))
    until(servos, lambda sample: sample.acknowledged_ns >= 6)
    assert rig.joints.held == pytest.approx([0.05, 0.25, 0.25], abs=1e-3)
    after = b"".join(data for _, _, data in rig.recorders[0].received[began[0] :])
    before_release, _, _ = (rig.sent(0)[: -len(after)] + after).rpartition(b"!MG")
    assert before_release.rpartition(b"!P 1 ")[2].startswith(str(SCALES[0].count(0.05)).encode())


def test_nothing_moves_after_opening_until_a_cut_was_commanded(rig, step_for):
    servos = rig.servos()
    servos.open()
    servos.write(JointCommand(1, False, START))
    step_for(servos, 0.2)
    assert b"!MG" not in rig.sent(0)
    assert rig.joints.held == [None] * 3


@pytest.mark.parametrize("angles", [(1.1, 0.0, 0.0), (math.nan, 0.0, 0.0), (0.0, 0.0)])
def test_an_angle_that_the_joint_does_not_have_is_refused(rig, run, angles):
    servos = run(rig.servos())
    with pytest.raises(DeviceError, match="angle"):
        servos.write(JointCommand(9, False, angles))


def test_the_watchdogs_frames_stop_the_servos_without_their_driver(rig, run, send_stop, wait_for):
    servos = run(rig.servos())
    frames = servos.stop_frames()
    servos.close()
    for stop in frames:
        send_stop(stop)
    wait_for(lambda: rig.joints.held == [None] * 3)
    assert all(stop.frames == (b"\r!EX\r",) for stop in frames)


def test_a_dead_program_leaves_the_joints_on_their_way_to_the_newest_angle(rig, run, wait_for):
    """In position mode the controller's watchdog does nothing: only !EX switches off."""
    servos = run(rig.servos(watchdog_ms=100, answer_timeout_s=0.02))
    servos.write(JointCommand(3, False, (0.9, *START[1:])))
    set_before = rig.sent().count(b"!P 1")
    wait_for(lambda: servos.step() or rig.sent().count(b"!P 1") > set_before)
    servos.close()
    wait_for(lambda: all(device.timed_out for device in rig.devices))
    assert rig.joints.held[0] < 0.8  # still on its way
    wait_for(lambda: rig.joints.held[0] == pytest.approx(0.9, abs=1e-3))
    assert None not in rig.joints.held


def test_a_line_that_is_silent_is_lost(rig, run, step_until_error):
    servos = run(rig.servos())
    rig.lines[1].inject_fault(LineFault("off"))
    assert isinstance(step_until_error(servos), LinkLostError)


@pytest.mark.parametrize("kind", ["garbage", "delayed", "duplicate"])
def test_a_line_that_misbehaves_once_is_seen_through(rig, run, until, kind):
    servos = run(rig.servos())
    rig.lines[0].inject_fault(LineFault(kind, ms=8.0))
    moved_ns = rig.time.monotonic_ns()
    sample = until(servos, lambda sample: sample.t_ns > moved_ns + 100_000_000)
    assert sample.angle_rad == pytest.approx(START, abs=1e-3)


def test_counts_of_nine_digits_fit_into_the_longest_answer():
    answer = b"C=-10000000:-10000000\r"
    counts = Exchange(("?C",), (2,))
    assert len(answer) <= counts.longest_answer
    assert counts.decode(answer) == ((-10_000_000, -10_000_000),)
    assert Exchange(("?S",), (2,)).longest_answer < counts.longest_answer


def test_on_a_slow_line_each_round_still_sets_and_reads_every_controller(rig, run, until):
    servos = run(rig.servos())
    for line in rig.lines:
        line.inject_fault(LineFault("delayed", count=10**6, ms=15.0))  # a round of three takes longer than its period
    until(servos, lambda sample: True)  # its round has begun before
    for recorder in rig.recorders:
        recorder.received.clear()
    for _ in range(12):
        began_ns = rig.time.now_ns
        sample = until(servos, lambda sample: True)
        assert began_ns < sample.t_ns <= rig.time.now_ns
    for port in range(len(rig.lines)):
        sent = rig.sent(port)
        assert 11 <= sent.count(b"!P 2") <= 13
        assert 11 <= sent.count(b"?C") <= 13
