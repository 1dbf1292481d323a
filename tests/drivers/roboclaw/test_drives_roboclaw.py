"""The drives against simulated controllers, over lines with the line time of their baud rate."""

import math

import numpy as np
import pytest

from drivers.interfaces import DamagedError, DeviceError, LinkLostError
from drivers.messages import DriveCommand
from drivers.reported import Reaction
from drivers.roboclaw import protocol
from drivers.roboclaw.protocol import READINGS, CommandCode
from drivers.roboclaw.simulated import SimRoboClaw
from drivers.roboclaw.unit import Unit

from .conftest import COUNTS, WHEELS, cut, run


def test_they_hold_the_speeds_commanded_and_tell_those_measured(rig, until, wait_for):
    drives = rig.drives(acceleration_radps2=1e8 * math.tau / COUNTS)
    drives.open()
    drives.write(cut(5))
    drives.write(DriveCommand(6, False, (0.1, 0.2, 0.3, -0.4, 0.5, 0.6)))
    until(drives, lambda sample: sample.acknowledged_ns == 6)
    wait_for(lambda: rig.wheels.commanded == pytest.approx([0.1, 0.2, 0.3, -0.4, 0.5, 0.6], abs=1e-3))
    asked_ns = rig.time.monotonic_ns()
    sample = until(drives, lambda sample: sample.t_ns > asked_ns)
    assert sample.speed_radps == pytest.approx((0.1, 0.2, 0.3, -0.4, 0.5, 0.6), abs=1e-3)
    assert sample.stopped_ns == -1


def test_a_motor_mounted_the_other_way_round_counts_the_other_way_round(make_rig, until):
    drives = make_rig(sign=(1, -1, 1, -1, 1, -1)).drives(reversed=WHEELS[1::2])
    drives.open()
    drives.write(cut(1))
    drives.write(run(2, 5.0))
    sample = until(drives, lambda sample: min(sample.speed_radps) > 4.0)
    assert sample.speed_radps == pytest.approx((5.0,) * 6, rel=0.05)


def test_a_dropped_answer_is_asked_for_again(rig, running, until):
    drives = rig.drives()
    running(drives)
    rig.inject_fault("intermittent")
    until(drives, lambda sample: drives.health().retries == 1)
    assert until(drives, lambda sample: True).speed_radps == pytest.approx((1.0,) * 6, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("requests", [False, True])
@pytest.mark.parametrize("kind", ["garbage", "slow", "delayed", "duplicate"])
def test_a_line_that_misbehaves_once_is_seen_through(rig, running, until, kind, requests):
    drives = rig.drives()
    running(drives)
    rig.inject_fault(kind, requests=requests, ms=8.0)
    moved_ns = rig.time.monotonic_ns()
    sample = until(drives, lambda sample: sample.t_ns > moved_ns + 100_000_000)
    assert sample.speed_radps == pytest.approx((1.0,) * 6, abs=1e-3)
    assert sample.acknowledged_ns == 2


def test_an_answer_that_comes_too_late_is_not_taken_for_the_next(rig, running, until):
    drives = rig.drives()
    running(drives)
    for wheel in range(6):
        rig.wheels.speed[wheel] = 0.1 * wheel
    for _ in range(3):
        rig.inject_fault("delayed", ms=250.0)
        moved_ns = rig.time.monotonic_ns()
        until(drives, lambda sample, moved_ns=moved_ns: sample.t_ns > moved_ns + 300_000_000)
    assert drives.health().retries >= 3
    assert drives._links[0].unsolicited_bytes > 0


def test_three_damaged_answers_in_ten_are_too_many_and_cut(rig, running, wait_for, step_for, step_until_error):
    drives = rig.drives()
    running(drives)
    for retries in (1, 2):
        rig.inject_fault("garbage")
        wait_for(lambda retries=retries: drives.step() or drives.health().retries >= retries)
    rig.inject_fault("garbage")
    error = step_until_error(drives)
    assert isinstance(error, DamagedError)
    assert "3 of the last" in str(error)
    drives.write(run(20))
    step_for(drives, 0.1)
    assert rig.wheels.commanded == [None] * 6


def test_silence_is_a_lost_link_and_a_device_that_comes_back_stays_cut(rig, running, until, step_for, step_until_error):
    drives = rig.drives()
    running(drives)
    rig.inject_fault("off")
    error = step_until_error(drives)
    assert isinstance(error, LinkLostError)
    assert "no answer" in str(error)
    rig.inject_fault("reconnect")
    drives.write(run(20))
    step_for(drives, 0.15)
    assert rig.wheels.commanded == [None] * 6
    drives.write(cut(21))
    drives.write(run(22))
    until(drives, lambda sample: sample.acknowledged_ns == 22)
    assert rig.wheels.commanded == pytest.approx([1.0] * 6, abs=1e-3)


def test_unplugged_and_plugged_in_again_it_never_starts_by_itself(rig, running, until, step_for, step_until_error):
    drives = rig.drives()
    running(drives)
    rig.inject_fault("disconnect")
    assert isinstance(step_until_error(drives), LinkLostError)
    assert not drives.health().open
    with pytest.raises(LinkLostError, match="no such port"):
        drives.open()
    rig.inject_fault("reconnect")
    drives.open()
    drives.write(run(20))
    step_for(drives, 0.15)
    assert rig.wheels.commanded == [None] * 6
    assert until(drives, lambda sample: True).acknowledged_ns == -1
    drives.write(cut(21))
    drives.write(run(22))
    until(drives, lambda sample: sample.acknowledged_ns == 22)
    assert rig.wheels.commanded == pytest.approx([1.0] * 6, abs=1e-3)


def test_after_a_pause_beyond_the_timeout_they_are_not_started_again(rig, running, step_for):
    """The controllers have stopped by themselves; the next set-point would start them."""
    drives = rig.drives(timeout_ms=500)
    running(drives)
    rig.time.sleep(0.6)
    assert rig.wheels.commanded == [None] * 6
    with pytest.raises(LinkLostError, match="serial time-out of 500 ms has stopped it"):
        drives.step()
    step_for(drives, 0.1)
    assert rig.wheels.commanded == [None] * 6


@pytest.mark.parametrize("speed", [float("nan"), float("inf"), 1e9])
def test_a_speed_that_cannot_be_is_refused_and_cuts(rig, running, until, speed):
    drives = rig.drives()
    running(drives)
    with pytest.raises(ValueError, match="wheel 0, allowed: below"):
        drives.write(run(20, speed))
    until(drives, lambda sample: sample.stopped_ns > 0)
    assert rig.wheels.commanded == [None] * 6


def test_wheels_that_turn_are_not_taken_over(rig):
    rig.wheels.speed[3] = 0.2
    rig.wheels.cut = lambda wheel: None  # they coast
    with pytest.raises(DeviceError, match=r"0x81 on .*bus0: wheel_3 turns at 0.2"):
        rig.drives().open()


def test_an_address_that_does_not_answer_is_named(make_rig):
    rig = make_rig()
    del rig.buses[0].controllers[0x82]
    with pytest.raises(LinkLostError, match=r"address 0x82: wheel drives on .*bus0: no answer"):
        rig.drives().open()


def test_another_device_is_refused_by_what_it_says_it_is(make_rig):
    rig = make_rig(version="Sabertooth 2x32\n")
    with pytest.raises(DeviceError, match=r"address 0x80 on .*bus0: no RoboClaw but 'Sabertooth 2x32'"):
        rig.drives().open()


def test_a_device_that_speaks_otherwise_is_refused(rig):
    rig.recorders[0].receive = lambda data, began_ns, ended_ns: data + b"?\r"  # an echo, as of a Roboteq
    with pytest.raises(DeviceError, match=r"address 0x80: wheel drives on .*bus0: no answer .* bytes of one"):
        rig.drives().open()


def test_a_timeout_that_does_not_stick_is_refused(rig):
    for controller in rig.buses[0].controllers.values():
        controller._set = lambda command, values: None
    with pytest.raises(DeviceError, match="serial time-out 0 ms, set: 20000 ms"):
        rig.drives().open()


def test_a_firmware_that_does_not_answer_a_setting_of_one_byte_is_asked_whether_it_has_it(rig, running):
    """As reported of 4.3.6: it carries the setting out."""
    for controller in rig.buses[0].controllers.values():
        controller.answers_bytes = False
    running(rig.drives(timeout_ms=400))
    assert [one.timeout_steps for one in rig.buses[0].controllers.values()] == [4, 4, 4]
    rig.buses[0].controllers[0x81]._set = lambda command, values: None
    with pytest.raises(DeviceError, match=r"address 0x81 on .*: serial time-out 400 ms, set: 500 ms; is it locked"):
        rig.drives(timeout_ms=500).open()


def test_a_port_that_goes_while_the_time_out_is_set_is_named_as_gone(rig, monkeypatch):
    def gone(unit, command, *values):
        rig.inject_fault("disconnect")
        return Unit.ask(unit, protocol.setting(unit.controller.address, command, *values))

    monkeypatch.setattr(Unit, "set", gone)
    with pytest.raises(LinkLostError, match="is gone"):
        rig.drives().open()


def test_opening_leaves_every_controller_cut_with_its_timeout_set(rig):
    for wheel in range(6):
        rig.wheels.commanded[wheel] = 0.0
    drives = rig.drives(timeout_ms=400)
    drives.open()
    assert rig.wheels.commanded == [None] * 6
    assert [one.timeout_steps for one in rig.buses[0].controllers.values()] == [4, 4, 4]
    assert drives.read(0).speed_radps == (0.0,) * 6


@pytest.mark.parametrize("form", [protocol.NARROW, protocol.WIDE])
def test_an_emergency_stop_shows_whatever_the_firmware(make_rig, form, wait_for):
    rig = make_rig(form=form)
    drives = rig.drives()
    drives.open()
    stops = [one.bits.emergency_stop for one in (protocol.NARROW, protocol.WIDE)]
    other = sum(stops) & ~form.bits.emergency_stop
    rig.wheels.supply, rig.buses[0].controllers[0x81].status = 11.3, other
    wait_for(lambda: drives.step() or f"status {other:#06x}" in drives.health().detail)
    wait_for(lambda: drives.step() or "11.3 V" in drives.health().detail)
    assert not drives.health().e_stop
    rig.buses[0].controllers[0x81].e_stop = True
    wait_for(lambda: drives.step() or drives.health().e_stop)


@pytest.mark.slow
@pytest.mark.parametrize("form", [protocol.NARROW, protocol.WIDE])
def test_every_bit_of_the_status_is_reported_as_its_row_says(make_rig, form, wait_for):
    rig = make_rig(form=form)
    drives = rig.drives()
    drives.open()
    for row in form.bits.rows:
        if row.reaction is Reaction.EMERGENCY_STOP:
            continue
        rig.buses[0].controllers[0x81].status = row.value
        wait_for(lambda row=row: drives.step() or f"status {row.value:#06x}" in drives.health().detail)
        if row.reaction is Reaction.IGNORED:
            assert drives.health().reports == ()
            continue
        (report,) = drives.health().reports
        assert report.safe is (row.reaction is Reaction.SAFE)
        where = f"{form.bits.name} {row.value:#x}), address 0x81 on"
        assert report.words.startswith(f"{row.words} ({where}")


def test_the_higher_one_of_two_temperatures_is_measured_and_a_model_with_one_has_that(make_rig, wait_for, monkeypatch):
    rig = make_rig()
    drives = rig.drives(slow_hz=20.0)
    drives.open()
    answers = {CommandCode.TEMPERATURE: 41.0, CommandCode.TEMPERATURE_2: 57.5}
    real = SimRoboClaw._reading

    def reading(controller, command):
        if (value := answers.get(command)) is not None:
            return READINGS[command].pack(round(10 * value))
        return real(controller, command)

    monkeypatch.setattr(SimRoboClaw, "_reading", reading)

    def hottest():
        drives.step()
        sample = drives.read(0)
        return sample.power.temperature_degC[0] if sample and sample.power.t_ns >= 0 else None

    wait_for(lambda: hottest() == 57.5)
    drives.close()
    monkeypatch.setattr(protocol, "KNOWN", protocol.KNOWN - {CommandCode.TEMPERATURE_2})
    drives.open()
    wait_for(lambda: hottest() == 41.0)
    assert drives.health().errors == 2 * len(rig.controllers)  # asked for once at each, and then no more


def test_a_closed_driver_says_so_and_may_be_closed_again(rig):
    drives = rig.drives()
    drives.close()
    drives.close()
    assert not drives.health().open
    with pytest.raises(LinkLostError, match="not open"):
        drives.step()


def test_it_says_that_it_is_alive_while_it_waits(rig):
    calls = []
    drives = rig.drives(alive=lambda: calls.append(rig.time.now_ns))
    rig.inject_fault("off")
    with pytest.raises(LinkLostError):
        drives.open()
    assert len(calls) >= 70  # two time-outs of 0.15 s, in slices of 4 ms
    assert max(np.diff(calls)) < 5_000_000
