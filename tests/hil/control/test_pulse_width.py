"""Pulse-width control of chambers that fill and vent exponentially, by a valve and a link that are late."""

from __future__ import annotations

import math
from collections import deque
from itertools import pairwise

import numpy as np
import pytest

from hil.config import load_config
from hil.config.rig import Rig
from hil.control.normal_force import pressure_settings
from hil.control.pressure import EndPressures, PressureSettings, PulseWidth

SUPPLY_Pa, CYCLE_S, PERIOD_S, MS = 207e3, 0.25, 1e-3, 1_000_000
# The quarter-inch line as it is, a throttled one, and one between: time constants of filling and venting [s].
LINES = ((0.05, 0.03), (0.2, 0.2), (0.6, 0.6))
WANTED_kPa = (30.0, 100.0, 170.0)


class PulsedChamber:
    """A chamber over some seconds: pressures [Pa], and the ticks in which its valve was switched on.

    Args:
        line: time constants of filling and venting [s].
        wanted_Pa: its wanted pressure.
        seconds: for so long.
        supply_Pa: of the valve.
        delay_s: from the command to the valve.
        read_every: the pressure is read in every so many ticks.
        ahead_ns: a reading counts as so much newer than its tick.
        least_s: the valve stays on for so long.
        **known: what the controller takes for fill_s, vent_s, delay_s, least_pulse_s.
    """

    def __init__(
        self,
        line,
        wanted_Pa,
        seconds=4.0,
        *,
        supply_Pa=SUPPLY_Pa,
        delay_s=0.0,
        read_every=1,
        ahead_ns=0,
        least_s=0.0,
        **known,
    ) -> None:
        fill_s, vent_s = line
        given = {"fill_s": fill_s, "vent_s": vent_s, "delay_s": delay_s, "least_pulse_s": least_s} | known
        settings = PressureSettings(SUPPLY_Pa, 4e3, round(CYCLE_S * 1e9), 1.0, PERIOD_S, **given)
        loop = PulseWidth(settings, EndPressures(settings))
        filling, venting = math.exp(-PERIOD_S / fill_s), math.exp(-PERIOD_S / vent_s)
        commands = deque([False] * round(delay_s / PERIOD_S))
        pressure_Pa = read_Pa = 0.0
        open_until, read_ns, was_on, powered = -1, 0, False, False
        pressures, self.on_ticks, self.off_ticks = [], [], []
        for tick in range(round(seconds / PERIOD_S)):
            if tick % read_every == 0:
                read_Pa, read_ns = pressure_Pa, tick * MS + ahead_ns
            on = loop.step(tick * MS, wanted_Pa, read_Pa, read_ns, SUPPLY_Pa)
            if on != was_on:
                (self.on_ticks if on else self.off_ticks).append(tick)
            was_on = on
            commands.append(on)
            arrived = commands.popleft()
            if arrived and not powered:
                open_until = tick + round(least_s / PERIOD_S)
            powered = arrived or tick < open_until
            end_Pa, decay = (supply_Pa, filling) if powered else (0.0, venting)
            pressure_Pa = end_Pa + (pressure_Pa - end_Pa) * decay
            pressures.append(pressure_Pa)
        self.pressure_Pa = np.array(pressures)

    def means_Pa(self, from_s: float) -> np.ndarray:
        """Means over 0.5 s, two cycles, that begin from this time on."""
        sums = np.concatenate(([0.0], np.cumsum(self.pressure_Pa[round(from_s / PERIOD_S) :])))
        return (sums[500:] - sums[:-500]) / 500.0


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("delay_s", [0.0, 0.02, 0.05, 0.1])
@pytest.mark.parametrize("wanted_kPa", WANTED_kPa)
def test_the_mean_pressure_is_the_wanted_one_whatever_line_and_delay(line, delay_s, wanted_kPa):
    filled_s = 1.2 if line[0] > 0.5 and wanted_kPa > 150.0 else 0.5  # it takes so long with the valve on throughout
    held = PulsedChamber(line, wanted_kPa * 1e3, delay_s=delay_s)
    assert held.means_Pa(filled_s + delay_s) == pytest.approx(wanted_kPa * 1e3, abs=6e3)
    assert held.pressure_Pa[-2000:].mean() == pytest.approx(wanted_kPa * 1e3, abs=2e3)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("wanted_kPa", [2.0, *WANTED_kPa, 203.0])
def test_a_valve_is_switched_on_once_a_cycle_at_most_whatever_the_line_does(line, wanted_kPa):
    held = PulsedChamber(line, wanted_kPa * 1e3)
    assert held.on_ticks
    assert all(later - earlier >= 250 for earlier, later in pairwise(held.on_ticks))


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("known", [{"fill": 0.6}, {"fill": 1.5}, {"vent": 0.6}, {"vent": 1.5}])
@pytest.mark.parametrize("wanted_kPa", WANTED_kPa)
def test_a_line_other_than_configured_costs_little_of_the_mean(line, known, wanted_kPa):
    taken = {f"{name}_s": factor * line[name == "vent"] for name, factor in known.items()}
    held = PulsedChamber(line, wanted_kPa * 1e3, **taken)
    assert held.pressure_Pa[-2000:].mean() == pytest.approx(wanted_kPa * 1e3, abs=5e3)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("wanted_kPa", [30.0, 100.0, 150.0])
def test_a_lower_supply_than_configured_costs_little_of_the_mean(line, wanted_kPa):
    held = PulsedChamber(line, wanted_kPa * 1e3, supply_Pa=175e3)
    assert held.pressure_Pa[-2000:].mean() == pytest.approx(wanted_kPa * 1e3, abs=5e3)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("wanted_kPa", WANTED_kPa)
def test_pressures_read_eight_times_a_second_are_enough(line, wanted_kPa):
    held = PulsedChamber(line, wanted_kPa * 1e3, delay_s=0.03, read_every=125)
    assert held.pressure_Pa[-2000:].mean() == pytest.approx(wanted_kPa * 1e3, abs=2e3)


@pytest.mark.parametrize("ahead_ns", [1_500_000, -700_000, -800_000_000])
def test_a_reading_newer_than_its_tick_or_very_old_costs_little_of_the_mean(ahead_ns):
    held = PulsedChamber(LINES[2], 100e3, ahead_ns=ahead_ns)
    assert held.pressure_Pa[-2000:].mean() == pytest.approx(100e3, abs=12e3)


def test_a_mean_below_that_of_shortest_pulses_is_held_by_fewer_of_them():
    """50 ms of 207 kPa in every cycle of 0.25 s would be a mean of 41 kPa."""
    held = PulsedChamber(LINES[0], 20e3, 10.0, least_s=0.05)
    assert all(off - on >= 50 for on, off in zip(held.on_ticks, held.off_ticks, strict=False))
    assert len(held.on_ticks) <= 30  # of 40 cycles
    assert held.pressure_Pa[2000:].mean() == pytest.approx(20e3, abs=2e3)


@pytest.mark.parametrize("valve_ms", [20, 100, 150])
def test_a_slow_valve_gets_cycles_that_it_can_follow(valve_ms):
    """A cycle without room for a shortest pulse and a shortest gap would leave the valve on for good."""
    valve = ("cylinders.model=compressible", f"cylinders.valve.on_ms={valve_ms}", f"cylinders.valve.off_ms={valve_ms}")
    found = pressure_settings(Rig(load_config("sim_normal_force", ["cylinders.regulators=none", *valve])))
    assert found.least_pulse_s == pytest.approx(valve_ms * 1e-3, abs=0.01)
    assert found.cycle_ns * 1e-9 >= max(CYCLE_S, 3.0 * valve_ms * 1e-3)
    loop, pressure_Pa, pressures = PulseWidth(found, EndPressures(found)), 0.0, []
    commands = deque([False] * round(found.delay_s / PERIOD_S))
    for tick in range(9000):
        commands.append(loop.step(tick * MS, 100e3, pressure_Pa, tick * MS, SUPPLY_Pa))
        end_Pa, time_s = (SUPPLY_Pa, found.fill_s) if commands.popleft() else (0.0, found.vent_s)
        pressure_Pa = end_Pa + (pressure_Pa - end_Pa) * math.exp(-PERIOD_S / time_s)
        pressures.append(pressure_Pa)
    assert np.mean(pressures[-6000:]) == pytest.approx(100e3, abs=8e3)


def test_a_pressure_of_all_the_supply_keeps_the_valve_on():
    held = PulsedChamber(LINES[0], SUPPLY_Pa)
    assert (held.on_ticks, held.off_ticks) == ([0], [])


@pytest.mark.parametrize("line", LINES)
def test_time_at_a_pressure_out_of_reach_winds_nothing_up(line):
    """For 2 s the supply gives less than wanted; as soon as it gives enough, the mean is right and not above."""
    settings = PressureSettings(SUPPLY_Pa, 4e3, round(CYCLE_S * 1e9), 1.0, PERIOD_S, *line)
    loop, pressure_Pa, pressures = PulseWidth(settings, EndPressures(settings)), 0.0, []
    for tick in range(5000):
        on = loop.step(tick * MS, 120e3, pressure_Pa, tick * MS, SUPPLY_Pa)
        end_Pa, time_s = (80e3 if tick < 2000 else SUPPLY_Pa, line[0]) if on else (0.0, line[1])
        pressure_Pa = end_Pa + (pressure_Pa - end_Pa) * math.exp(-PERIOD_S / time_s)
        pressures.append(pressure_Pa)
    assert np.mean(pressures[2500:3000]) == pytest.approx(120e3, abs=8e3)
    assert np.mean(pressures[3000:]) == pytest.approx(120e3, abs=2e3)


def test_the_end_of_a_cycle_is_that_of_cycles_repeated_until_they_are_alike():
    settings = PressureSettings(SUPPLY_Pa, 4e3, round(CYCLE_S * 1e9), 1.0, PERIOD_S, 0.2, 0.3)
    pressure, pressures = 0.0, []
    for tick in range(250 * 20):
        end, time_s = (1.0, 0.2) if tick % 250 < 100 else (0.0, 0.3)
        pressure = end + (pressure - end) * math.exp(-PERIOD_S / time_s)
        pressures.append(pressure)
    assert EndPressures(settings).after(float(np.mean(pressures[-250:]))) == pytest.approx(pressure, abs=2e-3)
