"""Settings that cannot work are refused, and loads are the line time of the bytes sent."""

import math

import pytest

from drivers.modbus.settings import ModbusValvesSettings, OutputWatchdog, Pressures, Regulator, actuation_s, load
from drivers.modbus.valves import ModbusValves
from drivers.valve_layout import ValveLayout

MOVED = {
    "valves": ValveLayout(regulators=("left", "right")),
    "regulators": (Regulator(5), Regulator(6)),
}
PLAIN = {"port": "/dev/ttyUSB0", "coils": (0, 1, 2, 3)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coils": (0, 1, 1, 3)}, "coils: found coil 1 for 2 valves; allowed: a different coil"),
        ({"coils": (0, 1, 2)}, "coils: found 3 coils; allowed: 4, one for each valve"),
        ({"coils": (0, 1, 2, 255)}, "coils: found 255; allowed: 0 to 254"),
        ({"coils": (0, 1, 2, 5000), "flash_on": False}, "coils: found 0 to 5000; allowed: coils within 1968"),
        ({"pressures": Pressures((0, 1, 2, 500))}, "within 123 of each other"),
        (
            {"supply": Regulator(5), "supply_Pa": 4e7},
            r"a supply of 4e\+07 Pa; allowed: 0 to 3.2767e\+07",
        ),
        ({**MOVED, "regulators": (Regulator(5),)}, "regulators: found 1; allowed: 2, one for each"),
        ({**MOVED, "regulators": (Regulator(5),) * 2}, "register 5 at address 1 for 2 regulators"),
        ({**MOVED, "watchdog": OutputWatchdog(9, 100.0)}, "watchdog.timeout_ms: found 100000 counts"),
        (
            {"answer_timeout_ms": 10.0},
            "baud: found 9600, with a longest exchange of .* ms; .* less than 10 ms",
        ),
        ({"flash_s": 0.25}, "flash_s: found 0.25; allowed: a whole number of tenths of a second, 0.1 to"),
        ({"flash_s": 0.2}, "flash_s: found 0.2; allowed: at least .* at 9600 baud"),
        ({"flash_s": math.nan}, "flash_s: found nan"),
    ],
)
def test_settings_that_cannot_work_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        ModbusValves(ModbusValvesSettings(**{**PLAIN, **changes}))


def exchange_s(*sizes: int) -> float:
    """Line time of requests and answers of so many bytes together, each with the silence after both."""
    return sum(size * 10 / 9600 + 2 * 38.5 / 9600 for size in sizes)


COILS, PRESSURES, COIL = 8 + 6, 8 + 13, 8 + 8


def test_the_load_is_the_line_time_of_all_that_is_sent():
    plain = ModbusValvesSettings(**PLAIN, flash_on=False, rate_hz=4.0)
    assert load(plain) == (pytest.approx(4.0 * exchange_s(COILS), rel=1e-6), None)
    full = ModbusValvesSettings(**PLAIN, flash_s=1.0, rate_hz=4.0, pressures=Pressures((3, 2, 1, 0)))
    flashes_s = 4 * exchange_s(COIL) / 0.5
    assert load(full) == (pytest.approx(4.0 * exchange_s(COILS, PRESSURES) + flashes_s, rel=1e-6), None)


@pytest.mark.parametrize(
    ("regulators", "sizes"),
    [
        ((Regulator(5), Regulator(6)), [9 + 4 + 8]),  # neighbours: one frame of function 16
        ((Regulator(5), Regulator(7)), [16, 16]),  # function 06 each
        ((Regulator(5), Regulator(6, address=2)), [16, 16]),
    ],
)
def test_regulators_are_written_in_each_period_neighbours_in_one_frame(regulators, sizes):
    moved = PLAIN | MOVED | {"regulators": regulators, "flash_on": False, "rate_hz": 4.0}
    every_s = exchange_s(*sizes)
    assert load(ModbusValvesSettings(**moved)).valves == pytest.approx(4.0 * (exchange_s(COILS) + every_s), rel=1e-6)
    apart = ModbusValvesSettings(**moved, regulators_port="/dev/ttyUSB1")
    assert load(apart) == pytest.approx((4.0 * exchange_s(COILS), 4.0 * every_s), rel=1e-6)


def test_a_command_takes_a_transaction_in_flight_each_valve_and_the_regulators():
    settings = ModbusValvesSettings(**PLAIN, **MOVED, flash_on=False, pressures=Pressures((3, 2, 1, 0)))
    one_s, all_s = actuation_s(settings)
    assert one_s == pytest.approx(exchange_s(PRESSURES) + exchange_s(COIL), rel=1e-6)
    assert all_s == pytest.approx(exchange_s(PRESSURES) + 4 * exchange_s(COIL) + exchange_s(9 + 4 + 8), rel=1e-6)
    assert pytest.approx(0.017, abs=5e-4) == (8 + 8) * 10 / 9600  # the bytes of one coil, as measured on such a board


def test_three_cylinders_of_one_way_have_three_coils():
    valves = ValveLayout(("left", "right", "rear"), ("extend",))
    settings = ModbusValvesSettings("/dev/ttyUSB0", (0, 1, 2), valves, flash_s=1.0, rate_hz=4.0)
    ModbusValves(settings)
    assert load(settings).valves == pytest.approx(4.0 * exchange_s(COILS) + 3 * exchange_s(COIL) / 0.5, rel=1e-6)
