"""Regulators that are moved during a run: what is written and when, who closes them, and what a failure does."""

from __future__ import annotations

from typing import Any

import pytest

from drivers.driver_type import RigSetup
from drivers.interfaces import DamagedError, DeviceError, LinkLostError
from drivers.messages import ValveCommand
from drivers.modbus import protocol
from drivers.modbus.protocol import Function
from drivers.modbus.section import OutputWatchdog
from drivers.modbus.simulated.relay_board import AnalogOutputs, RelayBoard
from drivers.modbus.simulated.rtu import RtuBus
from drivers.modbus.valve_requests import Regulator
from drivers.sim.protocol.line import LineFault
from drivers.valve_layout import ValveLayout

from .conftest import chambers, section_of, valves_of

BAUD = 19200
KPA = 1000.0
LAYOUT = ValveLayout(("left", "right", "rear"), ("extend",), ("left", "right", "rear"))
OFF = ValveCommand(1, LAYOUT.valves_off, (0.0, 0.0, 0.0))
OUT = ((True, False),) * 3
CHAMBERS = chambers((10, 11, 12), LAYOUT.valves, kPa_per_count=0.1)
TIMEOUT = OutputWatchdog(holding_register=40, timeout_ms=400)
# 4 to 20 mA over 0 to 200 kPa: 800 to 4000 counts
NEIGHBOURS = tuple(Regulator(20 + i, 2, 62.5, 800) for i in range(3))
APART = (Regulator(20, 2, 62.5, 800), Regulator(20, 3, 62.5, 800), Regulator(7, 1, 62.5, 800))


class Cylinders:
    """Three valves and regulators."""

    valves = regulators = 3

    def __init__(self) -> None:
        self.powered, self.set_Pa = [False] * 3, [-1.0] * 3

    def power(self, valve: int, on: bool) -> None:
        self.powered[valve] = on

    def pressure_Pa(self, valve: int) -> float:
        return self.set_Pa[valve] if self.powered[valve] else 0.0

    def regulate(self, regulator: int, pressure_Pa: float) -> None:
        self.set_Pa[regulator] = pressure_Pa


class Rig:
    """A board at address 1 and regulators, on one line or on two."""

    def __init__(self, folder, line_time, regulators=NEIGHBOURS, watchdog=None, *, own_line=False):
        self.time, self.cylinders = line_time, Cylinders()
        self.board = RelayBoard(self.cylinders, (0, 1, 2), pressures=CHAMBERS)
        by_address: dict[int, dict[int, Regulator]] = {}
        for which, one in enumerate(regulators):
            by_address.setdefault(one.address, {})[which] = one
        self.outputs = [
            AnalogOutputs(self.cylinders, own, address=address, watchdog=watchdog)
            for address, own in by_address.items()
        ]
        silence_ns, port = protocol.silence_ns(BAUD), None
        slaves = [self.board] if own_line else [self.board, *self.outputs]
        self.line, self.recorder = line_time.connect(folder / "valves", RtuBus(slaves, BAUD), BAUD, silence_ns)
        self.other, self.other_recorder = self.line, self.recorder
        if own_line:
            bus = RtuBus(self.outputs, BAUD)
            self.other, self.other_recorder = line_time.connect(folder / "regulators", bus, BAUD, silence_ns)
            port = str(self.other.path)
        moved = {
            name: {"holding_register": one.register, "address": one.address}
            for name, one in zip(LAYOUT.regulators, regulators, strict=True)
        }
        # the same scale for all
        zero, per_count = regulators[0].zero_counts, regulators[0].Pa_per_count
        full = 0xFFFF if zero == 0 else 4000
        scale = {"full_scale_kPa": per_count * (full - zero) / KPA, "full_scale_counts": full, "zero_counts": zero}
        section = section_of(
            LAYOUT, coils=(0, 1, 2), port=str(self.line.path), baud=BAUD, flash_s=2.0, pressures=CHAMBERS,
            rate_hz=10.0, regulators={**moved, **scale, "port": port, "watchdog": watchdog},
        )  # fmt: skip
        self.valves = valves_of(section, RigSetup(valves=LAYOUT))

    def functions(self):
        return [data[1] for _, _, data in self.recorder.received]


@pytest.fixture
def make_rig(tmp_path, line_time):
    def make(*how: Any, **more: Any) -> Rig:
        return Rig(tmp_path, line_time, *how, **more)

    return make


@pytest.fixture
def moved(until):
    """Opens valves, extends all cylinders and sets the regulators, confirmed, with t_ns 2."""

    def move(rig, pressures_kPa=(50.0, 100.0, 200.0)):
        rig.valves.open()
        rig.valves.write(OFF)
        until(rig.valves, lambda sample: sample.acknowledged_ns == 1)
        rig.valves.write(ValveCommand(2, OUT, tuple(one * KPA for one in pressures_kPa)))
        return until(rig.valves, lambda sample: sample.acknowledged_ns == 2)

    return move


@pytest.mark.parametrize("registers", [(8, 9, 10), (8, 12, 16)], ids=["written at once", "one by one"])
def test_a_register_without_a_sign_takes_the_upper_half_of_its_range(make_rig, moved, registers):
    rig = make_rig(tuple(Regulator(register, 2, 1e6 / 0xFFFF) for register in registers))
    moved(rig, (400.0, 501.0, 1000.0))
    assert rig.cylinders.set_Pa == pytest.approx([400e3, 501e3, 1000e3], abs=8.0)


@pytest.mark.parametrize("own_line", [False, True], ids=["one line", "two lines"])
@pytest.mark.parametrize("regulators", [NEIGHBOURS, APART], ids=["one device", "three devices"])
def test_regulators_follow_their_commands_and_confirm_them(make_rig, moved, until, regulators, own_line):
    if own_line:
        regulators = (*regulators[:2], Regulator(8, 3, 62.5, 800))  # none at the board
    rig = make_rig(regulators, own_line=own_line)
    moved(rig)
    assert rig.cylinders.powered == [True] * 3
    assert rig.cylinders.set_Pa == [50 * KPA, 100 * KPA, 200 * KPA]
    sample = until(rig.valves, lambda sample: sample.pressure_Pa[2][0] > 0.0)
    assert sample.pressure_Pa == ((50 * KPA, 0.0), (100 * KPA, 0.0), (200 * KPA, 0.0))
    rig.valves.write(ValveCommand(3, OUT, (75 * KPA, 0.0, 12.5 * KPA)))
    until(rig.valves, lambda sample: sample.acknowledged_ns == 3)
    assert rig.cylinders.set_Pa == [75 * KPA, 0.0, 12.5 * KPA]
    health = rig.valves.health()
    assert (health.open, health.errors, health.retries) == (True, 0, 0)


def test_neighbours_on_one_device_are_written_in_one_frame_and_others_by_themselves(make_rig, moved):
    neighbours = make_rig()
    moved(neighbours)
    assert Function.WRITE_REGISTERS in neighbours.functions()
    first_of_run = neighbours.functions().index(Function.WRITE_REGISTERS)
    assert Function.WRITE_REGISTER not in neighbours.functions()[first_of_run:]


def test_opening_closes_what_a_dead_host_has_left_open(make_rig):
    rig = make_rig()
    for register in (20, 21, 22):
        rig.outputs[0]._set(register, 3000)
    rig.valves.open()
    assert rig.cylinders.set_Pa == [0.0] * 3
    assert rig.outputs[0].values == dict.fromkeys((20, 21, 22), 800)


def test_the_safe_command_is_sent_before_all_others_valves_first(make_rig, moved):
    rig = make_rig()
    moved(rig)
    rig.recorder.received.clear()
    rig.time.sleep(0.2)  # reading and writing are due
    rig.valves.write(ValveCommand(3, *_values(OFF)))
    rig.valves.step()
    rig.valves.step()
    assert rig.functions() == [Function.WRITE_COILS, Function.WRITE_REGISTERS]
    assert rig.cylinders.powered == [False] * 3
    assert rig.cylinders.set_Pa == [0.0] * 3


def test_set_points_that_change_each_ms_are_written_once_a_period_and_nothing_waits_for_them(make_rig, moved):
    rig = make_rig()
    moved(rig)
    rig.recorder.received.clear()
    began_ns = rig.time.now_ns
    pressures, written = 0, rig.time.now_ns + 2_000_000_000
    while rig.time.now_ns < written:
        t_ns = rig.time.now_ns
        rig.valves.write(ValveCommand(t_ns, OUT, (t_ns % 200_000, 0.0, 0.0)))
        rig.valves.step()
        pressures += rig.valves.read(0) is not None
    periods = (rig.time.now_ns - began_ns) * 10e-9
    for function in (Function.WRITE_REGISTERS, Function.READ_INPUT, Function.READ_COILS):
        assert rig.functions().count(function) == pytest.approx(periods, abs=2.0)
    assert rig.cylinders.powered == [True] * 3
    assert [on for _, _, on in rig.board.switched] == [True] * 3  # each refreshed in time
    assert pressures > 20


def test_nothing_is_opened_until_the_safe_command(make_rig, step_for):
    rig = make_rig()
    rig.valves.open()
    rig.valves.write(ValveCommand(1, LAYOUT.valves_off, (1e5, 0.0, 0.0)))  # valves off, but not safe
    step_for(rig.valves, 0.5)
    rig.valves.write(ValveCommand(2, OUT, (1e5, 0.0, 0.0)))
    step_for(rig.valves, 0.5)
    assert (rig.cylinders.powered, rig.cylinders.set_Pa) == ([False] * 3, [0.0] * 3)


def test_a_command_without_regulators_closes_them(make_rig, moved, until):
    rig = make_rig()
    moved(rig)
    rig.valves.write(ValveCommand(3, OUT))
    until(rig.valves, lambda sample: sample.acknowledged_ns == 3)
    assert rig.cylinders.set_Pa == [0.0] * 3


@pytest.mark.parametrize(("watchdog", "left_Pa"), [(None, 100 * KPA), (TIMEOUT, 0.0)])
def test_when_the_host_dies_only_a_watchdog_closes_regulators(make_rig, moved, watchdog, left_Pa):
    rig = make_rig(NEIGHBOURS, watchdog)
    moved(rig, (100.0,) * 3)
    rig.time.sleep(0.39)
    assert rig.cylinders.set_Pa == [100 * KPA] * 3
    rig.time.sleep(10.0)
    assert rig.cylinders.set_Pa == [left_Pa] * 3
    assert rig.cylinders.powered == [False] * 3  # by flash-on


def test_while_stepped_the_watchdog_never_closes(make_rig, moved, step_for):
    rig = make_rig(NEIGHBOURS, TIMEOUT)
    moved(rig)
    step_for(rig.valves, 3.0)
    assert rig.outputs[0].closed_ns == []


def test_after_a_silence_in_which_the_watchdog_closed_nothing_opens_until_the_safe_command(
    make_rig, moved, step_for, until
):
    rig = make_rig(NEIGHBOURS, TIMEOUT)
    moved(rig)
    rig.time.sleep(0.5)
    step_for(rig.valves, 0.3)
    rig.valves.write(ValveCommand(3, OUT, (1e5,) * 3))
    step_for(rig.valves, 0.3)
    assert (rig.cylinders.powered, rig.cylinders.set_Pa) == ([False] * 3, [0.0] * 3)
    rig.valves.write(ValveCommand(4, *_values(OFF)))
    rig.valves.write(ValveCommand(5, OUT, (1e5,) * 3))
    until(rig.valves, lambda sample: sample.acknowledged_ns == 5)
    assert (rig.cylinders.powered, rig.cylinders.set_Pa) == ([True] * 3, [1e5] * 3)


@pytest.mark.parametrize(("kind", "requests"), [("intermittent", False), ("garbage", False), ("garbage", True)])
def test_one_spoiled_frame_is_sent_again_and_nothing_else_happens(make_rig, moved, until, kind, requests):
    rig = make_rig(own_line=True)
    moved(rig)
    rig.other.inject_fault(LineFault(kind, requests=requests))
    rig.valves.write(ValveCommand(3, OUT, (1e5,) * 3))
    until(rig.valves, lambda sample: sample.acknowledged_ns == 3)
    assert rig.cylinders.set_Pa == [1e5] * 3
    assert rig.valves.health().retries == 1


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        (LineFault("garbage", count=2), DamagedError, "Modbus regulators on .*check cable"),
        (LineFault("off"), LinkLostError, r"Modbus regulators on .*no answer.*twice"),
        (LineFault("disconnect"), LinkLostError, "Modbus regulators: .*is gone"),
    ],
)
def test_a_line_of_the_regulators_that_fails_is_named_and_the_valves_go_off(
    make_rig, moved, step_until, fault, error, message
):
    rig = make_rig(own_line=True)
    moved(rig)
    rig.other.inject_fault(fault)
    with pytest.raises(error, match=message):
        step_until(rig.valves, lambda: False)
    rig.valves.step()
    assert rig.cylinders.powered == [False] * 3


def test_after_damage_the_regulators_are_closed_and_stay_so(make_rig, moved, step_for, step_until):
    rig = make_rig()
    moved(rig)
    rig.line.inject_fault(LineFault("garbage", count=2))
    with pytest.raises(DamagedError):
        step_until(rig.valves, lambda: False)
    rig.valves.write(ValveCommand(3, OUT, (1e5,) * 3))
    step_for(rig.valves, 0.5)
    assert (rig.cylinders.powered, rig.cylinders.set_Pa) == ([False] * 3, [0.0] * 3)


def test_a_register_that_its_device_does_not_have_is_refused_and_named(make_rig):
    rig = make_rig()
    rig.outputs[0].values.pop(21)
    with pytest.raises(DeviceError, match="address 2: function 6 refused with exception 2"):
        rig.valves.open()
    assert not rig.valves.health().open


def test_a_device_that_keeps_another_value_is_refused_and_named(make_rig):
    rig = make_rig()
    rig.outputs[0]._set = lambda register, counts: None
    with pytest.raises(DeviceError, match="holding register 20 reads 0, set: 800"):
        rig.valves.open()


@pytest.mark.parametrize("own_line", [False, True])
def test_stop_frames_switch_off_and_close_everything(make_rig, moved, send_stop, own_line):
    rig = make_rig(own_line=own_line)
    moved(rig)
    stops = rig.valves.stop_frames()
    assert [stop.port for stop in stops] == [str(line.path) for line in dict.fromkeys((rig.line, rig.other))]
    rig.valves.close()
    for stop in stops:
        send_stop(stop)
    assert (rig.cylinders.powered, rig.cylinders.set_Pa) == ([False] * 3, [0.0] * 3)


def _values(command):
    return command.powered, command.regulators_Pa
