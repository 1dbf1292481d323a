"""Faults of a line or a controller end in stopped wheels, and no wheel runs again by itself."""

import pytest

from drivers.interfaces import DamagedError, DeviceError, LinkLostError
from drivers.messages import DriveCommand
from drivers.reported import Reaction
from drivers.roboteq import status

from .conftest import cut

SLOWLY = (0.1, 0.2, 0.3, -0.4, 0.5, -0.6)
STEP_RADPS = 3.2e-3  # what one thousandth commands


def steps(drives, count=30):
    for _ in range(count):
        drives.step()


def all_cut(rig):
    return all(commanded and commanded[-1] is None for commanded in rig.wheels.commanded)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["intermittent", "garbage", "slow", "duplicate", "delayed"])
@pytest.mark.parametrize("cut", [True, False])
def test_one_spoiled_answer_changes_nothing_but_the_count(rig, until, running, kind, cut):
    drives = rig.drives()
    running(drives)
    rig.inject_fault(kind, 1, ms=5.0)
    drives.write(DriveCommand(3, cut, SLOWLY))
    until(drives, lambda sample: sample.acknowledged_ns == 3)
    if cut:
        assert all_cut(rig)
    else:
        assert rig.wheels.speed == pytest.approx(SLOWLY, abs=STEP_RADPS)
    assert drives.health().retries <= 1


def test_answers_that_stay_spoiled_are_damage(rig, running):
    drives = rig.drives()
    running(drives)
    rig.inject_fault("garbage", 1, count=20)
    with pytest.raises(DamagedError, match=r"drive1.*check cable"):
        steps(drives, 1000)


@pytest.mark.slow
@pytest.mark.parametrize("dead", range(3))
def test_a_controller_that_dies_keeps_the_stop_from_no_other_and_its_wheels_stay_stopped_when_it_is_back(
    rig, running, dead
):
    drives = rig.drives(answer_timeout_s=0.02)
    running(drives)
    rig.inject_fault("off", dead)
    with pytest.raises(LinkLostError, match=f"drive{dead}: no answer"):
        steps(drives, 1000)
    with pytest.raises(LinkLostError):
        drives.step()
    alive = [place for place in range(3) if place != dead]
    assert all(rig.devices[place].stops for place in alive)
    rig.inject_fault("reconnect", dead)
    drives.write(DriveCommand(3, False, SLOWLY))
    steps(drives)
    assert all_cut(rig)


@pytest.mark.parametrize("gone", range(3))
def test_a_port_that_is_gone_keeps_the_stop_from_no_other(rig, running, gone):
    drives = rig.drives()
    running(drives)
    rig.inject_fault("disconnect", gone)
    drives.write(cut(3))
    with pytest.raises(LinkLostError, match=f"drive{gone} is gone"):
        drives.step()
    assert all(rig.devices[place].stops for place in range(3) if place != gone)


def test_a_port_that_is_gone_is_a_lost_link_and_after_opening_again_nothing_runs_by_itself(rig, running):
    drives = rig.drives()
    running(drives)
    rig.inject_fault("disconnect", 2)
    with pytest.raises(LinkLostError, match=r"drive2 is gone"):
        steps(drives, 1000)
    assert not drives.health().open
    with pytest.raises(LinkLostError, match="no such port"):
        drives.open()
    rig.inject_fault("reconnect", 2)
    rig.wheels.forget()
    drives.open()
    drives.write(DriveCommand(3, False, SLOWLY))
    steps(drives)
    assert not rig.wheels.ever_ran()


def test_an_emergency_stop_is_reported_and_its_release_lets_nothing_run(rig, running, step_until):
    drives = rig.drives()
    running(drives)
    rig.devices[1].pressed = True
    step_until(drives, lambda: drives.health().e_stop)
    step_until(drives, lambda: all_cut(rig))
    rig.devices[1].pressed = False
    rig.wheels.forget()
    for t_ns in range(3, 100):
        drives.write(DriveCommand(t_ns, False, SLOWLY))
        drives.step()
    assert not rig.wheels.ever_ran()
    drives.write(cut(100))
    steps(drives)
    drives.write(DriveCommand(101, False, SLOWLY))
    step_until(drives, lambda: any(rig.wheels.speed))
    step_until(drives, lambda: not drives.health().e_stop)


@pytest.mark.slow
def test_stopped_controllers_say_when_an_emergency_stop_is_released_and_stay_stopped(rig, running, step_until):
    """Nobody starts a rig that says that its emergency stop is pressed: it has to say when it is not."""
    drives = rig.drives()
    running(drives)
    rig.devices[1].pressed = True
    step_until(drives, lambda: drives.health().e_stop)
    drives.write(cut(3))
    rig.wheels.forget()
    for _ in range(3000):
        drives.step()
        assert drives.health().e_stop
    rig.devices[1].pressed = False
    step_until(drives, lambda: not drives.health().e_stop)
    steps(drives)
    assert all_cut(rig)
    assert not rig.wheels.ever_ran()


def test_an_emergency_stop_that_also_cuts_the_power_is_reported_until_it_is_seen_to_be_released(
    rig, running, step_until
):
    drives = rig.drives(answer_timeout_s=0.02)
    running(drives)
    rig.devices[1].pressed = True
    step_until(drives, lambda: drives.health().e_stop)
    drives.close()
    drives.open()
    assert drives.health().e_stop
    rig.devices[1].pressed = False
    drives.write(cut(3))
    step_until(drives, lambda: not drives.health().e_stop)


def test_an_emergency_stop_that_is_pressed_before_anything_ran_is_reported_until_it_is_released(rig, step_until):
    """A driver's own stop sets the same flag, so after the first cut it looks whether that is all; nothing runs."""
    rig.devices[1].pressed = True
    drives = rig.drives()
    drives.open()
    drives.write(cut(1))
    step_until(drives, lambda: drives.health().e_stop)
    step_until(drives, lambda: (sample := drives.read(0)) and sample.acknowledged_ns == 1)
    rig.devices[1].pressed = False
    drives.write(cut(2))
    step_until(drives, lambda: not drives.health().e_stop)
    assert all_cut(rig)
    assert not rig.wheels.ever_ran()


@pytest.mark.slow
def test_a_pressed_emergency_stop_lets_no_controller_run(rig):
    rig.devices[1].pressed = True
    drives = rig.drives()
    drives.open()
    drives.write(cut(1))
    steps(drives)
    drives.write(DriveCommand(2, False, SLOWLY))
    steps(drives, 200)
    assert drives.health().e_stop
    assert not rig.wheels.ever_ran()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"^MXRPM 2 2500\r", r"drive1: MXRPM of channel 2: found 2500, needed 3000"),
        (b"^MMOD 1 0\r", r"drive1: MMOD of channel 1 \(closed-loop speed\): found 0, needed 1"),
    ],
)
def test_a_controller_that_is_configured_otherwise_is_refused_and_named(rig, text, message):
    rig.devices[1].receive(text, 0, 0)
    with pytest.raises(DeviceError, match=message):
        rig.drives().open()


def test_every_wrong_setting_of_every_controller_is_named_at_once(rig):
    rig.devices[0].receive(b"^MMOD 1 0\r", 0, 0)
    rig.devices[2].receive(b"^MXRPM 1 2000\r", 0, 0)
    rig.devices[2].receive(b"^MXRPM 2 2500\r", 0, 0)
    with pytest.raises(DeviceError) as refused:
        rig.drives().open()
    first, second, third = str(refused.value).split("maker's program, or correct the settings; ")
    assert "drive0: MMOD of channel 1" in first
    assert "drive2: MXRPM of channel 1: found 2000" in second
    assert "drive2: MXRPM of channel 2: found 2500" in third


def test_every_port_that_is_missing_is_named_at_once(rig):
    for place in (0, 2):
        rig.inject_fault("disconnect", place)
    with pytest.raises(LinkLostError, match=r"drive0: there is no such port.*drive2: there is no such port"):
        rig.drives().open()


def test_a_silent_controller_is_refused_and_named_and_the_others_are_stopped(rig):
    rig.inject_fault("off", 0)
    with pytest.raises(LinkLostError, match=r"drive0: no answer"):
        rig.drives(answer_timeout_s=0.02).open()
    assert all(b"!EX" in rig.received(place) for place in (1, 2))


def test_a_wheel_that_turns_after_its_stop_is_refused(rig, monkeypatch):
    monkeypatch.setattr(rig.wheels, "speed_radps", lambda wheel: 0.3 if wheel == 4 else 0.0)
    with pytest.raises(DeviceError, match=r"wheel_4 turns at 0.299 rad/s"):
        rig.drives().open()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "where"),
    [(status.FAULTS, ""), (status.MOTOR, "channel 1 on "), (status.CONTROLLER, "")],
    ids=lambda one: getattr(one, "name", ""),
)
def test_every_flag_is_reported_as_its_row_says(rig, running, step_for, table, where):
    drives = rig.drives()
    running(drives)
    port = drives.motors.controllers[1].port
    for row in table.rows:
        if row.reaction is Reaction.EMERGENCY_STOP:
            continue
        rig.devices[1].inject_fault("status", {"status": table.name, "value": row.value})
        step_for(drives, 0.15)
        reports = drives.health().reports
        if row.reaction is Reaction.IGNORED:
            assert reports == ()
            continue
        (report,) = reports
        assert report.safe is (row.reaction is Reaction.SAFE)
        assert report.words == f"{row.words} ({table.name} {row.value:#x}), {where}{port}"


def test_a_script_that_runs_is_stopped_before_anything_may_move(rig, running):
    """Its commands feed the watchdog: with it, nothing stops the motors of a dead host."""
    rig.devices[1].script = True
    running(rig.drives())
    assert not rig.devices[1].script


def test_a_script_that_does_not_stop_and_one_that_starts_at_power_up_are_refused_by_name(rig):
    rig.devices[1].inject_fault("status", {"status": "FS", "value": status.SCRIPT_RUNS})
    with pytest.raises(
        DeviceError, match=r"drive1: script runs \(\?FS\): found 128, needed 0; !R 0 has not stopped it"
    ):
        rig.drives().open()
    rig.devices[1].inject_fault("status", {"status": "FS", "value": 1})
    rig.devices[2]._settings["BRUN"] = [1]
    with pytest.raises(DeviceError, match=r"drive2: script at power-up \(BRUN\): found 1, needed 0"):
        rig.drives().open()


def test_an_emergency_stop_is_looked_at_in_each_round(rig, running):
    """Of all controllers; it is the stop of a person who pressed the button at one of them."""
    drives = rig.drives()
    running(drives)
    rig.devices[2].pressed = True
    rounds = rig.received(2).count(b"?FF")
    while not drives.health().e_stop:
        drives.step()
    assert rig.received(2).count(b"?FF") - rounds <= 2
