"""The valve driver through the real nidaqmx package, against the simulated server: commands, pressures, regulator."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from drivers.messages import ValveCommand

VALVES_OFF = ((False, False), (False, False))

MS = 1_000_000
ALL = list(itertools.product((False, True), repeat=4))


def test_each_valve_hangs_on_its_own_line(make_valves, rams):
    valves = make_valves()
    for powered in ALL:
        valves.obey((1,), (2, *powered))
        assert tuple(rams.on) == powered


def test_a_command_is_acknowledged_when_the_lines_have_it(make_valves):
    valves = make_valves()
    valves.write(ValveCommand(7, VALVES_OFF))
    assert valves.read(0) is None
    valves.step()
    assert valves.read(0).acknowledged_ns == 7
    valves.write(ValveCommand(8, ((True, False), (False, True))))
    assert valves.read(0) is None
    valves.step()
    assert valves.read(0).acknowledged_ns == 8


def test_off_goes_before_feeding_and_measuring(make_valves, rams, clock):
    valves = make_valves()
    valves.obey((1,), (2, True, False, False, False))
    clock.t_ns += 60 * MS  # watchdog and sample are due
    valves.obey((3,))
    assert rams.on == [False] * 4


def test_a_newer_command_takes_the_place_of_one_not_yet_sent(make_valves, rams):
    valves = make_valves()
    valves.obey((1,))
    valves.write(ValveCommand(2, ((True, True), (True, True))))
    valves.obey((3,))
    assert rams.log == []


def test_valves_stay_off_after_opening_until_an_off_has_been_commanded(make_valves, rams):
    valves = make_valves()
    valves.obey((1, True, True, True, True))
    assert rams.log == []
    assert (sample := valves.read(0)) is None or sample.acknowledged_ns == -1
    valves.obey((2,), (3, True, False, False, False))
    valves.open()
    valves.obey((4, True, False, False, False))
    assert rams.log == [(0, True), (0, False)]


def test_a_repeated_command_keeps_neither_watchdog_nor_sensors_waiting(make_valves, clock, chassis):
    valves = make_valves()
    for k in range(200):
        clock.t_ns += 2 * MS
        valves.write(ValveCommand(k, VALVES_OFF))
        valves.step()
        chassis.wake(clock.t_ns)
    assert not chassis.watchdog.expired
    assert valves.read(0).acknowledged_ns == 199


def test_commands_that_always_change_do_not_starve_the_watchdog(make_valves, clock, chassis, rams):
    valves = make_valves()
    valves.obey((0,))
    for k in range(200):
        clock.t_ns += 2 * MS
        valves.obey((k, *((k + i) % 4 != 0 for i in range(4))))
        chassis.wake(clock.t_ns)
    assert not chassis.watchdog.expired
    assert sum(rams.on) == 3


def test_pressures_are_those_of_the_chambers_in_the_order_of_the_lines(make_valves, clock):
    valves = make_valves(pressures=tuple(f"cDAQ1Mod5/ai{i}" for i in range(4)))
    clock.t_ns += 20 * MS
    valves.step()  # the watchdog is due as well, and first
    valves.step()
    sample = valves.read(0)
    assert np.array(sample.pressure_Pa) == pytest.approx(np.array([[1e5, 2e5], [3e5, 4e5]]))
    assert (sample.sequence, sample.t_ns) == (1, clock.t_ns)
    assert valves.read(0) is None


def test_a_chamber_without_a_sensor_has_no_pressure(make_valves):
    valves = make_valves()
    valves.obey((1,))
    assert np.isnan(valves.read(0).pressure_Pa).all()


def test_the_supply_is_set_while_open_and_zero_after(make_valves, chassis):
    valves = make_valves(outputs=("cDAQ1Mod3/ao0",), supply_kPa=450.0, kPa_per_V=1.0 / 0.012)
    assert chassis.outputs["cDAQ1Mod3/ao0"] == pytest.approx(5.4)
    valves.close()
    assert chassis.outputs["cDAQ1Mod3/ao0"] == 0.0


def test_closing_takes_the_valves_off_and_may_be_repeated(make_valves, rams):
    valves = make_valves()
    valves.obey((1,), (2, True, True, True, True))
    valves.close()
    valves.close()
    assert rams.on == [False] * 4
    assert not valves.health().open
