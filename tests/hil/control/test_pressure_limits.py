"""The bounds of hil.control.pressure: of a correction, of what is asked for, and of when a chamber's valve opens."""

from __future__ import annotations

import pytest

from hil.control.pressure import Correction, PressureSettings, RegulatedLoops

SUPPLY_PA, BAND_PA, MOST_PA = 200e3, 4e3, 50e3  # the integral may take or add a quarter of the supply
SETTINGS = PressureSettings(SUPPLY_PA, BAND_PA, 250_000_000, 1.0, 1e-3, 0.4, 0.4)


def corrected(correction, wanted_Pa, error_Pa, ticks=1):
    """What is asked for in the last of some ticks with this error."""
    for _ in range(ticks):
        asked_Pa = correction.corrected(0, wanted_Pa, wanted_Pa - error_Pa)
    return asked_Pa


def settled(wanted_Pa=100e3):
    """A correction whose wanted pressure has stood for long, without an error."""
    correction = Correction(SETTINGS, 1)
    assert corrected(correction, wanted_Pa, 0.0, 2000) == wanted_Pa
    return correction


@pytest.mark.parametrize("way", [1.0, -1.0], ids=["up", "down"])
def test_a_correction_goes_as_far_as_a_quarter_of_the_supply_either_way(way):
    correction = settled()
    asked = [corrected(correction, 100e3, way * 1e3) for _ in range(60_000)]
    assert way * (asked[40_000] - 100e3) == pytest.approx(40e3, rel=1e-3)  # 1 kPa of error for 40 s
    assert way * (asked[-1] - 100e3) == pytest.approx(MOST_PA)


def test_what_is_asked_for_is_between_nothing_and_the_supply():
    high, low = settled(180e3), settled(30e3)
    assert corrected(high, 180e3, 1e3, 60_000) == pytest.approx(SUPPLY_PA, abs=1.0)
    assert corrected(high, 1.5 * SUPPLY_PA, 0.0) == SUPPLY_PA
    assert corrected(low, 30e3, -1e3, 60_000) == pytest.approx(0.0, abs=1.0)
    assert corrected(low, 1.0, 0.0) == 0.0


@pytest.mark.parametrize("way", [1.0, -1.0], ids=["at the supply", "at nothing"])
def test_the_integral_stands_still_at_an_end_and_leaves_it_at_once(way):
    wanted_Pa = 180e3 if way > 0.0 else 20e3
    correction = settled(wanted_Pa)
    end_Pa = SUPPLY_PA if way > 0.0 else 0.0
    asked = [corrected(correction, wanted_Pa, way * 1e3) for _ in range(60_000)]
    assert asked[-1] == pytest.approx(end_Pa, abs=1.0)
    assert all(abs(value - end_Pa) > 1.0 for value in asked[:19_000])  # not before it is there: 20 kPa at 1 kPa/s
    back = corrected(correction, wanted_Pa, -way * 1e3, 1000)
    assert back == pytest.approx(end_Pa - way * 1e3, abs=5.0)  # nothing wound up


@pytest.mark.parametrize("way", [1.0, -1.0], ids=["up", "down"])
def test_the_integral_waits_while_the_wanted_pressure_is_over_half_a_dead_band_from_its_own_mean(way):
    for moved_Pa, waits in ((0.99 * 0.5 * BAND_PA / 0.99, False), (1.02 * 0.5 * BAND_PA / 0.99, True)):
        correction = settled()  # in the first tick the mean has come a hundredth of the way
        corrected(correction, 100e3 + way * moved_Pa, 1e3)
        asked_Pa = corrected(correction, 100e3 + way * moved_Pa, 1e3)
        assert (asked_Pa == 100e3 + way * moved_Pa) == waits


def test_a_chamber_that_is_not_wanted_is_asked_for_nothing_and_forgets_its_correction():
    correction = settled()
    assert corrected(correction, 100e3, 1e3, 10_000) > 105e3
    assert corrected(correction, 0.0, -1e3) == 0.0
    assert corrected(correction, 100e3, 0.0) == 100e3
    assert corrected(correction, 0.0, 1e3) == corrected(correction, 0.0, 1e3) == 0.0


def test_a_valve_opens_above_a_dead_band_and_closes_at_nothing():
    loops = RegulatedLoops(SETTINGS, 1)

    def on(wanted_Pa):
        ((extend, _),), _ = loops.step(0, (wanted_Pa, 0.0), (wanted_Pa, 0.0), 0)
        return extend

    assert [on(pressure) for pressure in (0.99 * BAND_PA, BAND_PA, 1.01 * BAND_PA, 1.0, 0.0, 1.0)] == [
        False, False, True, True, False, False,
    ]  # fmt: skip
