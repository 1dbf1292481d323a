"""Regulators on analog outputs through the real nidaqmx package, against the simulated server."""

from __future__ import annotations

import numpy as np
import pytest

from drivers.interfaces import LinkLostError
from drivers.messages import ValveCommand
from drivers.ni.simulated.parts import ServerFault
from drivers.valve_layout import ValveLayout

MS = 1_000_000
KPA = 1000.0
LAYOUT = ValveLayout(("left", "right", "rear"), ("retract",), ("left", "right", "rear"))
OFF = LAYOUT.valves_off
IN = ((False, True),) * 3
OUTPUTS = tuple(f"cDAQ1Mod3/ao{i}" for i in range(3))


@pytest.fixture
def rams(make_rams):
    """Three valves with a regulator each."""
    return make_rams(3, 3)


@pytest.fixture
def make_regulated(make_valves):
    """Three one-way cylinders with a regulator each; the simulated chassis has 100 kPa/V."""

    def make(**changes):
        lines = tuple(f"cDAQ1Mod2/port0/line{i}" for i in range(3))
        pressures = tuple(f"cDAQ1Mod5/ai{i}" for i in range(3))
        plain = {"lines": lines, "layout": LAYOUT, "outputs": OUTPUTS, "pressures": pressures, "supply_kPa": 207.0}
        return make_valves(**{**plain, **changes})

    return make


def command(valves, t_ns, powered=OFF, *pressures_kPa, steps=1):
    valves.write(ValveCommand(t_ns, powered, tuple(one * KPA for one in pressures_kPa)))
    for _ in range(steps):
        valves.step()


def test_valves_of_one_way_and_regulators_follow_and_are_confirmed_together(make_regulated, rams, chassis):
    valves = make_regulated()
    command(valves, 1)
    command(valves, 2, IN, 50.0, 100.0, 200.0)
    assert rams.on == [True] * 3
    assert (sample := valves.read(0)) is None or sample.acknowledged_ns == 1
    valves.step()
    assert rams.set_Pa == pytest.approx([50 * KPA, 100 * KPA, 200 * KPA])
    assert list(chassis.outputs.values()) == pytest.approx([0.5, 1.0, 2.0])
    assert valves.read(0).acknowledged_ns == 2


def test_pressures_are_those_of_the_chambers_with_a_valve_and_the_others_are_vented(make_regulated, clock):
    valves = make_regulated(watchdog_ms=None)
    clock.t_ns += 20 * MS
    valves.step()
    assert np.array(valves.read(0).pressure_Pa) == pytest.approx(np.array([[0, 1e5], [0, 2e5], [0, 3e5]]))


def test_zero_pressure_has_its_own_voltage_and_more_than_the_range_is_the_range(make_regulated, chassis):
    valves = make_regulated(zero_V=1.0)
    assert list(chassis.outputs.values()) == [1.0] * 3
    command(valves, 1)
    command(valves, 2, OFF, 200.0, 0.0, 5000.0)
    assert list(chassis.outputs.values()) == pytest.approx([3.0, 1.0, 10.0])


def test_the_safe_command_is_sent_before_all_others_valves_first(make_regulated, rams, clock):
    valves = make_regulated()
    command(valves, 1)
    command(valves, 2, IN, 50.0, 100.0, 200.0, steps=2)
    clock.t_ns += 60 * MS  # watchdog and sample are due
    command(valves, 3)
    assert (rams.on, rams.set_Pa[0] > 0.0) == ([False] * 3, True)
    valves.step()
    assert rams.set_Pa == [0.0] * 3
    assert valves.read(0).acknowledged_ns == 3


def test_nothing_is_opened_until_the_safe_command(make_regulated, rams):
    valves = make_regulated()
    command(valves, 1, OFF, 50.0, 0.0, 0.0, steps=3)
    command(valves, 2, IN, 50.0, 0.0, 0.0, steps=3)
    assert (rams.on, rams.set_Pa) == ([False] * 3, [0.0] * 3)


def test_set_points_that_always_change_starve_neither_watchdog_nor_pressures(make_regulated, clock, chassis, rams):
    valves = make_regulated()
    command(valves, 1)
    samples = set()
    for k in range(400):
        clock.t_ns += MS
        command(valves, 2 + k, IN, 50.0 + k % 7, 100.0, 200.0)
        chassis.wake(clock.t_ns)
        if (sample := valves.read(0)) is not None:
            samples.add(sample.t_ns)
    assert not chassis.watchdog.expired
    assert len(samples) > 20
    assert rams.set_Pa[0] >= 50 * KPA


def test_closing_closes_the_regulators(make_regulated, rams):
    valves = make_regulated()
    command(valves, 1)
    command(valves, 2, IN, 50.0, 100.0, 200.0, steps=2)
    valves.close()
    assert (rams.on, rams.set_Pa) == ([False] * 3, [0.0] * 3)


def test_the_watchdog_closes_the_regulators_when_nobody_steps(make_regulated, rams, chassis, clock):
    valves = make_regulated()
    command(valves, 1)
    command(valves, 2, IN, 50.0, 100.0, 200.0, steps=2)
    clock.t_ns += 101 * MS
    chassis.wake(clock.t_ns)
    assert (rams.on, rams.set_Pa) == ([False] * 3, [0.0] * 3)
    with pytest.raises(LinkLostError, match="safe states"):
        command(valves, 3, IN, 60.0, 100.0, 200.0, steps=3)
    assert rams.set_Pa == [0.0] * 3


def test_a_dead_server_is_a_lost_link_and_the_watchdog_closes_what_was_open(
    make_regulated, rams, chassis, clock, server
):
    valves = make_regulated()
    command(valves, 1)
    command(valves, 2, IN, 50.0, 100.0, 200.0, steps=2)
    server.inject_fault(ServerFault("off"))
    clock.t_ns += 10 * MS
    with pytest.raises(LinkLostError, match="UNAVAILABLE"):
        command(valves, 3, IN, 60.0, 100.0, 200.0)
    assert rams.set_Pa[0] == 50 * KPA
    clock.t_ns += 101 * MS
    chassis.wake(clock.t_ns)
    assert (rams.on, rams.set_Pa) == ([False] * 3, [0.0] * 3)


def test_an_answer_with_an_error_is_named_and_everything_is_released(make_regulated, rams, clock, server):
    valves = make_regulated(watchdog_ms=None)
    command(valves, 1)
    command(valves, 2, IN, 50.0, 100.0, 200.0, steps=2)
    server.inject_fault(ServerFault("error", code=-201003))
    clock.t_ns += 20 * MS
    with pytest.raises(LinkLostError, match=r"NI -201003.*not reachable"):
        valves.step()
    assert (rams.on, rams.set_Pa) == ([False] * 3, [0.0] * 3)
