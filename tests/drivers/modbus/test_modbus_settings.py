"""Sections that cannot work are refused, and loads are the line time of the bytes sent."""

from unittest import mock

import pydantic
import pytest

from drivers.driver_type import RigSetup
from drivers.modbus import valve_requests
from drivers.modbus.entry import MODBUS
from drivers.modbus.valve_requests import ValveRequests
from drivers.valve_layout import ValveLayout

from .conftest import LAYOUT, chambers, section_of

MOVING = ValveLayout(regulators=("left", "right"))


def regulators(left=(5, 1), right=(6, 1), **keys):
    """Two of them by register and address, 1 kPa a count."""
    places = {
        name: {"holding_register": register, "address": address}
        for name, (register, address) in (("left", left), ("right", right))
    }
    return {**places, "full_scale_kPa": 1000.0, "full_scale_counts": 1000, "no_dead_man": "accepted", **keys}


def requests(layout=LAYOUT, supply_kPa=600.0, **keys):
    return ValveRequests(section_of(layout, **keys), RigSetup(valves=layout, supply_kPa=supply_kPa))


@pytest.mark.parametrize(
    ("layout", "supply_kPa", "changes", "message"),
    [
        (LAYOUT, 600.0, {"coils": (0, 1, 1, 3)}, "coils: found coil 1 for 2 valves; allowed: a different coil"),
        (LAYOUT, 600.0, {"coils": (0, 1, 2, 255)}, "coils: found 255; allowed: 0 to 254"),
        (
            LAYOUT,
            600.0,
            {"coils": (0, 1, 2, 5000), "flash_on": False},
            "coils: found 0 to 5000; allowed: coils within 1968",
        ),
        (LAYOUT, 600.0, {"pressures": chambers((0, 1, 2, 500))}, "within 123 of each other"),
        (
            LAYOUT,
            40_000.0,
            {"regulator": {"holding_register": 5, "kPa_per_count": 1.0}},
            "a supply of 4e+07 Pa; allowed: 0 to 3.2767e+07",
        ),
        (MOVING, 600.0, {"regulators": regulators(right=(5, 1))}, "register 5 at address 1 for 2 regulators"),
        (
            MOVING,
            600.0,
            {"regulators": regulators(watchdog={"holding_register": 9, "timeout_ms": 50_000})},
            "watchdog.timeout_ms: found 50000 counts",
        ),
        (
            LAYOUT,
            600.0,
            {"flash_s": 0.25},
            "flash_s: found 0.25; allowed: a whole number of tenths of a second, 0.1 to",
        ),
        (LAYOUT, 600.0, {"flash_s": 0.2}, "flash_s: found 0.2; allowed: at least 0.25, to refresh all valves"),
    ],
)
def test_what_cannot_work_is_refused(layout, supply_kPa, changes, message):
    rig = RigSetup(valves=layout, supply_kPa=supply_kPa)
    assert message in "; ".join(map(str, MODBUS.check(section_of(layout, **changes), rig)))


def test_a_line_too_slow_for_an_answer_is_refused():
    with mock.patch.object(valve_requests, "ANSWER_TIMEOUT_S", 0.01):
        (found, *_) = MODBUS.check(section_of(), RigSetup(valves=LAYOUT))
    assert found.key == "devices.valves.baud"
    assert found.allowed.startswith("an exchange of less than 10 ms")


@pytest.mark.parametrize("flash_s", [0.0, float("nan")])
def test_a_time_that_no_board_has_is_refused_by_the_section(flash_s):
    with pytest.raises(pydantic.ValidationError, match="flash_s"):
        section_of(flash_s=flash_s)


def exchange_s(*sizes: int) -> float:
    """Line time of requests and answers of so many bytes together, each with the silence after both."""
    return sum(size * 10 / 9600 + 2 * 38.5 / 9600 for size in sizes)


COILS, PRESSURES, COIL = 8 + 6, 8 + 13, 8 + 8


def test_the_load_is_the_line_time_of_all_that_is_sent():
    plain = requests(flash_on=False, rate_hz=4.0)
    assert plain.line_loads() == (pytest.approx(4.0 * exchange_s(COILS), rel=1e-6), None)
    full = requests(flash_s=1.0, rate_hz=4.0, pressures=chambers((3, 2, 1, 0)))
    flashes_s = 4 * exchange_s(COIL) / 0.5
    assert full.line_loads() == (pytest.approx(4.0 * exchange_s(COILS, PRESSURES) + flashes_s, rel=1e-6), None)


@pytest.mark.parametrize(
    ("left", "right", "sizes"),
    [
        ((5, 1), (6, 1), [9 + 4 + 8]),  # neighbours: one frame of function 16
        ((5, 1), (7, 1), [16, 16]),  # function 06 each
        ((5, 1), (6, 2), [16, 16]),
    ],
)
def test_regulators_are_written_in_each_period_neighbours_in_one_frame(left, right, sizes):
    moved, every_s = {"flash_on": False, "rate_hz": 4.0}, exchange_s(*sizes)
    together = requests(MOVING, regulators=regulators(left, right), **moved)
    assert together.line_loads().valves == pytest.approx(4.0 * (exchange_s(COILS) + every_s), rel=1e-6)
    apart = requests(MOVING, regulators=regulators(left, right, port="/dev/ttyUSB1"), **moved)
    assert apart.line_loads() == pytest.approx((4.0 * exchange_s(COILS), 4.0 * every_s), rel=1e-6)


def test_a_command_takes_a_transaction_in_flight_each_valve_and_the_regulators():
    moved = requests(MOVING, regulators=regulators(), flash_on=False, pressures=chambers((3, 2, 1, 0)))
    one_s, all_s = moved.actuation_s()
    assert one_s == pytest.approx(exchange_s(PRESSURES) + exchange_s(COIL), rel=1e-6)
    assert all_s == pytest.approx(exchange_s(PRESSURES) + 4 * exchange_s(COIL) + exchange_s(9 + 4 + 8), rel=1e-6)
    assert pytest.approx(0.017, abs=5e-4) == (8 + 8) * 10 / 9600  # the bytes of one coil, as measured on such a board


def test_three_cylinders_of_one_way_have_three_coils():
    three = requests(ValveLayout(("left", "right", "rear"), ("extend",)), flash_s=1.0, rate_hz=4.0)
    loads = three.line_loads()
    assert loads.valves == pytest.approx(4.0 * exchange_s(COILS) + 3 * exchange_s(COIL) / 0.5, rel=1e-6)
