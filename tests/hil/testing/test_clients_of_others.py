"""basicmicro, pymodbus and geocompy, which are not ours, with the plug-in's devices in real time; no time matters."""

import math
import time

import pytest
from basicmicro import Basicmicro
from geocompy.communication import open_serial
from geocompy.geo import GeoCom
from geocompy.geo.gctypes import GeoComCode
from pymodbus.exceptions import ModbusIOException

from hil.testing import encoders, roboclaw

PATIENCE_S = 300.0


def wait_for(condition):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_basicmicro_turns_the_wheels_and_reads_what_a_test_has_set(basicmicro):
    with roboclaw((0x80, 0x81)) as bus:
        client = basicmicro(bus.path)
        bus[0x81].m2.count = 1234
        assert client.ReadEncM2(0x81) == (1, 1234, 0)
        assert client.SpeedM1M2(0x80, 2000, -2000)
        wait_for(lambda: abs(bus[0x80].m1.qpps - 2000) < 0.1)
        assert bus.wheels[1].speed_radps == pytest.approx(-2000 * math.tau / 8192, rel=1e-3)
        assert [wheel.speed_radps for wheel in bus.wheels[2:]] == [0.0, 0.0]
        assert client.ReadSpeedM1(0x80) == (1, 2000, 0)
        assert client.DutyM1M2(0x80, 0, 0)
        wait_for(lambda: bus.wheels[0].speed_radps == 0.0)
        bus.press_e_stop()
        assert client.ReadError(0x80) == (1, Basicmicro.ERROR_ESTOP)
        assert bus[0x81].e_stop


def test_pymodbus_switches_coils_and_reads_the_pressures_of_the_cylinders(simulated_relay_board, modbus):
    board, client = simulated_relay_board, modbus(simulated_relay_board)
    assert not client.write_coil(2, True, device_id=1).isError()
    assert board.coils == [False, False, True, False, False, False, False, False]
    assert client.read_coils(0, count=8, device_id=1).bits == board.coils
    assert board.cylinders.powered == [False, False, True, False]
    board.coils[2] = False
    assert not board.cylinders.powered[2]
    board.cylinders.set_pressure(0, 3.0e5)
    board.cylinders.fill_s = 1e6
    assert client.read_input_registers(10, count=1, device_id=1).registers == [3000]
    assert client.read_holding_registers(0, device_id=1).isError()  # an exception answer, and no silence


def test_pymodbus_sets_regulators_and_reads_amplifier_and_encoders(
    simulated_regulators, simulated_amplifier, simulated_encoders, modbus
):
    regulators = modbus(simulated_regulators)
    assert not regulators.write_registers(0, [250, 100], device_id=1).isError()
    assert simulated_regulators.set_Pa == [250e3, 100e3]
    simulated_amplifier.volts[1] = -0.5
    words = modbus(simulated_amplifier).read_input_registers(2, count=2, device_id=1).registers
    assert ((words[0] << 16 | words[1]) - 2**32) * 1e-6 == pytest.approx(-0.5)
    simulated_encoders.angles[1] = math.pi / 2
    assert modbus(simulated_encoders).read_input_registers(0, count=2, device_id=2).registers == [0, 1024]


def test_a_client_that_checks_its_frames_survives_damage_and_loss(simulated_relay_board, modbus):
    client = modbus(simulated_relay_board, timeout=0.3, retries=100)  # a busy machine may not answer in time at first
    for kind in ("damaged", "silent", "cut_short"):
        simulated_relay_board.inject_fault(kind, answers=1)
        assert client.read_coils(0, count=8, device_id=1).bits == [False] * 8, kind


def test_a_silent_device_obeys_a_deaf_one_does_not(simulated_relay_board, modbus):
    board, client = simulated_relay_board, modbus(simulated_relay_board, timeout=0.1, retries=0)
    board.inject_fault("silent")
    with pytest.raises(ModbusIOException):
        client.write_coil(0, True, device_id=1)
    wait_for(lambda: board.coils[0])
    board.end_faults()
    board.inject_fault("deaf")
    with pytest.raises(ModbusIOException):
        client.write_coil(1, True, device_id=1)
    assert board.coils[:2] == [True, False]


def test_an_unplugged_port_is_gone_and_comes_back_at_the_same_path(modbus):
    from pathlib import Path

    with encoders() as device:
        path = device.path
        device.inject_fault("unplugged")
        assert not Path(path).exists()
        device.end_faults()
        assert device.path == path
        assert modbus(device).read_input_registers(0, count=2, device_id=1).registers == [0, 0]
    assert not Path(path).exists()
    device.close()  # twice is nothing


def test_a_wrong_value_comes_in_a_right_frame_and_only_so_often(basicmicro):
    with roboclaw() as bus:
        client = basicmicro(bus.path)
        bus.inject_fault("wrong_value", by=math.tau, answers=1)
        assert client.ReadEncM1(0x80) == (1, 8192, 0)
        assert client.ReadEncM1(0x80) == (1, 0, 0)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"kind": "tired"}, "allowed: late, damaged"),
        ({"kind": "late", "answers": 1, "seconds": 1.0}, "give one of them"),
        ({"kind": "late", "answers": 0}, "1 and more"),
        ({"kind": "late", "seconds": 0.0}, "more than 0"),
        ({"kind": "unplugged", "answers": 1}, "end_faults"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_with_what_can(simulated_roboclaw, wrong, says):
    with pytest.raises(ValueError, match=says):
        simulated_roboclaw.inject_fault(**wrong)


@pytest.mark.parametrize("addresses", [(), (0x80, 0x80), (0x7F,)])
def test_addresses_that_no_roboclaw_has_are_refused(addresses):
    with pytest.raises(ValueError, match="0x80 to 0x87"):
        roboclaw(addresses)


def test_geocompy_lets_the_total_station_follow_its_prism_and_reads_the_place(simulated_total_station):
    station = simulated_total_station
    with open_serial(station.path, speed=station.baud, timeout=int(PATIENCE_S)) as port:
        client = GeoCom(port)
        assert client.csv.get_serial_number().params == 214587
        assert client.csv.get_instrument_name().params == "TCRP1201"
        assert client.tmc.get_coordinate(wait=0).error == GeoComCode.TMC_ANGLE_OK  # nothing is measured yet
        for done in (
            client.aus.switch_user_atr(True),
            client.aus.switch_user_lock(True),
            client.tmc.set_edm_mode_v2("CONT_DYNAMIC"),
            client.aut.fine_adjust(0.1, 0.1),
            client.aut.lock_in(),
            client.tmc.do_measurement("DISTANCE"),
        ):
            assert done.error == GeoComCode.OK
        assert client.mot.get_lockon_status().params.name == "LOCK"
        station.values[:] = (2.5, -1.25, 0.375)
        wait_for(lambda: (found := client.tmc.get_coordinate(wait=0).params) and float(found[0].x) == 2.5)
        place, measured_ms, _, asked_ms = client.tmc.get_coordinate(wait=0).params
        assert tuple(map(float, place)) == (2.5, -1.25, 0.375)
        assert measured_ms <= asked_ms
