"""Valves on a relay board: off comes first, they switch off by themselves, and only a command powers them again."""

import math

import numpy as np
import pytest

from drivers.interfaces import DamagedError, DeviceError, LinkLostError
from drivers.messages import ValveCommand
from drivers.modbus import protocol

from .conftest import SUPPLY, chambers

VALVES_OFF = ((False, False), (False, False))

BOTH_OUT = ((True, False), (True, False))
BOTH_IN = ((False, True), (False, True))
ALL_OFF = [False] * 4


def steps(valves, count=12):
    for _ in range(count):
        valves.step()


def test_opening_switches_off_what_a_dead_host_has_left_on(rig):
    rig.board.switch(1, True, 0)
    rig.board.switch(6, True, 0)
    rig.valves().open()
    assert rig.board.on == [False] * 6 + [True, False]  # coil 6 is not ours


@pytest.mark.parametrize("changes", [{"flash_on": True}, {"flash_on": False}])
def test_commands_are_obeyed_and_confirmed_and_pressures_are_read(rig, until, powered, changes):
    valves = rig.valves(**changes)
    powered(valves)
    assert rig.cylinders.powered == [True, False, True, False]
    sample = until(valves, lambda sample: sample.pressure_Pa[0][0] > 0)
    assert sample.pressure_Pa == ((6e5, -1e3), (6e5, -1e3))
    valves.write(ValveCommand(3, BOTH_IN))
    until(valves, lambda sample: sample.acknowledged_ns == 3)
    assert rig.cylinders.powered == [False, True, False, True]
    assert valves.health().open
    assert valves.health().errors == 0


def test_without_pressure_registers_pressures_are_nan_and_samples_come_all_the_same(rig, until, powered):
    valves = rig.valves(pressures=None)
    powered(valves)
    sample = until(valves, lambda sample: True)
    assert all(math.isnan(pressure) for side in sample.pressure_Pa for pressure in side)


FORMS = [
    {},
    {"signed": False, "kPa_per_count": 1e3 / 65535},
    {"registers": "holding", "zero_counts": 4000, "signed": False},
    {"bits": 32, "kPa_per_count": 1e-5},
    {"bits": 32, "kPa_per_count": 1e-5, "word_order": "low_first", "signed": False, "zero_counts": 100_000_000},
    {"read_gaps": False},
    {"bits": 32, "read_gaps": False, "registers": "holding", "word_order": "low_first"},
]


@pytest.mark.parametrize("form", FORMS)
def test_pressures_are_read_in_every_form_that_registers_have(make_rig, form, until, powered):
    pressures = chambers((10, 12, 20, 22), **form)
    rig = make_rig(pressures=pressures)
    valves = rig.valves(pressures=pressures)
    powered(valves)
    lowest = pressures.section.signed or pressures.section.zero_counts  # a register without a sign ends at 0
    at_rest = -1000.0 if lowest else 0.0
    sample = until(valves, lambda sample: sample.pressure_Pa[0][0] > 1e5)
    for extend, retract in sample.pressure_Pa:
        assert extend == pytest.approx(6.0e5, abs=pressures.Pa_per_count)
        assert retract == pytest.approx(at_rest, abs=pressures.Pa_per_count)


def test_a_register_without_a_sign_that_is_read_with_one_is_refused_as_no_pressure_of_a_chamber(make_rig):
    held = chambers(kPa_per_count=1e3 / 65535, signed=False)
    rig = make_rig(pressures=held)
    rig.cylinders.pressure_Pa = lambda valve: 501e3
    read = chambers(kPa_per_count=1e3 / 65535)
    with pytest.raises(DeviceError, match=r"pressure of left_extend -499 kPa, allowed: -101\.5 to .* check signed"):
        rig.valves(pressures=read).open()


def test_a_pressure_beyond_its_range_is_refused_and_one_at_its_end_is_not(make_rig):
    rig = make_rig()
    pressures = chambers(lowest_kPa=-1.0, highest_kPa=600.0)
    valves = rig.valves(pressures=pressures)
    valves.open()
    rig.cylinders.pressure_Pa = lambda valve: 6e5
    valves._read_pressures()
    rig.cylinders.pressure_Pa = lambda valve: 6e5 + 100.0
    with pytest.raises(DeviceError, match=r"pressure of left_extend 600\.1 kPa, allowed: -1 to 600"):
        valves._read_pressures()


def test_off_goes_before_everything_else_and_in_one_frame(rig, powered):
    valves = rig.valves()
    powered(valves)
    rig.recorder.received.clear()
    rig.time.sleep(0.06)  # a reading is due
    valves.write(ValveCommand(3, VALVES_OFF))
    valves.step()
    assert rig.functions() == [15]
    assert rig.cylinders.powered == ALL_OFF


def test_in_a_change_of_direction_off_goes_before_on(rig, until, powered):
    valves = rig.valves()
    powered(valves)
    before = len(rig.board.switched)
    valves.write(ValveCommand(3, BOTH_IN))
    until(valves, lambda sample: sample.acknowledged_ns == 3)
    assert [(coil, on) for _, coil, on in rig.board.switched[before:]] == [
        (0, False),
        (2, False),
        (1, True),
        (3, True),
    ]


def test_between_an_answer_and_the_next_request_the_line_is_silent_for_long_enough(rig, powered):
    valves = rig.valves(rate_hz=100.0)
    powered(valves)
    steps(valves, 30)
    turnaround_ns = silence_ns = protocol.silence_ns(19200)
    received = rig.recorder.received
    assert len(received) > 20
    for (_, ended_ns, _), (began_ns, _, _), count in zip(received, received[1:], rig.recorder.answered, strict=False):
        assert began_ns - (ended_ns + turnaround_ns + count * 10 * 1_000_000_000 // 19200) >= silence_ns


def test_coils_that_are_nobody_s_neighbours_are_never_touched(make_rig, powered, step_until):
    rig = make_rig(coils=(0, 2, 4, 5))
    for coil in (1, 3, 6, 7):
        rig.board.switch(coil, True, 0)
    valves = rig.valves(coils=(0, 2, 4, 5), flash_on=False)
    powered(valves)
    valves.write(ValveCommand(3, VALVES_OFF))
    step_until(valves, lambda: rig.cylinders.powered == ALL_OFF)
    assert [rig.board.on[coil] for coil in (1, 3, 6, 7)] == [True] * 4


def test_a_flashed_coil_is_powered_again_before_its_time_is_over(rig, powered, step_for):
    valves = rig.valves(flash_s=1.0)
    powered(valves)
    step_for(valves, 2.0)
    assert len(rig.board.switched) == 2  # on, and never off


def test_when_its_host_dies_a_flashed_coil_lets_go_and_a_plain_one_does_not(rig, powered):
    powered(rig.valves())
    rig.time.sleep(10.0)
    assert rig.cylinders.powered == ALL_OFF


def test_when_its_host_dies_a_plain_coil_stays_on(rig, powered):
    powered(rig.valves(flash_on=False))
    rig.time.sleep(10.0)
    assert rig.cylinders.powered == [True, False, True, False]


def test_after_a_silence_in_which_the_board_let_go_nothing_is_powered_until_off_was_commanded(rig, powered, step_until):
    valves = rig.valves(flash_s=0.6)
    powered(valves)
    rig.time.sleep(0.7)
    switched = len(rig.board.switched)
    steps(valves)
    valves.write(ValveCommand(4, BOTH_OUT))
    steps(valves)
    assert len(rig.board.switched) == switched
    assert rig.cylinders.powered == ALL_OFF
    valves.write(ValveCommand(5, VALVES_OFF))
    valves.write(ValveCommand(6, BOTH_OUT))
    step_until(valves, lambda: rig.cylinders.powered == [True, False, True, False])


def test_nothing_is_powered_after_opening_until_off_was_commanded(rig):
    valves = rig.valves()
    valves.open()
    valves.write(ValveCommand(1, BOTH_OUT))
    steps(valves)
    assert rig.cylinders.powered == ALL_OFF
    sample = valves.read(0)
    assert sample is None or sample.acknowledged_ns == -1


def test_a_stuck_valve_shows_in_its_pressure(rig, until, powered):
    rig.board.stuck.add(0)
    valves = rig.valves()
    powered(valves)
    sample = until(valves, lambda sample: sample.pressure_Pa[1][0] > 0)
    assert sample.pressure_Pa[0][0] == -1e3


@pytest.mark.parametrize("kind", ["intermittent", "garbage", "slow"])
def test_one_spoiled_answer_is_asked_for_again_and_nothing_else_happens(rig, until, powered, kind):
    valves = rig.valves()
    powered(valves)
    rig.inject_fault(kind, ms=5.0)
    valves.write(ValveCommand(3, BOTH_IN))
    until(valves, lambda sample: sample.acknowledged_ns == 3)
    assert rig.cylinders.powered == [False, True, False, True]
    assert valves.health().retries == (kind != "slow")


def test_a_spoiled_request_is_not_obeyed_and_is_made_again(rig, until, powered):
    valves = rig.valves()
    powered(valves)
    rig.inject_fault("garbage", requests=True)
    valves.write(ValveCommand(3, VALVES_OFF))
    until(valves, lambda sample: sample.acknowledged_ns == 3)
    assert rig.cylinders.powered == ALL_OFF
    assert valves.health().retries == 1


def test_answers_spoiled_twice_are_damage(rig, powered):
    valves = rig.valves()
    powered(valves)
    rig.inject_fault("garbage", count=2)
    with pytest.raises(DamagedError, match="check cable"):
        steps(valves, 100)


def test_a_board_that_dies_is_a_lost_link_and_valves_stay_off_when_it_is_back(rig, powered, step_until):
    valves = rig.valves()
    powered(valves)
    rig.inject_fault("off")
    with pytest.raises(LinkLostError, match=r"no answer.*twice"):
        steps(valves, 100)
    rig.inject_fault("reconnect")
    valves.write(ValveCommand(4, BOTH_OUT))
    step_until(valves, lambda: rig.cylinders.powered == ALL_OFF)


def test_a_port_that_is_gone_is_a_lost_link_and_after_opening_again_nothing_is_powered_by_itself(rig, powered):
    valves = rig.valves(flash_on=False)
    powered(valves)
    rig.inject_fault("disconnect")
    with pytest.raises(LinkLostError, match="is gone"):
        steps(valves, 100)
    with pytest.raises(LinkLostError, match="no such port"):
        valves.open()
    rig.inject_fault("reconnect")
    valves.open()
    valves.write(ValveCommand(4, BOTH_OUT))
    steps(valves)
    assert rig.cylinders.powered == ALL_OFF


def test_a_coil_that_somebody_else_switches_is_an_error_and_is_switched_off(rig, powered, step_until):
    valves = rig.valves()
    powered(valves)
    rig.board.switch(1, True, 0)
    with pytest.raises(DeviceError, match=r"coil 1 \(left_retract\) reads on and was switched off"):
        steps(valves, 200)
    step_until(valves, lambda: rig.cylinders.powered == ALL_OFF)


def test_a_silent_board_is_refused_and_named(rig):
    valves = rig.valves(address=7)
    with pytest.raises(LinkLostError, match=r"Modbus valves on .*valves: no answer.*address"):
        valves.open()
    assert not valves.health().open


@pytest.mark.parametrize(
    ("board", "changes"),
    [
        ({}, {"coils": (5, 6, 7, 8)}),
        ({"pressures": None}, {}),
        ({}, {"regulator": {**SUPPLY, "holding_register": 6}, "supply_kPa": 500.0}),
    ],
)
def test_a_device_without_our_coils_or_registers_is_refused_and_named(make_rig, board, changes):
    with pytest.raises(DeviceError, match=r"address 1: function \d+ refused with exception 2: it has no such coil"):
        make_rig(**board).valves(**changes).open()


def test_a_board_without_flash_says_so_and_nothing_is_powered(make_rig):
    rig = make_rig(flash=False)
    valves = rig.valves()
    valves.open()
    valves.write(ValveCommand(1, VALVES_OFF))
    valves.write(ValveCommand(2, BOTH_OUT))
    with pytest.raises(DeviceError, match="whether the board supports flash-on"):
        steps(valves)
    assert rig.cylinders.powered == ALL_OFF


def test_the_supply_is_set_when_the_link_is_opened(rig):
    rig.valves(regulator=SUPPLY, supply_kPa=550.0).open()
    assert rig.supply.values == {5: 550}


@pytest.mark.parametrize("coils", [(0, 1, 2, 3), (7, 0, 3, 5)])
def test_stop_frames_switch_all_valves_off_and_nothing_else(make_rig, coils, send_stop):
    rig = make_rig(coils=coils)
    for coil in range(8):
        rig.board.switch(coil, True, 0)
    (stop,) = rig.valves(coils=coils).stop_frames()
    send_stop(stop)
    rig.time.sleep(0.05)
    assert rig.board.on == [coil not in coils for coil in range(8)]


def test_alive_is_called_while_waiting(rig):
    calls = []
    valves = rig.valves(alive=lambda: calls.append(rig.time.now_ns))
    rig.inject_fault("off")
    with pytest.raises(LinkLostError):
        valves.open()
    assert len(calls) >= 140  # two times 300 ms, in slices of 4
    assert max(np.diff(calls)) < 5_000_000
