"""Pressure loops on chambers that fill and vent exponentially."""

from __future__ import annotations

import math

import pytest

from hil.control.pressure import OnOffLoops, PressureSettings, RegulatedLoops, make_loops

SUPPLY_Pa, PERIOD_S = 207e3, 1e-3
SETTINGS = PressureSettings(SUPPLY_Pa, 4e3, 250_000_000, 1.0, PERIOD_S, 0.4, 0.4)


class Chambers:
    """Two chambers of one cylinder: gauge pressures [Pa], filled and vented with time constants [s]."""

    def __init__(self, fill_s: float, vent_s: float, supply_Pa: float = SUPPLY_Pa) -> None:
        self.fill_s, self.vent_s, self.supply_Pa = fill_s, vent_s, supply_Pa
        self.pressure_Pa = [0.0, 0.0]

    def step(self, powered, supply_Pa: float | None = None) -> None:
        target_Pa = self.supply_Pa if supply_Pa is None else supply_Pa
        for chamber, on in enumerate(powered):
            end_Pa, time_s = (target_Pa, self.fill_s) if on else (0.0, self.vent_s)
            decay = math.exp(-PERIOD_S / time_s)
            self.pressure_Pa[chamber] = end_Pa + (self.pressure_Pa[chamber] - end_Pa) * decay


def held(loops, chambers, wanted_Pa, seconds, *, regulated=False, begin_s=0.0):
    """Pressures of the first chamber over time [Pa], and how often its valve was switched on."""
    pressures, switched, last = [], 0, False
    for tick in range(round(seconds / PERIOD_S)):
        t_ns = round((begin_s + tick * PERIOD_S) * 1e9)
        ((extend, retract),), regulators = loops.step(t_ns, (wanted_Pa, 0.0), chambers.pressure_Pa, t_ns)
        chambers.step((extend, retract), regulators[0] if regulated else None)
        switched, last = switched + (extend and not last), extend
        pressures.append(chambers.pressure_Pa[0])
    return pressures, switched


def test_one_moved_regulator_lets_the_valve_of_the_highest_pressure_rest():
    pressures, switched = held(OnOffLoops(SETTINGS, 1, common=True), Chambers(0.05, 0.03), 100e3, 5.0, regulated=True)
    assert switched <= 2
    assert pressures[-1] == pytest.approx(100e3, abs=7e3)


def test_what_a_regulator_droops_is_made_up_for():
    chambers, loops = Chambers(0.05, 0.03), RegulatedLoops(SETTINGS, 1)
    for tick in range(8000):
        valves, (regulator_Pa,) = loops.step(tick * 1_000_000, (100e3, 0.0), chambers.pressure_Pa, tick * 1_000_000)
        chambers.step(valves[0], 0.92 * regulator_Pa)
    assert chambers.pressure_Pa[0] == pytest.approx(100e3, abs=200.0)


@pytest.mark.parametrize("kind", ["none", "each"])
def test_a_pressure_out_of_reach_winds_nothing_up(kind):
    """After 20 s of asking for more than the supply gives, the way down is as after none."""
    ways = []
    for seconds in (0.5, 20.0):
        chambers, loops = Chambers(0.4, 0.4, supply_Pa=120e3), make_loops(SETTINGS, 1, kind)
        regulated = kind == "each"
        if regulated:
            chambers.supply_Pa = SUPPLY_Pa
        wanted_Pa = 1.05 * SUPPLY_Pa if regulated else SUPPLY_Pa
        held(loops, chambers, wanted_Pa, seconds, regulated=regulated)
        chambers.pressure_Pa[0] = 110e3
        pressures, _ = held(loops, chambers, 60e3, 4.0, regulated=regulated, begin_s=seconds)
        ways.append(pressures[3000:])
    means = [sum(way) / len(way) for way in ways]
    assert means[1] == pytest.approx(means[0], abs=5e3)


def test_noise_around_no_pressure_switches_no_valve_of_a_regulated_cylinder():
    loops = RegulatedLoops(SETTINGS, 1)
    for tick in range(200):
        valves, regulators_Pa = loops.step(
            tick * 1_000_000, (1e3 * (tick % 3), 1e3 * (tick % 2)), (0.0, 0.0), tick * 1_000_000
        )
        assert valves == ((False, False),)
        assert regulators_Pa == (0.0,)


def test_a_cylinder_changes_its_way_without_both_chambers_powered():
    loops, seen = RegulatedLoops(SETTINGS, 1), []
    for tick, torque in enumerate((50e3, 20e3, 1e3, -1e3, -20e3, -50e3)):
        valves, _ = loops.step(tick * 1_000_000, (max(torque, 0.0), max(-torque, 0.0)), (0.0, 0.0), 0)
        seen.append(valves[0])
    assert seen == [(True, False), (True, False), (True, False), (False, False), (False, True), (False, True)]
