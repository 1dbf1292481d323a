"""Settings that cannot work are refused, and the budget is the line time of the bytes sent."""

import math

import pytest

from drivers.modbus.settings import Regulator
from drivers.modbus.valves import ModbusValves, ModbusValvesSettings, budget

PLAIN = {"port": "/dev/ttyUSB0", "coils": (0, 1, 2, 3)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coils": (0, 1, 1, 3)}, r"coils: \(0, 1, 1, 3\), needed: 4 different"),
        ({"coils": (0, 1, 2, 255)}, "0 to 254"),
        ({"address": 0}, "address: 0, allowed: 1 to 255"),
        ({"baud": 300}, "baud: 300"),
        ({"pressure_registers": (0, 1, 2, 500)}, "within 123 of each other"),
        ({"pressure_registers": (1, 2, 3, 4), "Pa_per_count": math.nan}, "Pa_per_count: nan"),
        ({"regulator": Regulator(5, 4e7)}, r"regulator.pressure_Pa: 40000000.0, allowed: 0 to 3.2767e\+07"),
        ({"rate_hz": 0.0}, "rate_hz: 0.0"),
        ({"answer_timeout_ms": 10.0}, "answer_timeout_ms: 10.0, allowed: above"),
        ({"flash_s": 0.25}, "flash_s: 0.25, allowed: 0.1 to"),
        ({"flash_s": 0.2}, "flash_s: 0.2, needed at 9600 baud"),
        ({"flash_s": math.nan}, "flash_s: nan"),
    ],
)
def test_settings_that_cannot_work_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        ModbusValves(ModbusValvesSettings(**{**PLAIN, **changes}))


def test_the_budget_is_the_line_time_of_all_that_is_sent():
    silence_s = 38.5 / 9600
    coils_s, pressures_s, flash_s = ((count * 10 / 9600 + 2 * silence_s) for count in (8 + 6, 8 + 13, 8 + 8))
    plain = ModbusValvesSettings(**PLAIN, flash_on=False, rate_hz=4.0)
    assert budget(plain) == pytest.approx(4.0 * coils_s, rel=1e-6)
    full = ModbusValvesSettings(**PLAIN, flash_s=1.0, rate_hz=4.0, pressure_registers=(3, 2, 1, 0))
    assert budget(full) == pytest.approx(4.0 * (coils_s + pressures_s) + 4 * flash_s / 0.5, rel=1e-6)
