"""Load of a line, against frames written out byte by byte and measurements on such lines."""

import struct

import pytest

from drivers.modbus.entry import MODBUS
from drivers.modbus.section import ModbusValvesSection
from drivers.roboclaw.motor_layout import RoboClawWheels
from drivers.roboclaw.section import RoboClawDrivesSection
from drivers.roboteq.section import RoboteqDrivesSection
from hil.config import load_config
from hil.config.rig_setup import rig_setup

CRC = b"cc"
SPEED_READ = bytes([0x80, 18]), struct.pack(">iB", 1, 0) + CRC
STATUS = bytes([0x80, 90]), struct.pack(">I", 0) + CRC
STATUS_HZ = 20  # it contains the emergency stop
ONCE_A_SECOND = [  # battery, currents, temperature
    (bytes([0x80, 24]), struct.pack(">H", 0) + CRC),
    (bytes([0x80, 49]), struct.pack(">hh", 0, 0) + CRC),
    (bytes([0x80, 82]), struct.pack(">H", 0) + CRC),
    (bytes([0x80, 83]), struct.pack(">H", 0) + CRC),
]


def size(*exchanges: tuple[bytes, bytes]) -> int:
    return sum(len(request) + len(answer) for request, answer in exchanges)


def section(**keys: object) -> RoboClawDrivesSection:
    drives = load_config("sim_wire").devices.drives
    assert isinstance(drives, RoboClawDrivesSection)
    return drives.model_copy(update=keys)


def loads(**keys: object) -> list[float]:
    return RoboClawWheels(section(**keys), rig_setup(load_config("sim_wire"))).bus_loads()


@pytest.mark.parametrize(
    ("acceleration", "set_point"),
    [
        (0.0, bytes([0x80, 37]) + struct.pack(">ii", 1, 1) + CRC),
        (5.0, bytes([0x80, 40]) + struct.pack(">Iii", 1, 1, 1) + CRC),
    ],
)
def test_a_roboclaw_bus_carries_set_points_and_speeds_each_period_and_slow_state_each_second(
    acceleration: float, set_point: bytes
) -> None:
    each_period = size((set_point, b"\xff"), SPEED_READ, SPEED_READ)
    bits = 10 * 3 * (50 * each_period + STATUS_HZ * size(STATUS) + size(*ONCE_A_SECOND))
    assert loads(acceleration_radps2=acceleration) == [pytest.approx(bits / 115200)]


def test_a_set_point_takes_the_line_time_that_was_measured() -> None:
    without, one_more = (loads(acceleration_radps2=0.0, rate_hz=rate)[0] for rate in (50.0, 51.0))
    speeds_ms = 1e3 * 3 * 2 * size(SPEED_READ) * 10 / 115200
    assert (one_more - without) * 1e3 - speeds_ms == pytest.approx(3.4, abs=0.05)  # three controllers


def test_each_bus_bears_its_own_controllers_only() -> None:
    one_bus = loads()[0]
    controllers = tuple(item.model_copy(update={"bus": bus}) for bus, item in enumerate(section().controllers))
    three = loads(ports=("", "", ""), controllers=controllers)
    assert three == pytest.approx([one_bus / 3.0] * 3)


def test_a_roboteq_port_carries_the_longest_of_each_line() -> None:
    set_point, speed = (b"!G 1 -1000\r", b"+\r"), (b"?S 1\r", b"S=-32768\r")
    slow = [(b"?A\r", b"A=-1234:-1234\r"), (b"?FF\r", b"FF=255\r"), *[(b"?FM 1\r", b"FM=255\r")] * 2]
    drives = RoboteqDrivesSection.model_validate(
        {
            "driver": "roboteq",
            "max_rpm": 100,
            "gear_ratio": 10,
            "controllers": [{"port": "", "channel_1": "front_left", "channel_2": "front_right"}],
        }
    )
    bits = 10 * (50 * 2 * size(set_point, speed) + size(*slow))
    assert drives.port_load() == pytest.approx(bits / 115200)


def valves_load(**keys: object) -> float:
    section = ModbusValvesSection.model_validate({"driver": "modbus", "rate_hz": 1.0, **keys})
    return MODBUS.line_loads(section, rig_setup(load_config("sim_wire")))[0].share


def test_one_coil_on_a_relay_board_takes_the_line_time_that_was_measured() -> None:
    silences_s = 2 * 3.5 * 11 / 9600
    refreshed = valves_load(flash_on=True, flash_s=2.0) - valves_load()  # four valves once a second
    assert refreshed / 4.0 - silences_s == pytest.approx(0.017, abs=0.0005)


def test_pressures_are_read_in_one_go_from_the_first_to_the_last() -> None:
    def extra(first: int, *others: int) -> float:
        names = ("left_extend", "left_retract", "right_extend", "right_retract")
        registers = dict(zip(names, (first, *others), strict=True)) | {"kPa_per_count": 1.0}
        return (valves_load(pressure_registers=registers) - valves_load()) * 9600 / 10

    assert extra(10, 11, 12, 13) == pytest.approx(8 + 5 + 4 * 2 + 2 * 3.85)
    assert extra(10, 11, 12, 30) == pytest.approx(8 + 5 + 21 * 2 + 2 * 3.85)


def test_twice_the_baud_is_half_the_load() -> None:
    assert valves_load(flash_on=True, baud=19200) == pytest.approx(valves_load(flash_on=True) / 2.0)
    assert loads(baud=230400)[0] == pytest.approx(loads()[0] / 2.0)
