"""Row 17 with regulators that are moved: a chamber has the pressure that its valve and its regulator command."""

from __future__ import annotations

import math

import pytest

from drivers.messages import ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.stages import Samples
from hil.safety.device_monitors import ValveMonitor

MS = 1_000_000
WITHIN_MS = 100
LIMITS = ("devices.valves.moves_within_s=0.1", "devices.valves.follows_within_kPa=15")
OFF = (False, False)


class Chambers:
    """Three cylinders, each with its regulator; only the left one is moved."""

    def __init__(self, *settings) -> None:
        self.monitor = ValveMonitor(Rig(load_config("sim_normal_force_wire", settings or LIMITS)))
        self.t_ms = 0

    def step(self, commanded_kPa: float, found_kPa: float, ticks: int = 1, on: bool = True):
        """What is found in the last of these ticks, and in how many something is."""
        found, reported = None, 0
        for _ in range(ticks):
            self.t_ms += 1
            valves = ((on, False), OFF, OFF)
            self.monitor.record_command(self.t_ms * MS, valves, (commanded_kPa * 1e3, 0.0, 0.0))
            pressures = ((found_kPa * 1e3, 0.0), (0.0, 0.0), (0.0, 0.0))
            sample = ValveSample(0, self.t_ms * MS, pressures, -1)
            found = self.monitor.stuck(Samples(self.t_ms * MS, (), 0, 0, None, sample))
            reported += found is not None
        return found, reported


def test_a_chamber_that_stays_empty_under_a_low_commanded_pressure_is_stuck_after_twice_its_time():
    rig = Chambers()
    assert rig.step(40.0, 0.0, 2 * WITHIN_MS + 1)[1] == 0
    _, pressure_Pa, limit_Pa, words, *_ = rig.step(40.0, 0.0)[0]
    assert (pressure_Pa, limit_Pa) == (0.0, 25e3)
    assert words == "valve left_extend is on with its regulator at 40 kPa for 0.2 s and has 0 kPa, allowed: above 25"


def test_a_chamber_that_keeps_its_pressure_with_its_valve_off_is_stuck():
    rig = Chambers()
    assert rig.step(40.0, 40.0, 500)[1] == 0
    assert rig.step(40.0, 40.0, 2 * WITHIN_MS + 1, on=False)[1] == 0
    (_, pressure_Pa, limit_Pa, words, *_), _ = rig.step(0.0, 40.0, on=False)
    assert (pressure_Pa, limit_Pa) == (40e3, 15e3)
    assert words == "valve left_extend is off for 0.2 s and has 40 kPa, allowed: below 15"


def test_a_valve_that_sticks_open_is_found_in_the_reading_in_which_its_regulator_has_filled_both_chambers():
    """Under its closed regulator it is empty like a chamber that vents, and pushes nothing: nothing can be found."""
    rig = Chambers()
    assert rig.step(40.0, 40.0, 500)[1] == 0
    assert rig.step(0.0, 0.0, 500, on=False)[1] == 0
    found = []
    for tick in range(1, 101):
        t_ns, both_Pa = (rig.t_ms + tick) * MS, 1e3 * tick
        rig.monitor.record_command(t_ns, ((False, True), OFF, OFF), (both_Pa, 0.0, 0.0))
        sample = ValveSample(0, t_ns, ((both_Pa, both_Pa), (0.0, 0.0), (0.0, 0.0)), -1)
        found.append(rig.monitor.stuck(Samples(t_ns, (), 0, 0, None, sample)))
    first = next(number for number, one in enumerate(found) if one is not None)
    assert found[first][1:4] == (15e3, 15e3, "valve left_extend is off for 0.2 s and has 15 kPa, allowed: below 15")


def test_a_chamber_above_its_regulator_is_stuck_too():
    assert Chambers().step(40.0, 60.0, 300)[0].limit == 55e3


def test_a_valve_that_sticks_while_its_regulator_moves_is_found_once_the_command_stands():
    rig = Chambers()
    assert rig.step(60.0, 60.0, 300)[1] == 0
    for tick in range(500):  # 0.2 kPa in each: the chamber is behind, and then does not move at all
        assert rig.step(60.0 + 0.2 * tick, 60.0) == (None, 0)
    assert rig.step(160.0, 60.0, 3 * WITHIN_MS)[0] is not None


@pytest.mark.parametrize("behind_ms", [0, 50, 150])
def test_a_regulator_that_follows_a_moving_command_late_trips_nothing(behind_ms):
    rig = Chambers()

    def commanded_kPa(t_ms):
        return 80.0 + 60.0 * math.sin(2e-3 * math.pi * 0.5 * max(t_ms, 0))

    for t_ms in range(3000):
        assert rig.step(commanded_kPa(t_ms), commanded_kPa(t_ms - behind_ms)) == (None, 0)


def test_a_command_that_only_trembles_is_still_compared():
    rig = Chambers()
    reported = [rig.step(40.0 + 3.0 * (tick % 2), 0.0)[1] for tick in range(300)]
    assert sum(reported) > 0


@pytest.mark.parametrize("way", [1.0, -1.0], ids=["above", "below"])
def test_a_chamber_may_be_off_by_less_than_its_error_until_twice_its_time_is_over(way):
    """From the first reading after that time on, and at just that error."""
    for off_kPa, found in ((14.999, False), (15.0, True)):
        rig = Chambers()
        assert rig.step(40.0, 40.0 + way * off_kPa, 2 * WITHIN_MS + 1)[1] == 0
        assert bool(rig.step(40.0, 40.0 + way * off_kPa)[1]) == found


@pytest.mark.parametrize("way", [1.0, -1.0], ids=["up", "down"])
def test_a_command_is_new_once_it_has_moved_by_more_than_half_of_the_error(way):
    for moved_kPa, new in ((7.5, False), (7.501, True)):
        rig = Chambers()
        rig.step(40.0, 40.0, 300)
        assert bool(rig.step(40.0 + way * moved_kPa, 20.0)[1]) != new  # a new one has time


def test_a_command_from_nothing_and_to_nothing_is_new_however_small():
    rig = Chambers()
    rig.step(0.0, 0.0, 300, on=False)
    assert rig.step(5.0, 20.5) == (None, 0)
    rig = Chambers()
    rig.step(5.0, 5.0, 300)
    assert rig.step(0.0, 20.5, on=False) == (None, 0)


def test_the_smaller_of_the_two_errors_counts():
    wide = Chambers("devices.valves.moves_within_s=0.1", "devices.valves.follows_within_kPa=200")
    half_kPa = 0.5 * load_config("sim_normal_force_wire").cylinders.supply_kPa
    assert wide.step(150.0, 150.0 - 0.99 * half_kPa, 300)[1] == 0
    assert wide.step(150.0, 150.0 - half_kPa)[1] == 1


def test_without_a_time_nothing_is_watched():
    assert not Chambers("devices.valves.follows_within_kPa=15").monitor.watched
