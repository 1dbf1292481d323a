"""Six CiA 402 drives on a bus: stopped at opening, cut by one frame, never resumed."""

import math

import pydantic
import pytest

from drivers.cia402.entry import CIA402
from drivers.cia402.motor_layout import Cia402Wheels
from drivers.cia402.state_machine import Cia402State
from drivers.interfaces import DeviceError
from drivers.messages import DriveCommand

from .conftest import NODES, RIG, UNITS, cut, section_of

SLOWLY = (0.1, 0.2, 0.3, -0.4, 0.5, -0.6)
STOP_ALL = b"t20020000\r"


def all_cut(rig):
    return all(commanded and commanded[-1] is None for commanded in rig.wheels.commanded)


@pytest.fixture
def settled(rig, until, running, step_for):
    """Drives that hold the speeds `SLOWLY`, at the end of their ramps."""
    drives = rig.drives()
    running(drives, 0.0)
    drives.write(DriveCommand(3, False, SLOWLY))
    until(drives, lambda sample: sample.acknowledged_ns == 3)
    step_for(drives, 0.2)
    return drives


@pytest.mark.slow
def test_speeds_are_those_commanded_wheel_by_wheel_with_their_signs(rig, until, settled):
    sample = until(settled, lambda sample: True)
    assert rig.wheels.speed == pytest.approx(SLOWLY, abs=1.0 / UNITS)
    assert sample.speed_radps == pytest.approx(SLOWLY, abs=1.0 / UNITS)
    assert sample.stopped_ns == -1
    assert rig.node(1).objects[0x60FF, 0] == -round(0.2 * UNITS)  # it is mounted the other way round


@pytest.mark.slow
def test_one_frame_of_ten_bytes_cuts_all_drives_and_is_the_next_thing_on_the_line(rig, settled):
    rig.recorder.received.clear()
    settled.write(cut(4))
    settled.step()
    rig.time.sleep(0.0002)
    assert rig.received() == STOP_ALL
    assert all_cut(rig)
    assert {drive.state for drive in rig.bus.drives.values()} == {Cia402State.SWITCH_ON_DISABLED}


@pytest.mark.slow
def test_a_cut_is_power_off_and_never_a_speed_that_is_held(rig, until, settled):
    rig.wheels.forget()
    settled.write(cut(4))
    sample = until(settled, lambda sample: sample.acknowledged_ns == 4)
    assert rig.wheels.commanded == [[None]] * 6
    stops_ns = [t_ns for _, t_ns in rig.bus.stops]
    assert len(stops_ns) == 6
    assert sample.stopped_ns == pytest.approx(max(stops_ns), abs=200_000)


def test_nothing_runs_after_opening_until_a_cut_was_commanded(rig, step_for):
    drives = rig.drives()
    drives.open()
    drives.write(DriveCommand(1, False, SLOWLY))
    step_for(drives, 0.2)
    assert not rig.wheels.ever_ran()


def test_at_opening_the_stop_of_all_goes_out_before_anything_is_asked(rig):
    rig.drives().open()
    assert rig.received().split(b"O\rF\r")[1].startswith(STOP_ALL)


def test_opening_stops_drives_that_a_dead_host_has_left_running(rig, running):
    running(rig.drives())
    drives = rig.drives()
    rig.inject_fault("disconnect")  # and its port is free again
    rig.inject_fault("reconnect")
    drives.open()
    assert all_cut(rig)


def test_drives_switch_off_by_themselves_when_their_host_is_gone_and_stay_off(rig, running):
    drives = rig.drives()
    running(drives)
    assert all(rig.wheels.commanded)
    rig.time.sleep(0.11)
    assert all_cut(rig)
    assert {node for node, _ in rig.bus.timeouts} == set(NODES)
    rig.wheels.forget()
    for t_ns in range(3, 60):
        drives.write(DriveCommand(t_ns, False, SLOWLY))
        drives.step()
    assert not rig.wheels.ever_ran()


@pytest.mark.slow
@pytest.mark.parametrize("state", [Cia402State.SWITCH_ON_DISABLED, Cia402State.FAULT, Cia402State.QUICK_STOP])
def test_a_drive_that_leaves_its_operation_by_itself_cuts_all_others_at_once_and_says_so(rig, settled, step_for, state):
    rig.bus.inject_fault("status", {"status": "state", "value": state, "node": NODES[2]})
    step_for(settled, 0.03)
    assert all_cut(rig)
    (report,) = [one for one in settled.health().reports if "state" in one.words]
    assert report.safe
    assert f"node {NODES[2]} (wheel_2)" in report.words
    rig.wheels.forget()
    settled.write(DriveCommand(5, False, SLOWLY))
    step_for(settled, 0.1)
    assert not rig.wheels.ever_ran()


@pytest.mark.slow
def test_a_fault_is_reset_by_the_first_opening_of_a_driver_only(rig, settled, step_for):
    rig.bus.inject_fault("status", {"status": "state", "value": Cia402State.FAULT, "node": NODES[0]})
    step_for(settled, 0.03)
    settled.open()  # as its worker does after a failure
    assert rig.node(0).state is Cia402State.FAULT
    assert any(report.safe for report in settled.health().reports)
    settled.close()
    drives = rig.drives()  # as for an operator who has cleared the fault
    drives.open()
    assert rig.node(0).state is Cia402State.SWITCH_ON_DISABLED
    assert drives.health().reports == ()


def test_a_fault_whose_cause_lasts_is_refused_in_words(rig):
    drive = rig.node(0)
    drive.fault_lasts = True
    drive.objects[0x603F, 0] = 0x4210
    drive.go(Cia402State.FAULT)
    with pytest.raises(DeviceError, match=r"a reset does not end: device temperature \(0x4210\)"):
        rig.drives().open()


@pytest.mark.slow
def test_a_drive_that_does_not_come_into_operation_is_an_error_that_names_it(rig, step_until_error):
    drives = rig.drives()
    drives.open()
    drives.write(cut(1))
    rig.node(4).go(Cia402State.SWITCHED_ON)
    rig.node(4)._control = lambda *_: None
    drives._power = type(drives._power).OFF
    drives.write(DriveCommand(2, False, SLOWLY))
    error = step_until_error(drives)
    assert "node 5 (wheel_4)" in str(error)
    assert "switched on: needed: operation enabled within 1 s" in str(error)


def test_stop_frames_stop_running_wheels_without_the_drives_process_data(rig, running, send_stop):
    """Of a drive whose stop of all has gone astray: its own set-point, and the end of its operation."""
    drives = rig.drives()
    running(drives)
    rig.node(0).objects[0x1403, 1] |= 1 << 31
    rig.node(1).objects[0x1403, 1] |= 1 << 31
    rig.node(1).objects[0x1400, 1] |= 1 << 31
    drives.close()
    (stop,) = drives.stop_frames()
    assert stop.frames[0].startswith(b"\r" + STOP_ALL)
    send_stop(stop)
    rig.time.sleep(0.01)
    assert all_cut(rig)
    assert {node for node, _ in rig.bus.timeouts} == {NODES[1]}
    assert {node for node, _ in rig.bus.stops} == set(NODES) - {NODES[1]}


@pytest.mark.slow
def test_a_drive_that_the_stop_of_all_has_not_reached_gets_its_own(rig, until, settled):
    rig.node(3).objects[0x1403, 1] |= 1 << 31
    settled.write(cut(4))
    until(settled, lambda sample: sample.acknowledged_ns == 4)
    assert all_cut(rig)


@pytest.mark.slow
def test_currents_have_the_sign_of_the_wheel_and_the_supply_is_that_of_each_drive(rig, settled, step_for, until):
    rig.wheels.current, rig.wheels.supply = [0.5, -1.0, 1.5, 2.0, -2.5, 3.0], 23.9
    step_for(settled, 0.2)
    power = until(settled, lambda sample: True).power
    assert power.current_A == pytest.approx(rig.wheels.current, abs=0.01)
    assert power.supply_V == pytest.approx([23.9] * 6)
    assert [state.known for state in settled.states()] == [True] * 6


def test_drives_that_measure_no_power_are_not_asked_for_it(rig, running, step_for):
    for index in (0x6075, 0x6079):
        rig.bus.inject_fault("object", {"index": index})
    drives = rig.drives(measures_power=False)
    running(drives)
    step_for(drives, 0.1)
    assert CIA402.supplies(section_of(measures_power=False)) == ()
    assert drives.read(0).power is None
    assert all(math.isnan(state.supply_V) for state in drives.states())


@pytest.mark.parametrize("speed", [math.nan, math.inf, 2.0**31 / UNITS])
def test_a_speed_that_cannot_be_commanded_is_refused(rig, speed):
    drives = rig.drives()
    drives.write(cut(1))
    with pytest.raises(DeviceError, match="speed of wheel 3"):
        drives.write(DriveCommand(2, False, (0.0, 0.0, 0.0, speed, 0.0, 0.0)))


def test_a_duty_is_refused():
    problems = [str(one) for one in CIA402.check(section_of(), RIG._replace(open_loop=True))]
    assert any("devices.drives.driver" in one for one in problems)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"rate_hz": 15.0}, "at least 20: two set-points within heartbeat_ms, 100 ms"),
        ({"own_node": 3}, "node 3 2 times; allowed: each node once"),
        ({"counts_per_turn": None}, "counts_per_turn: found null; allowed: a number with velocity_unit: counts_per_s"),
        ({"velocity_unit": "rpm"}, "counts_per_turn: found 4096"),
        ({"bit_rate": 125_000}, "devices.drives.bit_rate: found 125000, busy for"),
        ({"baud": 115_200}, "devices.drives.baud: found 115200, busy for"),
        ({"controllers": section_of().controllers[1:]}, "wheel_0 on no channel"),
    ],
)
def test_what_cannot_work_is_refused(keys, message):
    section = section_of().model_copy(update=keys)
    assert any(message in str(problem) for problem in CIA402.check(section, RIG))


@pytest.mark.parametrize("heartbeat_ms", [0, 19, 1001])
def test_a_dead_man_of_no_use_is_refused_by_the_section(heartbeat_ms):
    with pytest.raises(pydantic.ValidationError, match="heartbeat_ms"):
        section_of(heartbeat_ms=heartbeat_ms)


def test_a_cut_takes_its_line_time_and_the_longest_wait_for_the_bus():
    """Seven frames of eight bytes may go before it: that on the bus, and the six drives' answers."""
    layout = Cia402Wheels(section_of(baud=115_200, bit_rate=500_000), RIG)
    line_s = len(STOP_ALL) * 10 / 115_200
    eight, two = 47 + 64 + 24, 47 + 16 + 12  # stuffing: a bit for each four behind the first, CiA 301 needs 11-bit ids
    assert layout.cut_s == pytest.approx(line_s + (7 * eight + two) / 500_000)
