"""Six drives on three Roboteq controllers: stopped at opening, cuts before all other commands, never resumed."""

import math

import pydantic
import pytest

from drivers.driver_type import RigSetup
from drivers.interfaces import DamagedError, DeviceError
from drivers.messages import DriveCommand
from drivers.roboteq.entry import ROBOTEQ
from drivers.roboteq.motor_layout import ANSWER_TIMEOUT_S, RoboteqWheels
from drivers.roboteq.section import RoboteqDrivesSection

from .conftest import NAMES, cut, section_of

SLOWLY = (0.1, 0.2, 0.3, -0.4, 0.5, -0.6)
STEP_RADPS = 3000 / 1000 * 2 * math.pi / 60 / 100.0  # what one thousandth commands


def steps(drives, count=30):
    for _ in range(count):
        drives.step()


def all_cut(rig):
    return all(commanded and commanded[-1] is None for commanded in rig.wheels.commanded)


def test_speeds_are_those_commanded_wheel_by_wheel_with_their_signs(rig, until, running):
    drives = rig.drives()
    running(drives)
    drives.write(DriveCommand(3, False, SLOWLY))
    sample = until(drives, lambda sample: sample.acknowledged_ns == 3)
    assert rig.wheels.speed == pytest.approx(SLOWLY, abs=STEP_RADPS)
    assert sample.speed_radps == pytest.approx(rig.wheels.speed, abs=STEP_RADPS / 2)
    assert sample.stopped_ns == -1
    assert b"!G 2 -" in rig.received(1)  # wheel 4 is mounted the other way round


def test_at_opening_the_stop_goes_out_before_anything_else_whatever_a_dead_host_has_left(rig):
    for device in rig.devices:
        device.receive(b"!G 1 500_!G 2 500\r!G 1 10", 0, 0)  # and half a command
    rig.wheels.forget()
    drives = rig.drives()
    drives.open()
    assert all(rig.received(place).startswith(b"\r!EX_!G 1 0_!G 2 0_") for place in range(3))
    assert all_cut(rig)
    assert [device.watchdog_ms for device in rig.devices] == [3000] * 3


def test_opening_after_a_time_out_of_the_watchdogs_resumes_nothing(rig):
    for device in rig.devices:
        device.receive(
            b"^RWD 10_!G 1 500_!G 2 500\r", 0, 0
        )  # the simulated controllers' watchdogs are checked much later
    rig.time.sleep(0.05)
    assert all(device.timed_out for device in rig.devices)
    rig.wheels.forget()
    drives = rig.drives()
    drives.open()
    drives.write(cut(1))
    steps(drives)
    assert not rig.wheels.ever_ran()


def test_after_a_silence_in_which_the_watchdogs_stopped_the_wheels_nothing_resumes(rig, running, step_until):
    drives = rig.drives(watchdog_ms=200, answer_timeout_s=0.05)
    running(drives)
    rig.time.sleep(0.4)
    assert all(device.timed_out for device in rig.devices)
    rig.wheels.forget()
    for t_ns in range(3, 60):
        drives.write(DriveCommand(t_ns, False, SLOWLY))
        drives.step()
    assert not rig.wheels.ever_ran()
    assert all_cut(rig)
    drives.write(cut(60))
    drives.write(DriveCommand(61, False, SLOWLY))
    step_until(drives, lambda: rig.wheels.speed == pytest.approx(SLOWLY, abs=STEP_RADPS))


def test_nothing_runs_after_opening_until_a_cut_was_commanded(rig):
    drives = rig.drives()
    drives.open()
    drives.write(DriveCommand(1, False, SLOWLY))
    steps(drives)
    assert not rig.wheels.ever_ran()


def test_a_cut_goes_to_all_controllers_in_the_next_step(rig, running):
    drives = rig.drives()
    running(drives)
    rig.time.sleep(0.05)  # set-points and readings are due
    for recorder in rig.recorders:
        recorder.received.clear()
    drives.write(cut(3))
    drives.step()
    assert [rig.received(place) for place in range(3)] == [b"!EX\r"] * 3
    assert all_cut(rig)


def test_a_cut_is_output_zero_and_then_both_set_points_zero(rig, until, running):
    drives = rig.drives()
    running(drives)
    rig.wheels.forget()
    drives.write(cut(3))
    until(drives, lambda sample: sample.acknowledged_ns == 3)
    assert rig.wheels.commanded == [[None]] * 6  # never a speed held at zero
    assert all(b"!EX\r!G 1 0_!G 2 0_?FF\r" in rig.received(place) for place in range(3))


def test_stopped_ns_is_when_the_last_stop_was_on_the_wire(rig, until, running):
    drives = rig.drives()
    running(drives)
    commanded_ns = rig.time.monotonic_ns()
    drives.write(cut(3))
    sample = until(drives, lambda sample: sample.stopped_ns > 0)
    done_ns = rig.time.monotonic_ns()
    assert commanded_ns < sample.stopped_ns < done_ns
    line_ns = 4 * 10 * 1_000_000_000 // 115200
    assert max(device.stops[-1] for device in rig.devices) >= sample.stopped_ns - line_ns
    drives.write(cut(4))
    assert until(drives, lambda sample: sample.acknowledged_ns == 4).stopped_ns == sample.stopped_ns
    drives.write(DriveCommand(5, False, SLOWLY))
    assert until(drives, lambda sample: sample.acknowledged_ns == 5).stopped_ns == -1


def test_a_stop_that_had_to_be_sent_twice_counts_from_the_second(rig, until, running):
    drives = rig.drives()
    running(drives)
    rig.inject_fault("intermittent", 1, requests=True)
    drives.write(cut(3))
    sample = until(drives, lambda sample: sample.stopped_ns > 0)
    stops_ns = [device.stops[-1] for device in rig.devices]
    assert stops_ns[1] - stops_ns[0] > 100_000_000  # the answer was waited for in vain
    assert sample.stopped_ns > (stops_ns[0] + stops_ns[1]) // 2


def test_a_controller_that_somebody_else_releases_is_stopped_again(rig, until, running, step_until):
    drives = rig.drives()
    running(drives)
    drives.write(cut(3))
    until(drives, lambda sample: sample.acknowledged_ns == 3)
    rig.wheels.forget()
    rig.devices[1].receive(b"!MG\r", 0, 0)
    step_until(drives, lambda: rig.wheels.commanded[5][-1:] == [None])


def test_a_cut_is_told_again_and_again_so_that_the_watchdogs_hear_of_us(rig, until, running):
    drives = rig.drives(rate_hz=100.0)
    running(drives)
    for t_ns in range(3, 8):
        drives.write(cut(t_ns))
        until(drives, lambda sample, t_ns=t_ns: sample.acknowledged_ns == t_ns)
    assert rig.received(0).count(b"!G 1 0_!G 2 0_?FF\r") >= 5


def test_wheels_stop_when_their_host_dies(rig, running):
    running(rig.drives(watchdog_ms=200, answer_timeout_s=0.05))
    assert all(rig.wheels.speed)
    rig.time.sleep(0.3)
    assert rig.wheels.speed == [0.0] * 6


def test_our_own_cut_is_no_emergency_stop(rig, until, running):
    drives = rig.drives()
    running(drives)
    drives.write(cut(3))
    until(drives, lambda sample: sample.acknowledged_ns == 3)
    steps(drives, 100)
    assert not drives.health().e_stop


def test_health_tells_battery_currents_and_faults(rig, running, step_until):
    drives = rig.drives(rate_hz=200.0)
    running(drives)
    rig.devices[0].faults |= 4
    step_until(drives, lambda: "undervoltage" in drives.health().detail and "24.0 V" in drives.health().detail)
    assert "A and" in drives.health().detail
    assert drives.health().rate_hz > 0.0


def test_stop_frames_stop_running_wheels(rig, running, send_stop):
    drives = rig.drives()
    running(drives)
    drives.close()
    frames = drives.stop_frames()
    assert [stop.port for stop in frames] == [str(line.path) for line in rig.lines]
    for stop in frames:
        send_stop(stop)
    rig.time.sleep(0.01)
    assert all_cut(rig)


@pytest.mark.parametrize("speed", [3.2, -3.2, math.nan, math.inf])
def test_a_speed_that_cannot_be_commanded_is_refused(rig, speed):
    drives = rig.drives()
    drives.write(cut(1))
    with pytest.raises(DeviceError, match=r"wheel 3: .* rad/s, allowed: up to 3.142"):
        drives.write(DriveCommand(2, False, (0.0, 0.0, 0.0, speed, 0.0, 0.0)))


RIG = RigSetup(wheels=NAMES, wheel_speed_limit_radps=1.0)
PORTS, PAIRS = ("/dev/a", "/dev/b", "/dev/c"), ((0, 1), (2, 3), (4, 5))


@pytest.mark.parametrize(
    ("ports", "keys", "message"),
    [
        (PORTS[:2], {}, "wheel_4 on no channel"),
        (PORTS, {"rate_hz": 15.0}, "at least 20: two set-points within watchdog_ms, 100 ms"),
    ],
)
def test_what_cannot_work_is_refused(ports, keys, message):
    assert any(message in str(problem) for problem in ROBOTEQ.check(section_of(ports, PAIRS, **keys), RIG))


@pytest.mark.parametrize("watchdog_ms", [0, 79, 1001])
def test_a_watchdog_too_short_for_four_answers_is_refused_by_the_section(watchdog_ms):
    assert pytest.approx(0.08) == 4 * ANSWER_TIMEOUT_S
    with pytest.raises(pydantic.ValidationError, match="watchdog_ms"):
        RoboteqDrivesSection(driver="roboteq", max_rpm=3000.0, gear_ratio=100.0, watchdog_ms=watchdog_ms)


def test_the_budget_is_the_line_time_of_a_period_on_one_port():
    run = len(b"!G 1 -1000_!G 2 -1000\r") + len(b"+\r+\r")
    speeds = len(b"?S_?FF\r") + len(b"S=-65535:-65535\r") + len(b"FF=-65535\r")
    slow = len(b"?V\r") + len(b"V=-65535:-65535:-65535\r")
    expected = 50.0 * ((run + speeds + slow) * 10 / 115200 + 3 * 500e-6)
    assert RoboteqWheels(section_of(PORTS, PAIRS), RIG).budget == pytest.approx(expected, rel=1e-6)


def test_it_says_which_controllers_they_are_by_the_numbers_of_their_processors(rig):
    for place, device in enumerate(rig.devices):
        device._queries["UID"] = lambda place=place: (300, 1089, -1 if place else 2**32 - 1, place)
    names = [f"300-1089-4294967295-{place}" for place in range(3)]
    drives = rig.drives(identities=names)
    drives.open()
    assert [(one.found, one.needed) for one in drives.health().identities] == [(name, name) for name in names]


def test_two_swapped_ports_are_refused_before_anything_moves_or_is_set(rig):
    for place, device in enumerate(rig.devices):
        device._queries["UID"] = lambda place=place: (300, 1089, 7, place)
    with pytest.raises(
        DeviceError, match=r"Roboteq drives on .*drive0: its identity is 300-1089-7-0, needed: 300-1089-7-1"
    ):
        rig.drives(identities=("300-1089-7-1", "300-1089-7-0", "300-1089-7-2")).open()
    assert not rig.wheels.ever_ran()
    assert [device.watchdog_ms for device in rig.devices[:2]] == [1000] * 2


def test_a_firmware_that_knows_no_number_of_its_processor_has_no_identity(rig):
    for device in rig.devices:
        del device._queries["UID"]
    drives = rig.drives()
    drives.open()
    assert [one.found for one in drives.health().identities] == ["", "", ""]
    assert drives.health().errors == 0
    drives.close()
    with pytest.raises(DeviceError, match="its identity is none, needed: 300-1"):
        rig.drives(identities=("", "300-1", "")).open()


def test_a_damaged_answer_is_no_identity(rig):
    for device in rig.devices:
        device._queries["UID"] = lambda: (300, 10**11)
    with pytest.raises(DamagedError, match=r"is no answer to .UID"):
        rig.drives().open()
