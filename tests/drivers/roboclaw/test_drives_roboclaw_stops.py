"""A cut at the protocol level: before all other commands, to every controller, even if some do not answer."""

from contextlib import suppress

import pytest

from drivers.interfaces import DeviceError, LinkLostError
from drivers.roboclaw import protocol
from drivers.roboclaw.protocol import CommandCode

from .conftest import cut, run


def test_a_cut_comes_next_before_anything_else(rig, running, until, wait_for):
    drives = rig.drives()
    running(drives)
    for _ in range(20):
        drives.step()
        received = rig.recorders[0].received
        before = len(received)
        drives.write(cut(10))
        drives.step()
        wait_for(lambda at=before, received=received: len(received) > at)
        stops = b"".join(protocol.request(address, CommandCode.DUTY, 0, 0) for address in (0x80, 0x81, 0x82))
        assert received[before][2] == stops
        assert rig.wheels.commanded == [None] * 6
        drives.write(run(11))
        until(drives, lambda sample: sample.acknowledged_ns == 11)


def test_a_cut_is_confirmed_by_all_and_says_when_its_last_byte_had_left(rig, running, until):
    drives = rig.drives()
    running(drives)
    written_ns = rig.time.monotonic_ns()
    drives.write(cut(written_ns))
    sample = until(drives, lambda sample: sample.acknowledged_ns >= written_ns)
    assert [address for address, _ in rig.buses[0].stops] == [0x80, 0x81, 0x82]
    assert written_ns < sample.stopped_ns
    assert sample.stopped_ns == pytest.approx(rig.buses[0].stops[-1][1], abs=10_000)
    assert rig.buses[0].stops[-1][1] < rig.time.monotonic_ns()
    again_ns = rig.time.monotonic_ns()
    drives.write(cut(again_ns))
    again = until(drives, lambda sample: sample.acknowledged_ns >= again_ns)
    assert again.stopped_ns == sample.stopped_ns
    drives.write(run(again_ns + 1))
    assert until(drives, lambda sample: sample.acknowledged_ns == again_ns + 1).stopped_ns == -1


def test_on_three_buses_every_stop_is_on_its_way_before_an_answer_has_come(three, running, wait_for):
    drives = three.drives()
    running(drives)
    three.inject_fault("off", bus=0)
    drives.write(cut(10))
    with pytest.raises(LinkLostError, match="stop of 0x80"):
        drives.step()
    wait_for(lambda: all(bus.stops for bus in three.buses[1:]))  # without another step


def test_on_one_bus_a_dead_controller_does_not_keep_the_others_running(rig, running, wait_for):
    drives = rig.drives()
    running(drives)
    del rig.buses[0].controllers[0x80]
    drives.write(cut(10))
    with pytest.raises(DeviceError, match="stop of 0x80, 0x81, 0x82"):
        drives.step()
    wait_for(lambda: {address for address, _ in rig.buses[0].stops} == {0x81, 0x82})


def test_a_cut_that_one_controller_has_not_confirmed_is_not_confirmed(rig, running, until):
    drives = rig.drives()
    running(drives)
    gone = rig.buses[0].controllers.pop(0x81)
    drives.write(cut(10))
    for _ in range(4):
        with suppress(LinkLostError):
            drives.step()
    assert drives.read(0) is None
    rig.buses[0].controllers[0x81] = gone
    assert until(drives, lambda sample: sample.stopped_ns > 0).acknowledged_ns == 10


def test_the_level_is_repeated_so_that_a_cut_keeps_the_timeout_fed(rig, running, until, wait_for):
    drives = rig.drives()
    running(drives)
    drives.write(cut(10))
    until(drives, lambda sample: sample.acknowledged_ns == 10)
    before = len(rig.commands())
    wait_for(lambda: drives.step() or rig.commands()[before:].count(34) >= 3)
    assert 37 not in rig.commands()[before:]


def test_answers_that_get_into_each_others_way_are_found_before_arming(rig):
    answered = rig.recorders[0].receive

    def collide(data, began_ns, ended_ns):
        answer = answered(data, began_ns, ended_ns)
        return b"\x00" if answer == b"\xff\xff\xff" else answer

    rig.recorders[0].receive = collide
    with pytest.raises(DeviceError, match=r"give each controller a separate port \(devices.drives.ports"):
        rig.drives().open()


def test_stop_frames_stop_every_bus_without_their_driver(three, running, wait_for, send_stop):
    drives = three.drives()
    running(drives)
    drives.close()
    for stop in drives.stop_frames():
        send_stop(stop)
    wait_for(lambda: all(bus.stops for bus in three.buses))


def test_stop_frames_get_through_after_half_a_packet(rig, running, wait_for, send_stop):
    drives = rig.drives()
    running(drives)
    drives._links[0].post(protocol.request(0x80, CommandCode.RUN, 9, 9)[:7])  # killed in the middle of it
    drives.close()
    (stop,) = drives.stop_frames()
    send_stop(stop)
    wait_for(lambda: {address for address, _ in rig.buses[0].stops} == {0x80, 0x81, 0x82})


def test_a_cut_followed_at_once_by_a_command_does_not_confirm_that(rig, running):
    drives = rig.drives()
    running(drives)
    drives.write(cut(10))
    drives.write(run(11))
    drives.step()
    assert drives.read(0).acknowledged_ns < 11


def test_a_command_that_one_controller_has_not_confirmed_is_not_confirmed(rig, running, until, step_until_error):
    drives = rig.drives()
    running(drives)
    gone = rig.buses[0].controllers.pop(0x82)
    drives.write(run(20))
    step_until_error(drives)
    assert 37 in rig.commands()[-6:]
    rig.buses[0].controllers[0x82] = gone
    assert until(drives, lambda sample: sample.stopped_ns > 0).acknowledged_ns == 2
